"""All groups of a cluster, and how far one of them is in a partition."""

from __future__ import annotations

import sys

from moldau import Admin, TopicPartition


def main(bootstrap_servers: str = "localhost:9092", group: str = "a1", topic: str = "test") -> None:
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        for listed in admin.list_groups():
            print(listed.group_id)
        committed = admin.list_consumer_group_offsets([group])[group].get(TopicPartition(topic, 0))
        print("none" if committed is None else committed.offset)


if __name__ == "__main__":
    main(*sys.argv[1:])
