"""The producer behind both faces: everything but how its caller waits.

`append` runs in the caller's thread and never waits: it says what is missing, knowledge of the topic or memory, and the
face waits for that in its own way. All the rest runs in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from moldau.base.clock import Clock
from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError, MoldauError
from moldau.base.freed_memory import keep_freed_memory
from moldau.clients.errors import (
    BufferExhausted,
    ClientClosed,
    IllegalState,
    RecordTooLarge,
    SerializationError,
    TimedOut,
)
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.producer.accumulator import RECORD_OVERHEAD_BYTES, AccumulatorLimits, RecordAccumulator, TopicQueues
from moldau.clients.producer.batch import Callback, ProducerBatch
from moldau.clients.producer.columns import batches_of
from moldau.clients.producer.delivery import Deliveries
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.interceptors import Interceptors, ProducerRecord
from moldau.clients.producer.metrics import producer_metrics
from moldau.clients.producer.partitioners import (
    ALIASES,
    DefaultPartitioner,
    Partitioner,
    UniformStickyPartitioner,
    as_partitioner,
    partition_of_key,
)
from moldau.clients.producer.plain_append import PLAIN_BYTES_MAX, PlainAppend, plain_append
from moldau.clients.producer.producer_ids import ProducerIds
from moldau.clients.producer.sender import Sender, SenderOptions
from moldau.clients.producer.sequences import Sequences
from moldau.clients.producer.transactions import Transactions
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, TopicPartition
from moldau.clients.serialization import BytesSerializer, serializer_of
from moldau.clients.settings import ClientSettings, client_settings
from moldau.records.compression import LEVELS, CompressionType
from moldau.records.record import Headers

if TYPE_CHECKING:
    import pyarrow as pa

Offsets: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata] | Mapping[TopicPartition, int]
_bytes_of: Final = BytesSerializer().serialize


def producer_settings(settings: Mapping[str, object] | None, keywords: Mapping[str, object]) -> ClientSettings:
    """The settings of a producer, read and checked, before any loop or thread is made for it."""
    return client_settings(Scope.PRODUCER, settings, keywords)


class ProducerCore:
    """To be made inside a running loop. `wake_threadsafe` says that other threads append."""

    def __init__(self, settings: ClientSettings, *, wake_threadsafe: bool, clock: Clock | None = None) -> None:
        keep_freed_memory()  # batches come and go
        config = settings.config
        self.settings = settings
        self.max_block_ms = config.integer("max.block.ms")
        self.unusable: MoldauError | None = None
        self._serialize_key = serializer_of(settings, "key.serializer")
        self._serialize_value = serializer_of(settings, "value.serializer")
        self._partitioner = self._read_partitioner(settings)
        self._ignore_keys = config.boolean("partitioner.ignore.keys")
        chain = settings.plugins("interceptor.classes", {})
        self._interceptors = Interceptors(chain) if chain else None
        self._record_bytes_max = min(config.integer("max.request.size"), config.integer("buffer.memory"))
        self.cluster = Cluster(settings, clock=clock)
        self._now_ms = self.cluster.clock.now_ms
        self._topic_idle_ms = config.integer("metadata.max.idle.ms")
        self._started_ms = self.cluster.clock.monotonic_ms()
        self.accumulator = RecordAccumulator(
            limits_of(settings, awaitable=not wake_threadsafe), self.cluster.clock, self._wake
        )
        self._topics = self.accumulator.topics
        idempotent = config.boolean("enable.idempotence")
        transactional_id = config.text_or_none("transactional.id")
        sequences = Sequences(transactional=transactional_id is not None) if idempotent else None
        self.transactions: Transactions | None = None
        if transactional_id is not None:
            assert sequences is not None, "checked with the settings"
            self.transactions = Transactions(self.cluster, transactional_id, sequences, self._wake_in_loop)
            self.transactions.on_abortable = self.abort_unsent
        self.deliveries = Deliveries(
            self.accumulator,
            self.cluster.clock,
            self.cluster.backoff,
            retries=config.integer("retries"),
            timeout_ms=config.integer("delivery.timeout.ms"),
            sequences=sequences,
            on_lost=None if self.transactions is None else self.transactions.failed,
            **({} if self.transactions is None else {"may_send": self.transactions.is_sending}),
        )
        ids = ProducerIds(self.cluster, sequences, self._got_id, self._fatal) if sequences is not None else None
        self.sender = Sender(
            self.cluster,
            self.accumulator,
            self.deliveries,
            sender_options(settings),
            sequences=sequences,
            need_producer_id=ids.need if ids is not None and self.transactions is None else None,
            transaction=self.transactions,
        )
        self._wake_sender: Callable[[], None] = self.sender.wake_threadsafe if wake_threadsafe else self.sender.wake
        if not wake_threadsafe:
            self.accumulator.hurry = self.sender.hurry
        self.cluster.on_update(self._learn)
        # The short way of records, by topic; none where every record has to go the general way.
        self.plain_appends: dict[str, PlainAppend] = {}
        self._takes_plain = (
            self._serialize_value is None
            and self._interceptors is None
            and self._partitioner is None
            and self.transactions is None
            and self._record_bytes_max >= PLAIN_BYTES_MAX
        )

    # -- appending, in the caller's thread

    def append(
        self,
        queues: TopicQueues,
        value: Any,
        key: Any,
        headers: Any,
        partition: int | None,
        timestamp: int | None,
        callback: Callback | None,
    ) -> RecordFuture | None:
        """Take a record in; None if there is no memory for it now. Raises what makes the record impossible."""
        topic = queues.name
        if key is None:
            key_bytes = None
        elif self._serialize_key is not None:
            key_bytes = self._serialize_key(topic, key)
        else:
            key_bytes = key if type(key) is bytes else _as_bytes(topic, key, "key")
        if value is None:
            value_bytes = None
        elif self._serialize_value is not None:
            value_bytes = self._serialize_value(topic, value)
        else:
            value_bytes = value if type(value) is bytes else _as_bytes(topic, value, "value")
        if partition is None:
            if self._partitioner is not None:
                partition = self._ask_partitioner(queues, key, key_bytes, value, value_bytes)
            elif key_bytes is not None and not self._ignore_keys:
                partition = partition_of_key(key_bytes, len(queues.queues))
        record_headers = _headers(headers) if headers else ()
        size = RECORD_OVERHEAD_BYTES + (len(value_bytes) if value_bytes else 0) + (len(key_bytes) if key_bytes else 0)
        if record_headers:
            size += sum(len(name) + len(content or b"") + 10 for name, content in record_headers)
        if size > self._record_bytes_max:
            raise RecordTooLarge(
                f"the record is {size} bytes when serialized, more than {self._record_bytes_max}, the smaller of "
                "max.request.size and buffer.memory"
            )
        if timestamp is None:
            timestamp = self._now_ms()
        elif timestamp < 0:
            raise ValueError(f"timestamp {timestamp} is negative; timestamps are milliseconds since 1970")
        return self.accumulator.append(queues, partition, timestamp, key_bytes, value_bytes, record_headers, callback)

    def batches_of(
        self, queues: TopicQueues, columns: pa.Table | pa.RecordBatch, partition: int | None
    ) -> Iterator[ProducerBatch]:
        """Columns as closed batches; they are taken in one by one, as there is memory."""
        return batches_of(
            columns,
            queues,
            partition,
            self.accumulator.limits,
            self._now_ms(),
            self.cluster.clock.monotonic_ms,
            self._record_bytes_max,
        )

    def refuse(self, error: MoldauError) -> None:
        """From now on nothing is taken."""
        self.lose(error)
        self.accumulator.refuse(error)

    def lose(self, error: MoldauError) -> None:
        """The same without any lock: in a forked child one may be held by a thread that does not exist there."""
        self.unusable = error
        self._takes_plain = False
        self.plain_appends.clear()

    def intercepted(self, record: ProducerRecord, callback: Callback | None) -> tuple[ProducerRecord, Callback]:
        assert self._interceptors is not None
        return self._interceptors.on_send(record), self._interceptors.before(callback)

    def not_sent(self, error: Exception) -> None:
        """Tell interceptors of a record that `send` could not take."""
        if self._interceptors is not None:
            self._interceptors.on_acknowledgement(None, error)

    @property
    def has_interceptors(self) -> bool:
        return self._interceptors is not None

    def check_usable(self) -> None:
        """Raise if nothing can be sent now."""
        if self.unusable is not None:
            raise self.unusable
        if self.transactions is not None:
            self.transactions.check_in_transaction()

    def _ask_partitioner(
        self, queues: TopicQueues, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None
    ) -> int:
        assert self._partitioner is not None
        partition = self._partitioner.partition(queues.name, key, key_bytes, value, value_bytes, self.cluster.metadata)
        if not 0 <= partition < len(queues.queues):
            raise ValueError(f"the partitioner chose partition {partition} of {len(queues.queues)} of {queues.name}")
        return partition

    # -- in the loop

    async def know_topic(self, topic: str, partition: int | None, timeout_ms: float) -> TopicQueues:
        """Wait until a topic is known, and has the partition that is asked for."""
        if partition is not None and partition < 0:
            raise ValueError(f"partition {partition} is negative; leave it out to have one chosen")
        deadline_ms = self.cluster.clock.monotonic_ms() + timeout_ms
        while True:
            left_ms = deadline_ms - self.cluster.clock.monotonic_ms()
            known = await self.cluster.topic(topic, max(0.0, left_ms))
            if partition is None or partition < len(known.partitions):
                queues = self.accumulator.topic(known)
                if self._takes_plain:
                    self.plain_appends[topic] = plain_append(self.accumulator, queues, self.cluster.clock)
                return queues
            if left_ms <= 0:
                raise TimedOut(
                    f"Partition {partition} of topic {topic} with partition count {len(known.partitions)} "
                    f"is not present in metadata after {timeout_ms:.0f} ms"
                )
            try:
                await self.cluster.update(left_ms)
            except TimedOut:
                continue

    def exhausted(self) -> BufferExhausted:
        limit = self.accumulator.limits.memory_bytes
        return BufferExhausted(
            f"no memory for the record within max.block.ms={self.max_block_ms}: buffer.memory={limit} is full of "
            "records that brokers have not taken yet; send less, or raise buffer.memory"
        )

    async def wait_for_memory(self, deadline_ms: float) -> None:
        """Wait until a batch is done; raises BufferExhausted at the deadline."""
        left_ms = deadline_ms - self.cluster.clock.monotonic_ms()
        try:
            async with asyncio.timeout(max(0.0, left_ms) / 1000):
                await self.accumulator.memory_freed()
        except TimeoutError:
            raise self.exhausted() from None

    async def init_transactions(self) -> None:
        await self.in_transactions().init(self.max_block_ms)

    async def begin_transaction(self) -> None:
        self.in_transactions().begin()

    async def send_offsets(self, offsets: Offsets, group: GroupMetadata | str) -> None:
        named = {
            TopicPartition(*of): OffsetAndMetadata(each) if isinstance(each, int) else each
            for of, each in offsets.items()
        }
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        await self.in_transactions().send_offsets(named, metadata, self.max_block_ms)

    async def commit_transaction(self) -> None:
        await self.in_transactions().commit(self.flush, self.max_block_ms)

    async def abort_transaction(self) -> None:
        await self.in_transactions().abort(self.flush, self.max_block_ms)

    def in_transactions(self) -> Transactions:
        if isinstance(self.unusable, ClientClosed):
            raise self.unusable
        if self.transactions is None:
            raise IllegalState("Cannot use transactions without transactional.id: set it to a name of this producer")
        return self.transactions

    async def flush(self) -> None:
        """Send everything that was taken in before, and wait until all of it has its fate."""
        self.accumulator.flushing += 1
        self.sender.wake()
        try:
            with self.accumulator.lock:
                pending = [*self.accumulator.incomplete]
            for batch in pending:
                await self._fate(batch)
        finally:
            self.accumulator.flushing -= 1

    async def _fate(self, batch: ProducerBatch) -> None:
        while not batch.done and not batch.pieces:
            if self.sender.stopped:
                return
            await self.sender.progress()
        for piece in batch.pieces:
            await self._fate(piece)

    async def close(self, timeout_ms: float | None) -> None:
        """Send what waits, for at most that long, give the rest up, and let go of everything."""
        if isinstance(self.unusable, ClientClosed):
            return
        self.refuse(ClientClosed("the producer is closed; make a new one"))
        if timeout_ms is None or timeout_ms > 0:
            try:
                async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                    if self.transactions is not None:
                        await self.transactions.abort_at_close(self.flush)
                    await self.flush()
            except TimeoutError:
                pass
        self.sender.stop()
        self._give_up_all(ClientClosed("the producer was closed before the record was acknowledged"))
        await self.cluster.close()
        for each in (self._interceptors, self._serialize_key, self._serialize_value, self._partitioner):
            close = getattr(each, "close", None)
            if close is not None:
                close()

    def abort_unsent(self, error: Exception) -> None:
        """Give up what has not been sent: its transaction is aborted."""
        with self.accumulator.lock:
            batches = [*self.accumulator.incomplete]
        for batch in batches:
            if self.accumulator.withdraw(batch):
                self.deliveries.give_up(batch, error, known=not batch.sent)
        self.sender.tell_progress()

    def _give_up_all(self, error: Exception) -> None:
        with self.accumulator.lock:
            batches = [*self.accumulator.incomplete]
        for batch in batches:
            self.accumulator.withdraw(batch)
            self.deliveries.give_up(batch, error, known=False)
        self.sender.tell_progress()

    def metrics(self) -> dict[str, float]:
        """Kafka's names, in plain numbers, since the producer was made."""
        return producer_metrics(self, self.cluster.clock.monotonic_ms() - self._started_ms)

    def _learn(self, metadata: ClusterMetadata) -> None:
        used = self.accumulator.topics_used(self.cluster.clock.monotonic_ms() - self._topic_idle_ms)
        if len(used) < len(self._topics):
            self.cluster.set_topics(used)  # one that comes into use again is added by the sender
        for name in used:
            topic = metadata.topics.get(name)
            if topic is not None and topic.partitions:
                self.accumulator.topic(topic)
        self.sender.wake()

    def _fatal(self, error: MoldauError) -> None:
        """No record can be sent any more."""
        if self.unusable is None:
            self.refuse(error)
        self._give_up_all(error)

    def _got_id(self) -> None:
        self.sender.wake()

    def _wake(self) -> None:
        self._wake_sender()

    def _wake_in_loop(self) -> None:
        self.sender.wake()

    @staticmethod
    def _read_partitioner(settings: ClientSettings) -> Partitioner | None:
        plugin = settings.plugin("partitioner.class", ALIASES)
        if plugin is None or isinstance(plugin, DefaultPartitioner | UniformStickyPartitioner):
            return None
        if not callable(plugin) and not hasattr(plugin, "partition"):
            raise ConfigError(f"partitioner.class: {plugin!r} is no callable and has no method partition")
        return as_partitioner(plugin)


def limits_of(settings: ClientSettings, *, awaitable: bool) -> AccumulatorLimits:
    """What a producer's settings say to its accumulator."""
    config = settings.config
    codec = CompressionType[config.text("compression.type").upper()]
    return AccumulatorLimits(
        batch_bytes=config.integer("batch.size"),
        linger_ms=config.integer("linger.ms"),
        memory_bytes=config.integer("buffer.memory"),
        compression_type=codec,
        compression_level=config.integer(f"compression.{codec.name.lower()}.level") if codec in LEVELS else None,
        adaptive=config.boolean("partitioner.adaptive.partitioning.enable"),
        awaitable=awaitable,
    )


def sender_options(settings: ClientSettings) -> SenderOptions:
    """What they say to its sender."""
    config = settings.config
    return SenderOptions(
        acks=int(config.text("acks")),
        in_flight_max=config.integer("max.in.flight.requests.per.connection"),
        request_bytes_max=config.integer("max.request.size"),
        request_timeout_ms=config.integer("request.timeout.ms"),
    )


def _as_bytes(topic: str, data: Any, side: str) -> bytes:
    try:
        return _bytes_of(topic, data)
    except TypeError as error:
        raise SerializationError(f"the {side} of a record of topic {topic}: {error}") from error


def _headers(headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]) -> Headers:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    checked = tuple((name, content) for name, content in pairs)
    for name, content in checked:
        if not isinstance(name, str) or not (content is None or isinstance(content, bytes)):
            raise TypeError(f"a header is a text and bytes or None, not {name!r}: {content!r}")
    return checked
