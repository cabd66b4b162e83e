"""Which names a topic may have, and which names are too much alike.

A topic's name is a part of directory names and of metrics. In metrics a dot becomes an underscore, so that two names
that differ in nothing else would be one there: the second is refused when it is created, and never later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError

NAME_LENGTH_MAX: Final = 249  # with a partition's number and a suffix it must fit a file name of 255 bytes
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def problem_of_topic_name(topic: str) -> str | None:
    """What is wrong with a name, in Kafka's words; None if it is legal."""
    if not topic:
        return "Topic name is invalid: the empty string is not allowed"
    if topic in (".", ".."):
        return f"Topic name is invalid: '{topic}' is not allowed"
    if len(topic) > NAME_LENGTH_MAX:
        return f"Topic name is invalid: the length of '{topic}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.fullmatch(topic):
        return (
            f"Topic name is invalid: '{topic}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return None


def check_topic_name(topic: str) -> None:
    problem = problem_of_topic_name(topic)
    if problem is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)


class NameCollisions:
    """The topics there are, in the order of a lookup for names that would share their metrics."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._alike: dict[str, list[str]] = {}
        for topic in existing:
            self.add(topic)

    def add(self, topic: str) -> None:
        self._alike.setdefault(topic.replace(".", "_"), []).append(topic)

    def check(self, topic: str) -> None:
        """Refuse a new topic that is too much like an existing one."""
        alike = self._alike.get(topic.replace(".", "_"))
        if alike:
            raise ApiError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{topic}' collides with existing topics: {', '.join(sorted(alike))}",
            )
