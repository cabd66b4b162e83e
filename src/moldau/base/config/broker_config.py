"""A broker's configuration: its file, what was changed while it runs, and what its topics inherit.

A change made while the broker runs replaces one dynamic layer and gives a new snapshot; whoever holds the old one
keeps a consistent view until it takes the new one. Everything is validated before a snapshot exists, so a change that
is wrong, alone or together with what is already set, leaves the running configuration as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from moldau.base.config.config import Config
from moldau.base.config.describe import ConfigEntry, broker_entry
from moldau.base.config.dynamic import dynamic_problems
from moldau.base.config.layer import ConfigSource, Layer, raise_problems, read_layer, resolve
from moldau.base.config.notices import log_notices
from moldau.base.config.rules.broker import BROKER_RULES, derive_broker_values
from moldau.base.config.schema import Schema, Scope
from moldau.base.config.scopes import schema_of
from moldau.base.config.topic_config import TopicConfig
from moldau.base.config.value_types import Value

_STRONGEST_FIRST: Final = (
    ConfigSource.DYNAMIC_BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER,
    ConfigSource.STATIC_BROKER,
)


class BrokerConfig(Config):
    """An immutable snapshot; make the first with `load_broker_config`, the next with `with_dynamic`."""

    def __init__(self, schema: Schema, layers: tuple[Layer, ...]) -> None:
        problems: list[str] = []
        values = resolve(schema, reversed(layers), problems)
        derive_broker_values(values)
        super().__init__(schema, values, frozenset(name for layer in layers for name in layer.entries))
        problems.extend(problem for rule in BROKER_RULES for problem in rule(self))
        raise_problems(problems)
        self.layers = layers

    def with_dynamic(self, source: ConfigSource, entries: Mapping[str, object]) -> BrokerConfig:
        """The snapshot in which one dynamic layer has these entries, and no others."""
        assert source in (ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER), source
        problems = dynamic_problems(self.schema, entries, per_broker=source is ConfigSource.DYNAMIC_BROKER)
        layer = read_layer(self.schema, source, entries, problems)
        raise_problems(problems)
        layers = {**{old.source: old for old in self.layers}, source: layer}
        changed = BrokerConfig(self.schema, tuple(layers[s] for s in _STRONGEST_FIRST if s in layers))
        log_notices(self.schema, layer)
        return changed

    def topic(self, overrides: Mapping[str, object]) -> TopicConfig:
        """The configuration of a topic on this broker."""
        return TopicConfig(self.schema, self.layers, self._topic_values, overrides)

    @cached_property
    def _topic_values(self) -> dict[str, Value]:
        """What a topic has that sets nothing: the broker's value, where a setting has one there."""
        rows = schema_of(Scope.TOPIC).values()
        return {r.name: self[r.synonyms[0].name] if r.synonyms else r.value_of_default() for r in rows}

    def for_listener(self, listener: str, mechanism: str | None = None) -> dict[str, Value]:
        """All values as one listener sees them, and on it one SASL mechanism.

        `listener.name.<listener>.<setting>` overrides the setting, and
        `listener.name.<listener>.<mechanism>.<setting>` overrides that.
        """
        values = dict(self)
        prefixes = [f"listener.name.{listener.lower()}."]
        if mechanism is not None:
            prefixes.append(f"{prefixes[0]}{mechanism.lower()}.")
        for prefix in prefixes:
            values.update({name[len(prefix) :]: self[name] for name in self if name.startswith(prefix)})
        return values

    def describe(self, names: Iterable[str] | None = None) -> list[ConfigEntry]:
        """The entries of this broker: those asked for that exist, or all."""
        listed = {name for name, row in self.schema.items() if row.listed} | self.explicit
        wanted = listed if names is None else listed.intersection(names)
        return [broker_entry(self.schema, self.layers, name) for name in sorted(wanted)]

    def describe_cluster_default(self, names: Iterable[str] | None = None) -> list[ConfigEntry]:
        """The entries of the nameless broker: what is set dynamically for all brokers, and nothing else."""
        layers = [layer for layer in self.layers if layer.source is ConfigSource.DYNAMIC_DEFAULT_BROKER]
        set_names = {name for layer in layers for name in layer.entries}
        wanted = set_names if names is None else set_names.intersection(names)
        return [broker_entry(self.schema, layers, name, defaults=False) for name in sorted(wanted)]


def load_broker_config(settings: Mapping[str, object]) -> BrokerConfig:
    """The configuration of a broker from its file and command line; says in the log what changes nothing."""
    schema = schema_of(Scope.BROKER)
    problems: list[str] = []
    layer = read_layer(schema, ConfigSource.STATIC_BROKER, _with_both_ids(settings), problems)
    raise_problems(problems)
    config = BrokerConfig(schema, (layer,))
    log_notices(schema, layer, settings)
    return config


def _with_both_ids(settings: Mapping[str, object]) -> dict[str, object]:
    """`broker.id` and `node.id` are one thing under two names: whichever is given stands for both."""
    both = dict(settings)
    for name, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
        if name in settings:
            both.setdefault(other, settings[name])
    return both
