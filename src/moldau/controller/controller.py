"""The controller that every broker has, and one broker's is: what can be asked of it.

Each question is queued as an event, and answered with NOT_CONTROLLER by a broker that is not the active controller.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.base.errors import ApiError
from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.candidate import Candidate
from moldau.controller.context import Partition
from moldau.controller.controlled_shutdown import shut_down
from moldau.controller.features import update_features
from moldau.controller.isr_changes import alter_partition
from moldau.controller.leader_elections import ElectionType, elect_leaders
from moldau.controller.leader_elections import Outcomes as Elections
from moldau.controller.producer_ids import allocate_producer_ids
from moldau.controller.reassignment import Outcomes as Reassignments
from moldau.controller.reassignment import Targets, alter_reassignments, list_reassignments
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from moldau.protocol.messages.update_features import FeatureUpdateKey


class Controller(Candidate):
    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> set[Partition]:
        """The replicated partitions that the broker still leads."""
        return await self._call("controlled shutdown", lambda term: shut_down(term, broker_id, broker_epoch))

    async def elect_leaders(self, partitions: Iterable[Partition] | None, election_type: ElectionType) -> Elections:
        """For some partitions, or for all."""
        return await self._call(
            "elect leaders",
            lambda term: elect_leaders(
                term, list(term.context.partitions()) if partitions is None else partitions, election_type
            ),
        )

    async def alter_partition_reassignments(
        self, targets: Targets, *, allow_replication_factor_change: bool = True
    ) -> Reassignments:
        """Why each partition was refused, or None; a target of None cancels."""
        return await self._call(
            "alter reassignments",
            lambda term: alter_reassignments(
                term, targets, allow_replication_factor_change=allow_replication_factor_change
            ),
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[Partition] | None
    ) -> dict[Partition, ReplicaAssignment]:
        """What is under way, of some partitions or of all."""
        return await self._call("list reassignments", lambda term: list_reassignments(term, partitions))

    async def alter_partition(self, request: AlterPartitionRequest, version: int) -> AlterPartitionResponse:
        return await self._call("alter partition", lambda term: alter_partition(term, request, version))

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        """The first producer id of a block, and how many there are."""
        return await self._call(
            "allocate producer ids", lambda term: allocate_producer_ids(term, broker_id, broker_epoch)
        )

    async def update_features(
        self, updates: Iterable[FeatureUpdateKey], *, validate_only: bool = False, all_or_none: bool = False
    ) -> dict[str, ApiError | None]:
        """Why each feature was refused, or None."""
        return await self._call(
            "update features",
            lambda term: update_features(term, updates, validate_only=validate_only, all_or_none=all_or_none),
        )

    def unclean_election_enabled(self, topic: str | None = None) -> None:
        """`unclean.leader.election.enable` became true, for a topic or for all: leaderless partitions may get one."""
        name = f"unclean election of {topic or 'all topics'}"
        self._put_once(name, lambda term: term.partitions.elect_where_missing(topic))
