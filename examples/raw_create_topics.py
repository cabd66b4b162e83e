"""Creates a topic with nothing but a socket. Prints the error code of each topic; 0 is none."""

from __future__ import annotations

import sys

from examples.raw_requests import ask
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

TIMEOUT_MS = 60_000


def main(bootstrap_servers: str = "localhost:9092", topic: str = "raw-topic") -> None:
    """The broker that is asked has to be the controller."""
    wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS)
    for each in ask(bootstrap_servers, request, 0, CreateTopicsResponse).topics:
        print(f"{each.name}: {each.error_code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
