"""The protocol versions that Kafka 3.9 knows by name (`3.9-IV0`), and which texts mean one of them.

A release brought one or more versions: `2.1` had IV0, IV1 and IV2. A setting may name a version, or a release
and so its newest version, with a patch number that is ignored (`3.5.1`). Before 1.0 a release had three numbers.
"""

from __future__ import annotations

from typing import Final

_SINGLE_VERSION_RELEASES: Final = ("0.8.0", "0.8.1", "0.8.2", "0.9.0")
_VERSIONS_OF_RELEASE: Final = {
    "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3, "1.0": 1, "1.1": 1, "2.0": 2, "2.1": 3, "2.2": 2,
    "2.3": 2, "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2, "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4,
    "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1, "4.0": 2,
}  # fmt: skip
_UNRELEASED: Final = "4.0"

KAFKA_VERSIONS: Final = (
    *_SINGLE_VERSION_RELEASES,
    *(f"{release}-IV{i}" for release, count in _VERSIONS_OF_RELEASE.items() for i in range(count)),
)


def is_kafka_version(text: str) -> bool:
    """Whether `text` names a version, or a finished release."""
    numbers = text.split(".")
    name = ".".join(numbers[: 3 if numbers[0] == "0" else 2])
    return name in KAFKA_VERSIONS or (name in _VERSIONS_OF_RELEASE and name != _UNRELEASED)
