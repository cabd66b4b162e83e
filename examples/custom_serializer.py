"""A serializer of one's own: users as JSON. What cannot be serialized becomes a warning and a null."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict, dataclass

from moldau import Producer

TOPIC = "test-topic-users"
logger = logging.getLogger(__name__)


@dataclass
class User:
    first_name: str
    last_name: str
    age: int
    address: str

    def __str__(self) -> str:
        name = f"firstName='{self.first_name}', lastName='{self.last_name}'"
        return f"User{{{name}, age={self.age}, address='{self.address}'}}"


class UserSerializer:
    """Names of fields as Java programs would have them."""

    def serialize(self, _topic: str, user: User) -> bytes | None:
        try:
            fields = asdict(user)
            named = {"firstName": fields.pop("first_name"), "lastName": fields.pop("last_name"), **fields}
            return json.dumps(named, separators=(",", ":")).encode()
        except TypeError as error:
            logger.warning("Cannot serialize %r: %s", user, error)
            return None


def main(bootstrap_servers: str = "localhost:9092") -> None:
    with Producer(bootstrap_servers=bootstrap_servers, value_serializer=UserSerializer) as producer:
        producer.send(TOPIC, User("XI", "HU", 33, "Beijing, China")).result(10)


if __name__ == "__main__":
    main(*sys.argv[1:])
