"""Committed offsets with nothing but a socket: of all partitions of a group, for which null asks, and of one."""

from __future__ import annotations

import sys

from examples.raw_requests import ask
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

VERSION = 2  # the first that can ask for all


def offsets(
    bootstrap_servers: str, group: str, topics: list[OffsetFetchRequestTopic] | None
) -> dict[tuple[str, int], int]:
    """The broker that is asked has to be the group's coordinator."""
    answer = ask(bootstrap_servers, OffsetFetchRequest(group_id=group, topics=topics), VERSION, OffsetFetchResponse)
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
    }


def main(bootstrap_servers: str = "localhost:9092", group: str = "a1", topic: str = "test") -> None:
    print(offsets(bootstrap_servers, group, None))
    one = OffsetFetchRequestTopic(name=topic, partition_indexes=[0])
    print(offsets(bootstrap_servers, group, [one])[topic, 0])


if __name__ == "__main__":
    main(*sys.argv[1:])
