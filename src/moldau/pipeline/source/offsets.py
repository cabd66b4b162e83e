"""Offsets by partition, and the JSON that Spark's own connector writes for them: `{"orders": {"0": 23, "1": -1}}`.

It is the form of options and of checkpoints, so that a query can go from one connector to the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import wrong

LATEST: Final = -1
EARLIEST: Final = -2

PartitionOffsets: TypeAlias = dict[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]

_PARTITION_MAX: Final = (1 << 31) - 1
_OFFSET_MAX: Final = (1 << 63) - 1


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """In one order: Spark compares offsets by their text."""
    nested: OffsetsJson = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def from_json(nested: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """What Spark gives back of what it was given."""
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, numbers in nested.items()
        for number, offset in numbers.items()
    }


def parse_offsets(option: str, text: str, *, smallest: int = EARLIEST) -> PartitionOffsets:
    """The value of an option such as startingOffsets."""
    example = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
    parsed: PartitionOffsets = {}
    for topic, numbers in _object(option, text, example).items():
        if not isinstance(numbers, dict):
            raise wrong(option, text, f"expected e.g. {example}")
        for number, offset in numbers.items():
            if not _is_number(offset) or not smallest <= offset <= _OFFSET_MAX:
                raise wrong(option, text, f"expected e.g. {example}; {topic}-{number} has {offset!r}")
            parsed[_partition(option, text, topic, number)] = offset
    return parsed


def parse_partitions(option: str, text: str) -> list[TopicPartition]:
    """The value of `assign`."""
    example = '{"topicA":[0,1],"topicB":[2,4]}'
    parsed: list[TopicPartition] = []
    for topic, numbers in _object(option, text, example).items():
        if not isinstance(numbers, list):
            raise wrong(option, text, f"expected e.g. {example}")
        parsed += [_partition(option, text, topic, number) for number in numbers]
    if not parsed:
        raise wrong(option, text, f"no partitions to assign; expected e.g. {example}")
    return sorted(set(parsed))


def _object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(option, text, f"expected e.g. {example}") from error
    if not isinstance(found, dict):
        raise wrong(option, text, f"expected e.g. {example}")
    return found


def _partition(option: str, text: str, topic: str, number: object) -> TopicPartition:
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) <= 10:
        number = int(number)
    if not _is_number(number) or not isinstance(number, int) or not 0 <= number <= _PARTITION_MAX:
        raise wrong(option, text, f"{number!r} is not the number of a partition of {topic}")
    return TopicPartition(topic, number)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
