"""Round robin: all partitions of all topics in one row, dealt to the members in turn.

A member that does not subscribe a partition's topic is passed over. With equal subscriptions nobody has more than one
partition more than another; with different ones the result may be far from balanced, and sticky is better.
"""

from __future__ import annotations

from collections.abc import Mapping

from moldau.clients.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    GroupMember,
    PartitionRacks,
    in_member_order,
)
from moldau.clients.records import TopicPartition


class RoundRobinAssignor(Assignor):
    name = "roundrobin"

    def assign(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        topics = {member_id: set(member.topics) for member_id, member in members.items()}
        order = in_member_order(members)
        turn = 0
        for topic in sorted(set[str]().union(*topics.values())):
            for partition in range(len(partitions.get(topic, ()))):
                while topic not in topics[order[turn]]:
                    turn = (turn + 1) % len(order)
                assignment[order[turn]].append(TopicPartition(topic, partition))
                turn = (turn + 1) % len(order)
        return assignment
