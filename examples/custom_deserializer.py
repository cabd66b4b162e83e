"""A deserializer of one's own: prints the users that custom_serializer.py has written."""

from __future__ import annotations

import json
import sys

from examples.custom_serializer import TOPIC, User
from moldau import Consumer, TopicPartition


class UserDeserializer:
    """The other way round."""

    def deserialize(self, _topic: str, data: bytes | None) -> User | None:
        if data is None:
            return None
        fields = json.loads(data)
        return User(fields["firstName"], fields["lastName"], fields["age"], fields["address"])


def main(bootstrap_servers: str = "localhost:9092") -> None:
    settings = {"bootstrap.servers": bootstrap_servers, "auto.offset.reset": "earliest"}
    with Consumer(settings, value_deserializer=UserDeserializer) as consumer:
        users = TopicPartition(TOPIC, 0)
        consumer.assign([users])
        end = consumer.end_offsets([users])[users]
        while consumer.position(users) < end:
            for record in consumer.poll(1.0):
                print(record.value)


if __name__ == "__main__":
    main(*sys.argv[1:])
