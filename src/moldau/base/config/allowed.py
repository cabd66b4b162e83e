"""What values a setting may have: objects that check a value and describe themselves.

`describe` answers in Kafka's notation (`[1,...]`, `[compact, delete]`), which is what documents, help and error
texts show; `check` raises a ConfigError with the words of Kafka's own validators, since people search for them.
A value that reaches `check` already has the setting's type. They are plain classes, since making a dataclass costs half
a millisecond at every start.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from moldau.base.config.kafka_versions import KAFKA_VERSIONS, is_kafka_version
from moldau.base.config.value_types import Value, invalid
from moldau.base.errors import ConfigError


class Allowed(Protocol):
    """A validator that can say what it allows."""

    def check(self, name: str, value: Value) -> None:
        """Raises a ConfigError unless the value is allowed."""

    def describe(self) -> str:
        """What is allowed, in Kafka's notation; empty if everything is."""


class Anything:
    """Every value of the type, and null."""

    def check(self, name: str, value: Value) -> None:
        pass

    def describe(self) -> str:
        return ""


class Range:
    """A number with both limits included. NaN passes, as it does in Kafka."""

    __slots__ = ("maximum", "minimum")

    def __init__(self, minimum: float, maximum: float | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def check(self, name: str, value: Value) -> None:
        if not isinstance(value, int | float):
            raise invalid(name, "null", "Value must be non-null")
        if value < self.minimum:
            raise invalid(name, value, f"Value must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise invalid(name, value, f"Value must be no more than {self.maximum}")

    def describe(self) -> str:
        return f"[{self.minimum},...]" if self.maximum is None else f"[{self.minimum},...,{self.maximum}]"


class RangeOrMinusOne:
    """A range, or -1 for what the documentation of the setting says."""

    __slots__ = ("maximum", "minimum")

    def __init__(self, minimum: int, maximum: int | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def check(self, name: str, value: Value) -> None:
        if not isinstance(value, int):
            raise invalid(name, "null", "Value must be non-null")
        if value == -1 or (value >= self.minimum and (self.maximum is None or value <= self.maximum)):
            return
        if self.maximum is None:
            raise invalid(name, value, f"Value can be -1 or greater than {self.minimum - 1}")
        raise invalid(name, value, f"Value must be between {self.minimum} and {self.maximum} or equal to -1")

    def describe(self) -> str:
        return f"{Range(self.minimum, self.maximum).describe()} or -1"


class OneOf:
    """One of a few texts."""

    __slots__ = ("values",)

    def __init__(self, *values: str) -> None:
        self.values = values

    def check(self, name: str, value: Value) -> None:
        if value not in self.values:
            shown = "null" if value is None else value
            raise invalid(name, shown, f"String must be one of: {', '.join(self.values)}")

    def describe(self) -> str:
        return f"[{', '.join(self.values)}]"


class OneOfAnyCase(OneOf):
    """One of a few texts, in capital or small letters."""

    __slots__ = ()

    def check(self, name: str, value: Value) -> None:
        if not isinstance(value, str) or value.upper() not in self.values:
            why = f"String must be one of (case insensitive): {', '.join(self.values)}"
            raise invalid(name, "null" if value is None else value, why)

    def describe(self) -> str:
        return f"(case insensitive) {OneOf.describe(self)}"


class OffsetReset(OneOf):
    """One of a few texts, or how far back to begin (KIP-1106), whose duration the consumer reads."""

    __slots__ = ()

    def check(self, name: str, value: Value) -> None:
        if not (isinstance(value, str) and value.lower().startswith("by_duration:")):
            super().check(name, value)


class EachOneOf(OneOf):
    """A list in which every item is one of a few texts; the list may be empty."""

    __slots__ = ()

    def check(self, name: str, value: Value) -> None:
        for item in value if isinstance(value, tuple) else (None,):
            OneOf.check(self, name, item)


class NonNull:
    """Anything but null."""

    def check(self, name: str, value: Value) -> None:
        if value is None:
            raise invalid(name, "null", "entry must be non null")

    def describe(self) -> str:
        return "non-null string"


class NonEmpty:
    """Null, or a text with something in it."""

    def check(self, name: str, value: Value) -> None:
        if value == "":
            raise invalid(name, value, "String must be non-empty")

    def describe(self) -> str:
        return "non-empty string"


class KafkaVersion:
    """A release of Kafka or one of its protocol versions."""

    def check(self, name: str, value: Value) -> None:
        if not isinstance(value, str) or not is_kafka_version(value):
            raise invalid(name, value, f"Version {value} is not a valid version")

    def describe(self) -> str:
        return f"[{', '.join(KAFKA_VERSIONS)}]"


class ThrottledReplicas:
    """`*`, or pairs of a partition and a broker; KIP-73."""

    def check(self, name: str, value: Value) -> None:
        items = [str(item) for item in value] if isinstance(value, tuple) else []
        if items != ["*"] and not all(re.fullmatch("[0-9]+:[0-9]+", item) for item in items):
            why = f"{name} must be the literal '*' or a list of replicas in the following format: "
            raise invalid(name, f"[{', '.join(items)}]", why + self.describe())

    def describe(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


class Entries:
    """A list whose entries have a form, such as `{id}@{host}:{port}`."""

    __slots__ = ("form", "pattern")

    def __init__(self, form: str, pattern: str) -> None:
        self.form = form
        self.pattern = pattern

    def check(self, name: str, value: Value) -> None:
        for item in value if isinstance(value, tuple) else ():
            if not re.fullmatch(self.pattern, str(item)):
                raise ConfigError(
                    f"Invalid value {item} for configuration {name}. Each entry should be in the form `{self.form}`."
                )

    def describe(self) -> str:
        return "non-empty list"


def at_least(minimum: int) -> Range:
    return Range(minimum)


def between(minimum: float, maximum: float) -> Range:
    return Range(minimum, maximum)


ANY: Final = Anything()
NON_NULL: Final = NonNull()
NON_EMPTY: Final = NonEmpty()
KAFKA_VERSION: Final = KafkaVersion()
THROTTLED_REPLICAS: Final = ThrottledReplicas()
QUORUM_VOTERS: Final = Entries("{id}@{host}:{port}", r"\d+@[^@\s]+:\d+")
HOST_AND_PORT: Final = Entries("{host}:{port}", r"[^\s]+:\d+")
