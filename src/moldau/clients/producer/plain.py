"""The plain producer: `moldau.Producer`, to be shared by any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from moldau.clients.background import BackgroundLoop
from moldau.clients.errors import ClientClosed, TimedOut
from moldau.clients.network.metadata import PartitionMetadata
from moldau.clients.producer.batch import Callback
from moldau.clients.producer.columns import ColumnsFuture
from moldau.clients.producer.core import Offsets, ProducerCore, producer_settings
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.interceptors import ProducerRecord
from moldau.clients.records import GroupMetadata
from moldau.clients.settings import ClientSettings

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result")

# A thread that sends without a pause keeps the interpreter's lock for 5 ms at a time, and the sender stands still
# meanwhile. Where batches pile up, the thread that makes them lets the sender go first, as long as it may need.
YIELD_S = 0.0001
# How much longer than its own time the closing in the loop may take.
_CLOSING_S = 5.0


class Producer:
    """Writes records.

        with Producer(bootstrap_servers="localhost:9092") as producer:
            future = producer.send("topic", value=b"hello")
            metadata = future.result(10)

    Callbacks run in the producer's own thread, in the order of the records of a partition; they should be quick.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **keywords: object) -> None:
        checked = producer_settings(settings, keywords)
        self._background = BackgroundLoop("moldau-producer")
        try:
            self._core = self._background.run(_made(checked))
        except BaseException:
            self._background.close()
            raise
        self._background.on_unusable = self._lost_loop
        self._topics = self._core.accumulator.topics
        self._plain_appends = self._core.plain_appends

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: Callback | None = None,
    ) -> RecordFuture:
        """Take a record; `on_delivery(metadata, error)` is called when it is acknowledged or has failed.

        Raises, within `max.block.ms`, if the record cannot be taken: then nothing else will be heard of it.
        """
        if (
            key is None
            and headers is None
            and partition is None
            and timestamp is None
            and on_delivery is None
            and type(value) is bytes
            and topic in self._plain_appends
        ):
            future = self._plain_appends[topic](value)
            if future is not None:
                return future
        core = self._core
        core.check_usable()
        if core.has_interceptors:
            given = ProducerRecord(topic, value, key, headers, partition, timestamp)
            given, on_delivery = core.intercepted(given, on_delivery)
            topic, value, key, headers, partition, timestamp = given
        try:
            queues = self._topics.get(topic)
            if queues is None or (partition is not None and not 0 <= partition < len(queues.queues)):
                queues = self._background.run(core.know_topic(topic, partition, core.max_block_ms))
            future = core.append(queues, value, key, headers, partition, timestamp, on_delivery)
            if future is None:
                record = (queues, value, key, headers, partition, timestamp, on_delivery)
                future = self._when_there_is_memory(lambda: core.append(*record))
                assert future is not None
            if core.accumulator.crowded and not self._background.is_here:
                core.accumulator.crowded = False  # once for each new batch
                sleep(YIELD_S)
        except Exception as error:
            core.not_sent(error)
            raise
        return future

    def send_batch(self, topic: str, columns: pa.Table | pa.RecordBatch, partition: int | None = None) -> ColumnsFuture:
        """Write the rows of Arrow columns: `value`, and if there are any `key`, `timestamp` and `headers`.

        The columns hold bytes or texts; serializers and interceptors do not see them.
        """
        core = self._core
        core.check_usable()
        queues = self._background.run(core.know_topic(topic, partition, core.max_block_ms))
        batches = []
        for batch in core.batches_of(queues, columns, partition):
            batches.append(batch)
            if not core.accumulator.add_closed(queues, batch):
                self._when_there_is_memory(lambda batch=batch: core.accumulator.add_closed(queues, batch))  # type: ignore[misc]
        return ColumnsFuture(batches)

    def _when_there_is_memory(self, attempt: Callable[[], Result]) -> Result:
        """Repeat an attempt until it gives something, whenever memory becomes free."""
        core = self._core
        deadline_ms = core.cluster.clock.monotonic_ms() + core.max_block_ms
        while True:
            finished = core.accumulator.finished
            result = attempt()
            if result:
                return result
            left_s = (deadline_ms - core.cluster.clock.monotonic_ms()) / 1000
            # In its own thread it must not wait: nothing would be sent meanwhile.
            if self._background.is_here or not core.accumulator.wait_for_memory(finished, max(0.0, left_s)):
                raise core.exhausted()
            core.check_usable()

    def _lost_loop(self, reason: str) -> None:
        self._core.lose(ClientClosed(reason))

    def flush(self, timeout: float | None = None) -> None:
        """Send everything that was taken before this call, and wait until all of it is acknowledged or has failed."""
        try:
            self._background.run(self._core.flush(), timeout)
        except TimeoutError:
            raise TimedOut(
                f"not all records were acknowledged within {timeout} s; they are still on their way"
            ) from None

    def partitions_for(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """The partitions of a topic."""
        known = self._core.cluster.topic(topic, self._core.max_block_ms)
        return self._background.run(known).partitions

    def metrics(self) -> dict[str, float]:
        """Numbers under the names of Kafka's producer metrics."""
        return self._core.metrics()

    # -- transactions

    def init_transactions(self) -> None:
        """Once, before the first transaction: earlier producers of the same `transactional.id` are fenced."""
        self._background.run(self._core.init_transactions())

    def begin_transaction(self) -> None:
        self._background.run(self._core.begin_transaction())

    def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata | str) -> None:
        """Commit a group's offsets with the transaction; `consumer.group_metadata()` is the best `group`."""
        self._background.run(self._core.send_offsets(offsets, group))

    def commit_transaction(self) -> None:
        """Send what waits and make all of it visible. After `TimedOut` call it again."""
        self._background.run(self._core.commit_transaction())

    def abort_transaction(self) -> None:
        """Give up what waits; readers of committed records see nothing of the transaction."""
        self._background.run(self._core.abort_transaction())

    # -- life

    def close(self, timeout: float | None = None) -> None:
        """Send what waits and let go of everything; after `timeout` seconds the rest fails. 0 drops what waits.

        In a callback it does not wait, and drops what waits.
        """
        if self._background.unusable is not None:
            return
        if self._background.is_here:
            self._background.later(self._core.close(0))
            return
        limit_s = None if timeout is None else timeout + _CLOSING_S
        try:
            self._background.run(self._core.close(None if timeout is None else timeout * 1000), limit_s)
        finally:
            self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _made(settings: ClientSettings) -> ProducerCore:
    return ProducerCore(settings, wake_threadsafe=True)
