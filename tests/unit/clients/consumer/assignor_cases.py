"""Cases for assignors, drawn from a seed, and their results by Kafka's own classes.

`python -m tests.unit.clients.consumer.assignor_cases` writes `assignor_results.json` anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from moldau.clients.consumer.assignors import ASSIGNORS, GroupMember
from moldau.clients.consumer.assignors.sticky import StickyAssignor
from moldau.clients.records import TopicPartition
from tests.java_tools import fetch_jars, run_java

HERE = Path(__file__).parent
RESULTS = HERE / "assignor_results.json"
KAFKA = "3.9.1"
CASES_PER_ASSIGNOR = 150
SEED = 20


class Case(NamedTuple):
    """What an assignor is given."""

    assignor: str
    partitions: dict[str, list[frozenset[str]]]
    members: dict[str, GroupMember]


def cases() -> Iterator[Case]:
    random = Random(SEED)
    for name in ASSIGNORS:
        for number in range(CASES_PER_ASSIGNOR):
            yield _case(random, name, same_topics=number % 2 == 0, racks=number % 5 == 4, disputes=number % 7 == 6)


def _case(random: Random, assignor: str, *, same_topics: bool, racks: bool, disputes: bool) -> Case:
    rack_names = ["r1", "r2", "r3"]
    partitions = {
        f"t{number}": [
            frozenset(random.sample(rack_names, random.randint(1, 2))) if racks else frozenset[str]()
            for _ in range(random.randint(1, 8))
        ]
        for number in range(random.randint(1, 5))
    }
    everything = [TopicPartition(topic, number) for topic, its in partitions.items() for number in range(len(its))]
    everything += [TopicPartition("gone", number) for number in range(random.randint(0, 2))]
    random.shuffle(everything)
    member_count = random.randint(1, 7)
    shares: list[list[TopicPartition]] = [[] for _ in range(member_count)]
    for partition in everything:
        if random.random() < 0.7:
            random.choice(shares[: max(1, member_count - random.randint(0, 2))]).append(partition)
        if disputes and random.random() < 0.2:
            other = random.choice(shares)
            if partition not in other:
                other.append(partition)
    members = {}
    generation = random.randint(1, 5)
    for share in shares:
        topics = (
            sorted(partitions) if same_topics else random.sample(sorted(partitions), random.randint(1, len(partitions)))
        )
        its_generation = generation if random.random() < 0.8 else random.randint(-1, generation)
        members[f"consumer-{random.getrandbits(64):016x}"] = GroupMember(
            topics=topics,
            user_data=_user_data(assignor, share, its_generation),
            owned_partitions=share if assignor == "cooperative-sticky" else (),
            generation_id=its_generation,
            rack_id=random.choice(rack_names) if racks else None,
            group_instance_id=f"i{random.getrandbits(16):04x}" if random.random() < 0.1 else None,
        )
    subscribed = {topic for member in members.values() for topic in member.topics}
    return Case(assignor, {topic: its for topic, its in partitions.items() if topic in subscribed}, members)


def _user_data(assignor: str, share: list[TopicPartition], generation: int) -> bytes | None:
    if assignor != "sticky" or not share:
        return None
    sticky = StickyAssignor()
    sticky.on_assignment(share, generation)
    return sticky.user_data()


def results_of_kafka() -> list[dict[str, list[str]]]:
    """Ask Kafka's own classes; what comes back is in the order of the cases."""
    lines = []
    for case in cases():
        lines.append(f"case {case.assignor}")
        for topic, its in case.partitions.items():
            lines.append(f"topic {topic} {';'.join(','.join(sorted(racks)) or '-' for racks in its)}")
        lines += [_member_line(member_id, member) for member_id, member in case.members.items()]
        lines.append("end")
    output = run_java(
        HERE / "AssignorOracle.java",
        fetch_jars(f"org.apache.kafka:kafka-clients:{KAFKA}", transitive=True),
        stdin="\n".join(lines) + "\n",
    )
    results: list[dict[str, list[str]]] = [{}]
    for line in output.splitlines():
        if line == "end":
            results.append({})
        else:
            member_id, *assigned = line.split()
            results[-1][member_id] = sorted(assigned)
    return results[:-1]


def _member_line(member_id: str, member: GroupMember) -> str:
    owned = ",".join(f"{topic}:{number}" for topic, number in member.owned_partitions)
    words = [
        member.group_instance_id,
        member.rack_id,
        str(member.generation_id),
        ",".join(member.topics),
        member.user_data.hex() if member.user_data else None,
        owned,
    ]
    return " ".join(["member", member_id, *(word or "-" for word in words)])


def stored_results() -> list[dict[str, list[str]]]:
    results: list[dict[str, list[str]]] = json.loads(RESULTS.read_text())
    return results


if __name__ == "__main__":
    RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, results_of_kafka())) + "\n]\n")
