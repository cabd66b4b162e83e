"""What to do about a record that failed: some failures pass, others never will.

The producer itself repeats what may go well the next time, so that a retriable failure is seen only when its retries or
`delivery.timeout.ms` are used up; here it is told not to. Such a failure is NOT_ENOUGH_REPLICAS: fewer replicas are in
sync than `min.insync.replicas` of the topic.
"""

from __future__ import annotations

import sys

from moldau import Producer
from moldau.base.errors import ApiError
from moldau.clients.records import RecordMetadata

TOPIC = "my-topic"


def delivered(_metadata: RecordMetadata | None, error: Exception | None) -> None:
    if error is None:
        print("written")
    elif isinstance(error, ApiError) and error.code.retriable:
        print(f"retriable: {error.code.name}")  # send it again, later
    else:
        print(f"fatal: {type(error).__name__}")  # log it, put it aside, tell somebody


def main(bootstrap_servers: str = "localhost:9092") -> None:
    with Producer(bootstrap_servers=bootstrap_servers, acks="all", retries=0, enable_idempotence=False) as producer:
        producer.send(TOPIC, b"to be sent again, perhaps", on_delivery=delivered)
        producer.flush()
        try:
            producer.send(TOPIC, bytes(2_000_000), on_delivery=delivered)
        except ApiError as error:  # larger than max.request.size: it is not even taken
            delivered(None, error)


if __name__ == "__main__":
    main(*sys.argv[1:])
