"""Values from one source, and how several sources become one set of values.

Kafka's order, strongest first: set for the topic, set dynamically for this broker, set dynamically for all
brokers, written in the broker's file, default. A layer keeps what was given beside what it was parsed to, because
DescribeConfigs shows the given text of every synonym.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from moldau.base.config.schema import Schema
from moldau.base.config.value_types import Value, render
from moldau.base.errors import ConfigError


class ConfigSource(IntEnum):
    """Numbered as in DescribeConfigs (KIP-226)."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source says. `values` has the names that the schema knows; `entries` has all."""

    source: ConfigSource
    entries: Mapping[str, object]
    values: Mapping[str, Value]

    def text_of(self, name: str) -> str | None:
        """What was given for a name, as text."""
        given = self.entries[name]
        return given if isinstance(given, str) else render(self.values.get(name))


def read_layer(schema: Schema, source: ConfigSource, entries: Mapping[str, object], problems: list[str]) -> Layer:
    """Parses every entry that the schema knows; what is wrong with one is added to `problems`.

    None stands for not given, as in a call that passes on an optional argument.
    """
    given = {name: raw for name, raw in entries.items() if raw is not None}
    values: dict[str, Value] = {}
    for name, raw in given.items():
        row = schema.find(name)
        if row is not None:
            try:
                values[name] = row.parse(raw, name)
            except ConfigError as error:
                problems.append(str(error))
    return Layer(source, given, values)


def resolve(schema: Schema, layers: Iterable[Layer], problems: list[str]) -> dict[str, Value]:
    """One value for each name: the strongest layer's, else the default, else the first synonym's.

    `layers` come weakest first. A setting without default that nobody gave is a problem.
    """
    values = dict(schema.defaults)
    for layer in layers:
        values.update(layer.values)
    problems += [
        f'Missing required configuration "{row.name}" which has no default value.'
        for row in schema.required
        if values[row.name] is None
    ]
    for row in schema.with_synonyms:
        if values[row.name] is None:
            values[row.name] = next(
                (
                    other * synonym.factor if isinstance(other, int) else other
                    for synonym in row.synonyms
                    if (other := values[synonym.name]) is not None
                ),
                None,
            )
    return values


def raise_problems(problems: list[str]) -> None:
    """One ConfigError for everything that is wrong, so that a file is mended in one round."""
    if len(problems) == 1:
        raise ConfigError(problems[0])
    if problems:
        raise ConfigError(f"{len(problems)} settings are wrong:\n  " + "\n  ".join(problems))
