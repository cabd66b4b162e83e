"""A topic's configuration: its own overrides above what its broker has.

Making one is cheap, since a broker may host ten thousand topics: the values that all topics inherit are computed
once for each snapshot of the broker, and an override replaces a value in a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.base.config.config import Config
from moldau.base.config.describe import ConfigEntry, ConfigSynonym, broker_synonyms
from moldau.base.config.layer import ConfigSource, Layer, raise_problems, read_layer
from moldau.base.config.rules.topic import TOPIC_RULES
from moldau.base.config.schema import Schema, Scope
from moldau.base.config.scopes import schema_of
from moldau.base.config.value_types import Value, render


class TopicConfig(Config):
    """An immutable snapshot; `BrokerConfig.topic` makes it. `layer` holds the topic's own overrides."""

    __slots__ = ("_broker_layers", "_broker_schema", "layer")

    def __init__(
        self,
        broker_schema: Schema,
        broker_layers: tuple[Layer, ...],
        inherited: Mapping[str, Value],
        overrides: Mapping[str, object],
    ) -> None:
        schema = schema_of(Scope.TOPIC)
        problems = [f"Unknown topic config name: {name}" for name in overrides if name not in schema]
        problems += [
            f"Null value not supported for topic configs: {name}" for name, given in overrides.items() if given is None
        ]
        self.layer = read_layer(schema, ConfigSource.TOPIC, overrides, problems)
        raise_problems(problems)
        super().__init__(schema, {**inherited, **self.layer.values}, self.layer.entries.keys())
        raise_problems([problem for rule in TOPIC_RULES for problem in rule(self)])
        self._broker_schema = broker_schema
        self._broker_layers = broker_layers

    def describe(self, names: Iterable[str] | None = None) -> list[ConfigEntry]:
        """The entries of the topic: those asked for that exist, or all."""
        wanted = self.schema.keys() if names is None else self.schema.keys() & set(names)
        return [self._entry(name) for name in sorted(wanted)]

    def _entry(self, name: str) -> ConfigEntry:
        row = self.schema[name]
        value = render(self[name])
        synonyms = [ConfigSynonym(name, value, ConfigSource.TOPIC)] if name in self.explicit else []
        if row.synonyms:
            synonyms += broker_synonyms(self._broker_schema, self._broker_layers, row.synonyms[0].name)
        return ConfigEntry(
            name=name,
            value=value,
            source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
            read_only=False,
            sensitive=row.sensitive,
            type=row.type,
            documentation=row.doc,
            synonyms=tuple(synonyms),
        )
