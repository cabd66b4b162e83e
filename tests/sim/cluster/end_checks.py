"""What must be true when everything has been left alone: of all that clients were told, and of the logs.

`acknowledged_kept`    what was acknowledged is where it was said to be
`no_duplicate`         no record is there twice
`order`                each producer's records are in the order of sending, without a gap
`transactions_atomic`  all records of a transaction are to be seen, or none; as its producer was told, if it was
`offsets_kept`         no committed offset is older than what was acknowledged
`committed_kept`       a reader from the beginning sees what the one saw that has read all the time
"""

from __future__ import annotations

from random import Random

from moldau.base.errors import Disconnected
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.sim.cluster.cluster_channel import ClusterChannel
from tests.sim.cluster.invariants import Violated, batches_of
from tests.sim.cluster.simulated_cluster import SimulatedCluster
from tests.sim.cluster.workload import PARTITIONS, TOPIC, ClientHistory, Reader
from tests.sim.controller.checked_persistence import CheckedPersistence
from tests.sim.groups.simulated_member import GROUP


class EndChecks:
    def __init__(
        self, cluster: SimulatedCluster, stored: CheckedPersistence, history: ClientHistory, random: Random
    ) -> None:
        self._cluster = cluster
        self._stored = stored
        self._history = history
        self._reader = Reader("last-reader", len(cluster.brokers), history, random)
        self._channel = ClusterChannel(len(cluster.brokers), random, "last")

    async def read(self) -> bool:
        """Read on; whether everything has been read."""
        for partition in range(PARTITIONS):
            while await self._reader.read(partition):
                pass
        return self._reader.is_at_end and any(self._reader.offsets)

    def check(self, earlier: Reader) -> None:
        self._check_acknowledged()
        self._check_order()
        self._check_transactions()
        for partition in range(PARTITIONS):
            seen = earlier.seen[partition]
            if seen != self._reader.seen[partition][: len(seen)]:
                raise Violated("committed_kept", f"what a reader saw of {TOPIC}-{partition} has changed")

    def _check_acknowledged(self) -> None:
        found = [dict(seen) for seen in self._reader.seen]
        for value, (partition, offset) in self._history.acknowledged.items():
            if found[partition].get(offset) != value:
                raise Violated("acknowledged_kept", f"{value} was acknowledged at {offset} of {TOPIC}-{partition}")

    def _check_order(self) -> None:
        for partition, seen in enumerate(self._reader.seen):
            values = [value for _, value in seen]
            if len(set(values)) != len(values):
                places = [place for place in seen if values.count(place[1]) > 1]
                raise Violated("no_duplicate", f"{TOPIC}-{partition} has records twice: {places}")
            numbers = [int(value.split(":")[1]) for value in values if value.startswith(f"producer{partition}:")]
            if numbers != list(range(len(numbers))):
                raise Violated("order", f"records of producer{partition} are there as {numbers}")

    def _check_transactions(self) -> None:
        seen = [{value for _, value in each if "/" in value} for each in self._reader.seen]
        committed = {value.split("/")[0] for values in seen for value in values}
        for attempt in self._history.transactions.attempts.values():
            is_committed = attempt.name in committed
            if attempt.outcome != "unknown" and attempt.written and is_committed != (attempt.outcome == "committed"):
                raise Violated("transactions_atomic", f"{attempt}: to be seen is {is_committed}")
            for partition, value in attempt.written:
                if (value in seen[partition]) != is_committed:
                    raise Violated("transactions_atomic", f"{value} of {attempt}: to be seen are others")

    async def check_offsets(self) -> bool:
        """Whether they could be asked for."""
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=list(range(PARTITIONS)))]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)])
        try:
            group = (await self._channel.request(request, 8)).groups[0]
        except Disconnected:
            return False
        if group.error_code:
            self._channel.forget()
            return False
        for one in group.topics[0].partitions:
            acknowledged = self._history.group.acknowledged.get(one.partition_index, -1)
            if one.committed_offset < acknowledged:
                raise Violated("offsets_kept", f"{acknowledged} was acknowledged, found is {one.committed_offset}")
        return True

    async def are_logs_equal(self) -> bool:
        """Below the high watermarks they have been compared all the time; this is the rest."""
        for path, (state, _version) in self._stored.states.items():
            topic, _, index = path.split("/")[3:6]
            contents = []
            for broker_id in state.isr:
                node = self._cluster.brokers[broker_id].node
                assert node is not None
                log = node.directories.logs.get((topic, int(index)))
                if log is None:
                    return False  # the topic is being deleted
                contents.append(batches_of(log, 0, log.log_end_offset))
            if any(content != contents[0] for content in contents):
                return False
        return True
