"""Which partitions are read: `subscribe`, `subscribePattern` or `assign`, exactly one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError, Options, wrong
from moldau.pipeline.source.offsets import parse_partitions

SUBSCRIBE: Final = "subscribe"
PATTERN: Final = "subscribePattern"
ASSIGN: Final = "assign"
_CHOICES: Final = (SUBSCRIBE, PATTERN, ASSIGN)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One of `topics`, `pattern` and `partitions` is not empty; `option` and `value` are for errors."""

    option: str
    value: str
    topics: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[TopicPartition, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.option}='{self.value}'"

    @property
    def named_topics(self) -> tuple[str, ...]:
        """The topics that have to be there."""
        return self.topics or tuple(dict.fromkeys(each.topic for each in self.partitions))

    def matches(self, topic: str) -> bool:
        return re.fullmatch(self.pattern, topic) is not None


def read_subscription(options: Options) -> Subscription:
    given = [name for name in _CHOICES if name in options]
    if len(given) != 1:
        must = "Only one of the following options can be" if given else "One of the following options must be"
        raise OptionError(
            f"{must} specified for a source: {', '.join(_CHOICES)}"
            + "".join(f"; {name} is '{options.text(name, '')}'" for name in given)
        )
    (name,) = given
    value = options.text(name, "")
    if name == SUBSCRIBE:
        topics = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
        if not topics:
            raise wrong(name, value, "no topics to subscribe to")
        return Subscription(name, value, topics=topics)
    if name == PATTERN:
        if not value:
            raise wrong(name, value, "the pattern to subscribe to is empty")
        try:
            re.compile(value)
        except re.error as error:
            raise wrong(name, value, f"it is not a regular expression of Python: {error}") from error
        return Subscription(name, value, pattern=value)
    return Subscription(name, value, partitions=tuple(parse_partitions(name, value)))
