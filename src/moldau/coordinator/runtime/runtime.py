"""All shards of one kind of coordinator on a broker: which there are, in which state, and who may use them.

    not here ──elected──► LOADING ──read to the end──► ACTIVE ──resigned──► not here
                             │                            │
                             └─► FAILED                   └─an append failed─► LOADING, while this broker leads

Who asks for a shard that is not here hears NOT_COORDINATOR, one that is loaded COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.coordinator.runtime.active_shard import ActiveShard, Done
from moldau.coordinator.runtime.loading import load
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.runtime.shard import Shard, ShardContext, ShardTimers
from moldau.records.compression import CompressionType
from moldau.replication.delayed import Timers
from moldau.replication.replicas import Replicas

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


class _Standing(Generic[S]):
    """One partition that this broker leads."""

    def __init__(self, leader_epoch: int) -> None:
        self.leader_epoch = leader_epoch
        self.state = ShardState.LOADING
        self.active: ActiveShard | None = None
        self.shard: S | None = None
        self.timers: ShardTimers | None = None


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """`write_timeout_ms` is `offsets.commit.timeout.ms` for groups, `request.timeout.ms` for transactions.

    `load_buffer_bytes` are read at once while a shard is loaded.
    """

    write_timeout_ms: int = 5_000
    compression: CompressionType = CompressionType.NONE
    load_buffer_bytes: int = 5 << 20


class Runtime(Generic[S]):
    """The coordinator of one internal topic; `make_shard` makes an empty shard."""

    def __init__(
        self,
        topic: str,
        make_shard: Callable[[ShardContext], S],
        replicas: Replicas,
        *,
        timers: Timers,
        clock: Clock,
        supervisor: Supervisor,
        readers: Executor,
        settings: RuntimeSettings,
    ) -> None:
        self.topic = topic
        self._make_shard = make_shard
        self._replicas = replicas
        self._timers = timers
        self._clock = clock
        self._supervisor = supervisor
        self._readers = readers
        self._settings = settings
        self._standings: dict[int, _Standing[S]] = {}

    # -- use

    def run(self, partition: int, operation: Callable[[S], Result[Any]], done: Done) -> None:
        """Carry out an operation on a shard; `done` gets the response, or the `ApiError` that is the answer."""
        standing = self._standings.get(partition)
        if standing is not None and standing.active is not None:
            standing.active.run(operation, done)
        else:
            done(self._refusal(standing))

    def run_now(self, partition: int, operation: Callable[[S], Result[Any]]) -> bool:
        """Carry out an operation whose answer is known and waits for nobody; False if nothing was done."""
        standing = self._standings.get(partition)
        return standing is not None and standing.active is not None and standing.active.run_now(operation)

    def shard(self, partition: int) -> S:
        """The shard, to look at what need not be replicated."""
        standing = self._standings.get(partition)
        if standing is None or standing.shard is None or standing.active is None:
            raise self._refusal(standing)
        return standing.shard

    def settled(self, partition: int) -> S | None:
        """The shard, if all that it shows is replicated: who only looks at it may answer at once."""
        standing = self._standings.get(partition)
        if standing is None or standing.active is None or not standing.active.is_settled:
            return None
        return standing.shard

    def end_transaction(self, partition: int, marker: bytes, producer_id: int, committed: bool, done: Done) -> None:
        """Write the marker of a producer's transaction, which the transaction coordinator has decided on."""
        standing = self._standings.get(partition)
        if standing is not None and standing.active is not None:
            standing.active.end_transaction(marker, producer_id, committed, done)
        else:
            done(self._refusal(standing))

    @property
    def active(self) -> dict[int, S]:
        """All shards that can be used, by partition."""
        return {
            partition: standing.shard
            for partition, standing in self._standings.items()
            if standing.active is not None and standing.shard is not None
        }

    @property
    def is_loading(self) -> bool:
        """Whether a list over all shards would be incomplete."""
        return any(standing.state is ShardState.LOADING for standing in self._standings.values())

    @staticmethod
    def _refusal(standing: _Standing[S] | None) -> ApiError:
        if standing is None or standing.state is ShardState.FAILED:
            return ApiError(ErrorCode.NOT_COORDINATOR, "this broker is not the coordinator")
        return ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the coordinator is loading its state: ask again")

    # -- leadership

    def elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: load its shard, unless it is here already."""
        standing = self._standings.get(partition)
        if standing is not None:
            if standing.leader_epoch >= leader_epoch:
                return
            standing.leader_epoch = leader_epoch
            if standing.state is not ShardState.FAILED:
                return  # nobody else has written meanwhile
        self._begin(partition, leader_epoch)

    def resigned(self, partition: int) -> None:
        """Another broker leads the partition, or it is gone."""
        standing = self._standings.pop(partition, None)
        if standing is not None:
            self._end(standing, ErrorCode.NOT_COORDINATOR)
            logger.info("%s-%d: no longer coordinated here", self.topic, partition)

    def close(self) -> None:
        for partition in list(self._standings):
            self.resigned(partition)

    def _begin(self, partition: int, leader_epoch: int) -> None:
        standing = self._standings[partition] = _Standing[S](leader_epoch)
        name = f"load {self.topic}-{partition}"
        self._supervisor.start(name, partial(self._load, partition, standing), OnFailure.LOG)

    def _end(self, standing: _Standing[S], error: ErrorCode) -> None:
        active, shard = standing.active, standing.shard
        standing.active = standing.shard = None
        if standing.timers is not None:
            standing.timers.cancel_all()
        if active is not None and shard is not None:
            active.close(error)
            shard.unloaded()

    async def _load(self, partition: int, standing: _Standing[S]) -> None:
        def is_wanted() -> bool:
            return self._standings.get(partition) is standing

        def run_later(operation: Callable[[], Result[Any]]) -> None:
            if standing.active is not None:
                standing.active.run(lambda _shard: operation(), _nobody)

        started_ms = self._clock.monotonic_ms()
        key = self.topic, partition
        timers = ShardTimers(self._timers, run_later)
        try:
            shard = self._make_shard(ShardContext(partition, self._clock, timers))
            log = self._replicas.log(key)
            end_offset = log.log_end_offset
            loop = asyncio.get_running_loop()
            piece_bytes = self._settings.load_buffer_bytes
            count = await loop.run_in_executor(self._readers, load, log, shard, end_offset, piece_bytes, is_wanted)
        except (ApiError, OSError) as error:  # such as a directory that went offline
            standing.state = ShardState.FAILED
            logger.error("%s-%d could not be loaded: %s", *key, error)  # noqa: TRY400
            return
        except Exception:
            standing.state = ShardState.FAILED
            logger.exception("%s-%d could not be loaded", *key)
            raise
        if not is_wanted():
            return
        standing.timers = timers
        standing.shard = shard
        standing.active = ActiveShard(
            key,
            shard,
            self._replicas,
            self._clock,
            write_timeout_ms=self._settings.write_timeout_ms,
            compression=self._settings.compression,
            give_up=partial(self._reload, partition, standing),
            end_offset=end_offset,
        )
        standing.state = ShardState.ACTIVE
        shard.loaded()
        took_ms = self._clock.monotonic_ms() - started_ms
        logger.info("%s-%d: loaded %d records in %d ms", *key, count, took_ms)

    def _reload(self, partition: int, standing: _Standing[S], error: ErrorCode) -> None:
        """Its state is ahead of the log: begin again, if this broker still leads."""
        if self._standings.get(partition) is standing:
            self._end(standing, error)
            self._begin(partition, standing.leader_epoch)


def _nobody(_outcome: object) -> None:
    """A timer's operation answers nobody; a refusal of it is in the log where it matters."""
