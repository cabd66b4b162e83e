"""A broker: everything it is made of, put together, started in order and stopped in the opposite one.

    directories are taken ─► coordination store ─► who am I ─► configuration ─► logs are loaded (and recovered)
    ─► sockets are bound ─► registered in the store ─► controller ─► serving

The handlers find what they need as attributes of this object. Nothing here does any work of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

from moldau.base.clock import Clock, SystemClock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.listeners import inter_broker_listener
from moldau.base.config.topic_config import TopicConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.base.timers import LoopTimers
from moldau.broker.auto_topics import AutoTopics
from moldau.broker.controller_link import ControllerLink
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.dynamic_configs import DynamicConfigs
from moldau.broker.handlers import all_registrations
from moldau.broker.identity import find_identity, registration_of
from moldau.broker.log_storage import LogStorage
from moldau.broker.marker_writing import write_markers
from moldau.broker.network import limits_of, net_listeners
from moldau.broker.producer_ids import Block, ProducerIds
from moldau.broker.registration import register
from moldau.cluster.errors import ConnectionLoss, SessionExpired
from moldau.cluster.internal_topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE
from moldau.cluster.metadata_cache import MetadataCache
from moldau.cluster.renewal import RenewedSession
from moldau.cluster.store import CoordinationSession, CoordinationStore, CreateMode
from moldau.cluster.znodes.brokers import BrokerRegistration
from moldau.cluster.znodes.layout import DELETE_TOPICS, LOG_DIR_EVENT_PREFIX, TOPICS, broker_path
from moldau.cluster.znodes.log_dir_events import encode_log_dir_event
from moldau.controller.broker_channels import NetworkBrokerChannels
from moldau.controller.controller import Controller
from moldau.controller.topic_admin import TopicAdmin
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.transaction.broker_links import BrokerLinks
from moldau.coordinator.transaction.coordinator import TransactionCoordinator
from moldau.coordinator.transaction.verification import TransactionVerifier
from moldau.net.client_options import ClientOptions
from moldau.net.server import Server
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from moldau.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from moldau.replication.fetch_session_cache import FetchSessionCache, FetchSessions
from moldau.replication.followers.fetcher import FollowerSurroundings
from moldau.replication.followers.replica_fetchers import ReplicaFetchers
from moldau.replication.followers.settings import FollowerSettings
from moldau.replication.isr_updates import IsrUpdates
from moldau.replication.replica_moves import ReplicaMoves
from moldau.replication.replica_selectors import selector_of
from moldau.replication.replicas import Replicas, Surroundings
from moldau.replication.replication_throttle import ReplicationThrottles
from moldau.replication.state_changes import PartitionSettings, StateChanges
from moldau.storage.cleaner.settings import CleanerSettings
from moldau.storage.files import Files
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_settings import LogSettings

logger = logging.getLogger(__name__)

OpenStore = Callable[[], Awaitable[CoordinationStore]]

READERS = 4  # threads for reads that wait for a disk
STOP_MS_MAX = 10_000
STORE_RETRY_MS = 1_000
NO_EPOCH = -1


class Node:
    """One broker of a cluster; `on_fatal` is called when it cannot go on."""

    session: RenewedSession
    broker_id: int
    cluster_id: str
    broker_epoch: int = NO_EPOCH
    configs: DynamicConfigs
    topics: TopicAdmin
    auto_topics: AutoTopics
    controller: Controller
    replicas: Replicas
    throttles: ReplicationThrottles
    fetchers: ReplicaFetchers
    state_changes: StateChanges
    replica_moves: ReplicaMoves
    producer_ids: ProducerIds
    groups: GroupCoordinator
    controller_link: ControllerLink
    broker_links: BrokerLinks
    transactions: TransactionCoordinator
    verifier: TransactionVerifier
    server: Server
    _registered: BrokerRegistration

    def __init__(
        self,
        config: BrokerConfig,
        open_store: OpenStore,
        *,
        on_fatal: Callable[[str, BaseException], None],
        clock: Clock | None = None,
        random: Random | None = None,
        files: Files | None = None,
    ) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.random = random or Random()
        self.registrations = all_registrations()
        self.internal_topics = INTERNAL_TOPICS
        self.metadata = MetadataCache()
        self.timers = LoopTimers(asyncio.get_running_loop(), self.clock)
        self.supervisor = Supervisor(on_fatal)
        self.readers = ThreadPoolExecutor(READERS, thread_name_prefix="log-reader")
        self.fetch_bytes_max = config.integer("fetch.max.bytes")
        slots = config.integer("max.incremental.fetch.session.cache.slots")
        self.replica_selector = selector_of(config)
        self.fetch_sessions = FetchSessions(FetchSessionCache(slots, self.random))
        self._open_store = open_store
        self._store: CoordinationStore | None = None
        self._on_fatal = on_fatal
        self._controller_epoch = NO_EPOCH
        self._knows_epoch = asyncio.Event()
        self._is_serving = False
        self._storage = LogStorage(
            config,
            self.clock,
            self.random,
            files=files,
            on_offline=self._directory_failed,
            on_all_offline=self._all_directories_failed,
        )
        self.directories = self._storage.directories

    # -- start

    async def start(self) -> None:
        """Come up, or raise what is in the way with nothing left behind."""
        try:
            await asyncio.get_running_loop().run_in_executor(self.readers, self.directories.open)
            self._store = await self._open_store()
            timeout_ms = self.config.integer("zookeeper.session.timeout.ms")
            self.session = await RenewedSession.open(self._store, timeout_ms, self.supervisor)
            identity = await find_identity(self.session, self.config, self.directories.owner)
            assert identity.cluster_id is not None, "every cluster has an id"
            self.broker_id, self.cluster_id = identity.broker_id, identity.cluster_id
            self.directories.claim(identity)
            await self._load()
            self._compose()
            await self._serve()
        except BaseException:
            await self.stop()
            raise
        logger.info("[Kafka Server %d], started (kafka.server.KafkaServer)", self.broker_id)

    async def _load(self) -> None:
        """The configuration as it is in the store, and the logs by it."""
        self.configs = DynamicConfigs(
            self.session,
            self.config,
            self.broker_id,
            on_broker=self._broker_configured,
            on_topic=self._topic_configured,
            clock=self.clock,
            supervisor=self.supervisor,
        )
        await self.configs.start()
        await self.configs.load_topics()
        await self._storage.load(lambda topic: LogSettings.of(self.configs.topic(topic)))

    def _compose_replicas(self, listener: str, options: ClientOptions) -> None:
        surroundings = Surroundings(
            is_alive=lambda broker_id: broker_id in self.metadata.brokers,
            is_known=lambda key: self.metadata.partition(*key) is not None,
        )
        storage = self._storage
        self.replicas = Replicas(self.broker_id, self.directories, self.timers, self.clock, surroundings)
        self.throttles = ReplicationThrottles(self.clock, self.config)
        self.fetchers = ReplicaFetchers(
            self.replicas,
            FollowerSettings.of(self.config),
            self.throttles.follower,
            options,
            FollowerSurroundings(
                self.broker_id,
                lambda: self.broker_epoch,
                lambda broker_id: self.metadata.endpoint(broker_id, listener),
                self.clock,
            ),
            self.supervisor,
        )
        self.state_changes = StateChanges(
            self.replicas, storage.creation, self._settings_of, self.fetchers, storage.cleaner
        )
        self.replica_moves = ReplicaMoves(
            self.replicas, storage.creation, storage.moves, storage.cleaner, self.throttles.moves, self.supervisor
        )

    def _compose(self) -> None:
        listener = inter_broker_listener(self.config).name
        options = ClientOptions(client_id=f"broker-{self.broker_id}", drawn_from=self.random)
        self._compose_replicas(listener, options)
        self.topics = TopicAdmin(self.session, self.metadata, config=lambda: self.config, random=self.random)
        self.auto_topics = AutoTopics(
            self.topics, config=lambda: self.config, live_brokers=lambda: len(self.metadata.brokers)
        )
        self.producer_ids = ProducerIds(self._allocate_producer_ids)
        self.groups = GroupCoordinator(
            self.replicas,
            self.metadata,
            GroupSettings.of(self.config),
            timers=self.timers,
            clock=self.clock,
            supervisor=self.supervisor,
            readers=self.readers,
            random=self.random,
        )
        self.controller_link = ControllerLink(self.metadata, listener, options)
        self._isr_updates = IsrUpdates(self.replicas, self._alter_partition, self.supervisor, lambda: self.broker_epoch)
        self.controller = Controller(
            self.broker_id,
            self.session,
            NetworkBrokerChannels(self.supervisor, options),
            config=lambda: self.config,
            topic_config=self.configs.load_topic,
            supervisor=self.supervisor,
            clock=self.clock,
            timers=self.timers,
        )
        self.broker_links = BrokerLinks(
            self.metadata,
            listener,
            options,
            self.supervisor,
            broker_id=self.broker_id,
            here={WriteTxnMarkersRequest: partial(write_markers, self)},
        )
        self.transactions = TransactionCoordinator(
            self.replicas,
            self.metadata,
            self.broker_links,
            producer_id=self.producer_ids.take,
            config=lambda: self.config,
            timers=self.timers,
            clock=self.clock,
            supervisor=self.supervisor,
            readers=self.readers,
        )
        self.verifier = TransactionVerifier(self.broker_id, self.metadata, self.broker_links, self.transactions)
        self.state_changes.on_led, self.state_changes.on_left = self._led, self._left

    async def _serve(self) -> None:
        self.server = Server(
            net_listeners(self.config),
            Dispatcher(self, self.registrations),
            limits_of(self.config),
            inter_broker_listener=inter_broker_listener(self.config).name,
        )
        await self.server.start()
        self._is_serving = True
        self._registered = registration_of(self.config, self.server.addresses, self.clock)
        await self._register(self.session)
        self.session.prepare = self._register
        self.metadata.add_listener(self._topics_changed)
        await self.controller.start()
        await self.topics.waits.until_known()
        await self._wait_for_topics()
        self._storage.start(self.supervisor)
        self.transactions.start()
        review_ms = max(self.config.integer("replica.lag.time.max.ms") // 2, 1)
        self.supervisor.every(review_ms, "isr-expiration", self._isr_updates.review)
        for key in self.directories.future_logs:
            self.replica_moves.resume(key)

    async def _register(self, session: CoordinationSession) -> None:
        """At the start, and again in every session that takes the place of one that has expired."""
        self._knows_epoch.clear()
        timeout_ms = 2 * self.config.integer("zookeeper.session.timeout.ms")
        self.broker_epoch = await register(session, self.broker_id, self._registered, timeout_ms)
        self._knows_epoch.set()

    async def _wait_for_topics(self) -> None:
        """Until then nobody is told of any."""
        existing, leaving = await self.session.children(TOPICS), await self.session.children(DELETE_TOPICS)
        late = await self.topics.waits.until_listed(set(existing).difference(leaving))
        if late:
            logger.warning("the controller has not told of %d topics yet; serving all the same", len(late))
        self.topics.waits.complete()

    # -- stop

    async def stop(self, *, hand_over: bool = True) -> None:
        """Stop cleanly, as far as the start has come. `hand_over`: others take the lead first, where there are any."""
        if self._is_serving:
            if hand_over:
                await self._shut_down_controlled()
            self.fetchers.close()
            await self.controller.stop()
            self.transactions.close()
            self.groups.runtime.close()
            await self.server.drain(STOP_MS_MAX)
            self.broker_links.close()
            self.controller_link.close()
        await self.supervisor.stop(STOP_MS_MAX)
        self.timers.close()
        await self._storage.close()
        if self._store is not None:
            await self._store.close()
        self.readers.shutdown(wait=False)
        if self._is_serving:
            logger.info("[Kafka Server %d], shut down completed (kafka.server.KafkaServer)", self.broker_id)

    async def abandon(self) -> None:
        """End as a crash does: nobody is told, nothing is flushed or marked as clean, the session is left."""
        self.fetchers.close()
        await self.server.drain(0)
        await self.supervisor.stop(STOP_MS_MAX)
        self.timers.close()
        self.broker_links.close()
        self.controller_link.close()
        self._storage.abandon()
        self.readers.shutdown(wait=False)

    async def _shut_down_controlled(self) -> None:
        """Let the controller move leadership away first, so that clients hardly notice."""
        if not self.config.boolean("controlled.shutdown.enable") or not self._knows_epoch.is_set():
            return
        for _ in range(self.config.integer("controlled.shutdown.max.retries")):
            request = ControlledShutdownRequest(broker_id=self.broker_id, broker_epoch=self.broker_epoch)
            try:
                answer = await self.controller_link.request(request, STOP_MS_MAX)
            except MoldauError as error:
                logger.warning("controlled shutdown failed: %s", error)
            else:
                if not answer.error_code and not answer.remaining_partitions:
                    return
            await asyncio.sleep(self.config.integer("controlled.shutdown.retry.backoff.ms") / 1000)
        logger.warning("controlled shutdown did not succeed; leaving all the same")

    # -- what the parts ask of each other

    async def check_controller(self, controller_id: int, controller_epoch: int, broker_epoch: int) -> None:
        """Obey the newest controller only, and only what it says to this life of the broker.

        A controller may see the registration before this broker knows its own epoch by it, and then waits for that:
        what was meant for a former life must not be taken for its own.
        """
        await self._knows_epoch.wait()
        if controller_epoch < self._controller_epoch:
            raise ApiError(
                ErrorCode.STALE_CONTROLLER_EPOCH,
                f"controller {controller_id} has epoch {controller_epoch}; {self._controller_epoch} is known",
            )
        if NO_EPOCH < broker_epoch < self.broker_epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH, f"broker epoch {broker_epoch} was before {self.broker_epoch}")
        self._controller_epoch = controller_epoch

    def _led(self, key: TopicPartition, leader_epoch: int) -> None:
        """Who leads a partition of an internal topic is the coordinator of what is in it."""
        topic, partition = key
        if topic == TRANSACTION_STATE:
            self.transactions.elected(partition, leader_epoch)
        elif topic == CONSUMER_OFFSETS:
            self.groups.runtime.elected(partition, leader_epoch)

    def _left(self, key: TopicPartition) -> None:
        topic, partition = key
        if topic == TRANSACTION_STATE:
            self.transactions.resigned(partition)
        elif topic == CONSUMER_OFFSETS:
            self.groups.runtime.resigned(partition)

    async def _settings_of(self, topic: str) -> PartitionSettings:
        """Waits for the store if it cannot be reached: the controller does not repeat an order that was refused."""
        while True:
            try:
                config = await self.configs.load_topic(topic)
            except (ConnectionLoss, SessionExpired) as error:
                logger.warning("the settings of topic %s cannot be read yet: %s", topic, error)
                await asyncio.sleep(STORE_RETRY_MS / 1000)
            else:
                self.throttles.configure_topic(topic, config, self.broker_id)
                return self._partition_settings(config)

    def _partition_settings(self, topic: TopicConfig) -> PartitionSettings:
        lag_ms = self.config.integer("replica.lag.time.max.ms")
        return PartitionSettings(LogSettings.of(topic), topic.integer("min.insync.replicas"), lag_ms)

    async def _alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        answer: AlterPartitionResponse = await self.controller_link.request(request, self._request_timeout_ms)
        return answer

    @property
    def _request_timeout_ms(self) -> int:
        return self.config.integer("request.timeout.ms")

    async def _allocate_producer_ids(self) -> Block:
        request = AllocateProducerIdsRequest(broker_id=self.broker_id, broker_epoch=self.broker_epoch)
        answer = await self.controller_link.request(request, self._request_timeout_ms)
        if answer.error_code:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the controller gives out no producer ids now")
        return answer.producer_id_start, answer.producer_id_len

    # -- what changes while it runs

    def _broker_configured(self, config: BrokerConfig) -> None:
        self.config = config
        self.fetch_bytes_max = config.integer("fetch.max.bytes")
        if self._is_serving:
            self.server.change_limits(limits_of(config))
            self._storage.cleaner.configure(CleanerSettings.of(config))
            self.throttles.configure(config)
            self.fetchers.configure(FollowerSettings.of(config))
            for partition in self.replicas.partitions.values():
                partition.replica_lag_time_max_ms = config.integer("replica.lag.time.max.ms")
            self.supervisor.start("register changed addresses", self._register_anew, OnFailure.LOG)

    def _topic_configured(self, topic: str, config: TopicConfig) -> None:
        settings = self._partition_settings(config)
        self.throttles.configure_topic(topic, config, self.broker_id)
        if config.boolean("unclean.leader.election.enable"):
            self.controller.unclean_election_enabled(topic)
        for logs in (self.directories.logs, self.directories.future_logs):
            for key, log in logs.items():
                if key[0] == topic:
                    log.configure(settings.log)
        for key, partition in self.replicas.partitions.items():
            if key[0] == topic:
                partition.min_insync_replicas = settings.min_insync_replicas
                self.replicas.touch(key)

    async def _register_anew(self) -> None:
        """Addresses may have changed (`advertised.listeners`): the others learn them from the registration."""
        registration = registration_of(self.config, self.server.addresses, self.clock)
        if registration.endpoints != self._registered.endpoints:
            self._registered = registration
            await self.session.set(broker_path(self.broker_id), registration.encode())

    def _topics_changed(self, topics: Collection[str]) -> None:
        for topic in topics:
            if topic not in self.metadata.topics:
                self.configs.forget_topic(topic)

    # -- what goes wrong

    def _directory_failed(self, _path: Path, partitions: Collection[TopicPartition]) -> None:
        if self._is_serving:
            self.replicas.go_offline(partitions)
            self.supervisor.start("tell of a failed directory", self._tell_of_failure, OnFailure.LOG)

    async def _tell_of_failure(self) -> None:
        """The controller finds other leaders for what was in the directory; without the store nobody hears of it."""
        data = encode_log_dir_event(self.broker_id)
        while True:
            try:
                await self.session.create(LOG_DIR_EVENT_PREFIX, data, CreateMode.PERSISTENT_SEQUENTIAL)
            except (ConnectionLoss, SessionExpired) as error:
                logger.warning("nobody can be told of a failed directory yet: %s", error)
                await asyncio.sleep(STORE_RETRY_MS / 1000)
            else:
                return

    def _all_directories_failed(self) -> None:
        self._on_fatal("log directories", OSError("all log directories have failed"))
