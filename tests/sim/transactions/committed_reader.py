"""A reader of committed records in the simulation, by the rules that consumers go by (KIP-98)."""

from __future__ import annotations

import asyncio

from moldau.base.errors import Disconnected
from moldau.net.channel import Channel
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from tests.sim.groups.simulated_broker import HOST, PORT
from tests.sim.transactions.simulated_producer import OPTIONS, PARTITIONS, TOPIC

READ_COMMITTED = 1


class CommittedReader:
    """`seen` holds the values of each partition in their order; they are read on from where it has come to."""

    def __init__(self) -> None:
        self._channel = Channel(HOST, PORT, OPTIONS)
        self._offsets = [0] * PARTITIONS
        self._high_watermarks = [0] * PARTITIONS
        self.seen: list[list[str]] = [[] for _ in range(PARTITIONS)]

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left that is replicated and not decided."""
        return self._offsets == self._high_watermarks

    async def read(self) -> None:
        """Whatever is committed by now, if the broker answers."""
        for partition in range(PARTITIONS):
            while await self._read_piece(partition):
                pass

    async def _read_piece(self, partition: int) -> bool:
        one = FetchPartition(partition=partition, fetch_offset=self._offsets[partition], partition_max_bytes=1 << 20)
        request = FetchRequest(
            topics=[FetchTopic(topic=TOPIC, partitions=[one])], max_bytes=1 << 20, isolation_level=READ_COMMITTED
        )
        try:
            answer = await self._channel.request(request, 12)
        except Disconnected:
            await asyncio.sleep(0.1)
            return False
        data = answer.responses[0].partitions[0]
        if data.error_code:
            await asyncio.sleep(0.1)
            return False
        self._high_watermarks[partition] = data.high_watermark
        before = self._offsets[partition]
        self._take(partition, data)
        return self._offsets[partition] > before

    def _take(self, partition: int, data: PartitionData) -> None:
        aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        skipped: set[int] = set()
        for batch in batches(bytes(data.records or b"")):
            while aborted and aborted[0][0] <= batch.last_offset:
                skipped.add(aborted.pop(0)[1])
            if batch.is_control:
                skipped.discard(batch.producer_id)
            elif batch.base_offset >= self._offsets[partition] and batch.producer_id not in skipped:
                values = [bytes(record.value or b"").decode() for record in read_batch(batch)]
                self.seen[partition] += values
            self._offsets[partition] = max(self._offsets[partition], batch.next_offset)

    async def offset_of(self, group_id: str) -> int:
        request = OffsetFetchRequest(
            group_id=group_id, topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        )
        answer = await self._channel.request(request, 5)
        assert not answer.error_code
        offset: int = answer.topics[0].partitions[0].committed_offset
        return offset

    def close(self) -> None:
        self._channel.close()
