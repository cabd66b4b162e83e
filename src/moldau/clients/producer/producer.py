"""The asyncio producer: `moldau.aio.Producer`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from moldau.clients.network.metadata import PartitionMetadata
from moldau.clients.producer.batch import Callback
from moldau.clients.producer.columns import ColumnsFuture
from moldau.clients.producer.core import Offsets, ProducerCore, producer_settings
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.interceptors import ProducerRecord
from moldau.clients.records import GroupMetadata

if TYPE_CHECKING:
    import pyarrow as pa


class Producer:
    """Writes records, in the running loop.

        async with Producer(bootstrap_servers="localhost:9092") as producer:
            future = await producer.send("topic", value=b"hello")
            metadata = await future

    `send` waits only for room and for knowledge of the topic; the future it gives is awaited for the acknowledgement.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **keywords: object) -> None:
        self._core = ProducerCore(producer_settings(settings, keywords), wake_threadsafe=False)

    async def send(
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
        core = self._core
        if (
            key is None
            and headers is None
            and partition is None
            and timestamp is None
            and on_delivery is None
            and type(value) is bytes
            and topic in core.plain_appends
        ):
            future = core.plain_appends[topic](value)
            if future is not None:
                return future
        core.check_usable()
        if core.has_interceptors:
            record = ProducerRecord(topic, value, key, headers, partition, timestamp)
            record, on_delivery = core.intercepted(record, on_delivery)
            topic, value, key, headers, partition, timestamp = record
        try:
            queues = core.accumulator.topics.get(topic)
            if queues is None or (partition is not None and not 0 <= partition < len(queues.queues)):
                queues = await core.know_topic(topic, partition, core.max_block_ms)
            if core.accumulator.crowded:
                core.accumulator.crowded = False
                await asyncio.sleep(0)  # who sends without ever waiting would keep the sender from running
            future = core.append(queues, value, key, headers, partition, timestamp, on_delivery)
            if future is not None:
                return future
            deadline_ms = core.cluster.clock.monotonic_ms() + core.max_block_ms
            while future is None:
                await core.wait_for_memory(deadline_ms)
                core.check_usable()
                future = core.append(queues, value, key, headers, partition, timestamp, on_delivery)
        except Exception as error:
            core.not_sent(error)
            raise
        return future

    async def send_batch(
        self, topic: str, columns: pa.Table | pa.RecordBatch, partition: int | None = None
    ) -> ColumnsFuture:
        """Write the rows of Arrow columns: `value`, and if there are any `key`, `timestamp` and `headers`.

        The columns hold bytes or texts; serializers and interceptors do not see them.
        """
        core = self._core
        core.check_usable()
        queues = await core.know_topic(topic, partition, core.max_block_ms)
        batches = []
        for batch in core.batches_of(queues, columns, partition):
            batches.append(batch)
            await asyncio.sleep(0)  # the sender's turn, while the next ones are made
            deadline_ms = core.cluster.clock.monotonic_ms() + core.max_block_ms
            while not core.accumulator.add_closed(queues, batch):
                await core.wait_for_memory(deadline_ms)
                core.check_usable()
        return ColumnsFuture(batches)

    async def flush(self) -> None:
        """Send everything that was taken before this call, and wait until all of it is acknowledged or has failed."""
        await self._core.flush()

    async def partitions_for(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """The partitions of a topic."""
        return (await self._core.cluster.topic(topic, self._core.max_block_ms)).partitions

    def metrics(self) -> dict[str, float]:
        """Numbers under the names of Kafka's producer metrics."""
        return self._core.metrics()

    # -- transactions

    async def init_transactions(self) -> None:
        """Once, before the first transaction: earlier producers of the same `transactional.id` are fenced."""
        await self._core.init_transactions()

    async def begin_transaction(self) -> None:
        await self._core.begin_transaction()

    async def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata | str) -> None:
        """Commit a group's offsets with the transaction; `consumer.group_metadata()` is the best `group`."""
        await self._core.send_offsets(offsets, group)

    async def commit_transaction(self) -> None:
        """Send what waits and make all of it visible. After `TimedOut` call it again."""
        await self._core.commit_transaction()

    async def abort_transaction(self) -> None:
        """Give up what waits; readers of committed records see nothing of the transaction."""
        await self._core.abort_transaction()

    # -- life

    async def close(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the name that the plain one has
        """Send what waits and let go of everything; after `timeout` seconds the rest fails. 0 drops what waits."""
        await self._core.close(None if timeout is None else timeout * 1000)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
