"""Deletes a topic with nothing but a socket. Prints the error code of each topic; 0 is none, 3 an unknown topic."""

from __future__ import annotations

import sys

from examples.raw_requests import ask
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

TIMEOUT_MS = 30_000


def main(bootstrap_servers: str = "localhost:9092", topic: str = "raw-topic") -> None:
    """The broker that is asked has to be the controller."""
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=TIMEOUT_MS)
    for each in ask(bootstrap_servers, request, 0, DeleteTopicsResponse).responses:
        print(f"{each.name}: {each.error_code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
