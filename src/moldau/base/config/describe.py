"""The entries of DescribeConfigs: each setting's value, where it comes from, and what else could supply it.

A broker's entry shows the setting's own value: `log.retention.ms` is null where only `log.retention.hours` is set,
although retention then follows from the hours. Its synonyms are listed strongest source first and, within a source,
best name first, beginning with the first that has the entry's own name; the first one gives the entry its source.
A name that no table knows may hide a secret, so its value is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from moldau.base.config.layer import ConfigSource, Layer
from moldau.base.config.schema import Dynamic, Schema
from moldau.base.config.value_types import ConfigType, Value, render


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A name that supplies, or could supply, the value of an entry."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting as DescribeConfigs answers it."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    documentation: str | None
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def is_default(self) -> bool:
        """What version 0 of the answer carries in place of a source."""
        return self.source is ConfigSource.DEFAULT


def broker_entry(schema: Schema, layers: Sequence[Layer], name: str, *, defaults: bool = True) -> ConfigEntry:
    """The entry of one broker setting; `layers` come strongest first, and the defaults after them if wanted."""
    row = schema.find(name)
    synonyms = broker_synonyms(schema, layers, name)
    if not defaults:
        synonyms = tuple(synonym for synonym in synonyms if synonym.source is not ConfigSource.DEFAULT)
    return ConfigEntry(
        name=name,
        value=None if row is None else render(_own_value(schema, layers, name)),
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        # Kafka takes what is outside its table, and a listener's own setting, for read-only.
        read_only=name not in schema or not schema[name].listed or schema[name].dynamic is Dynamic.READ_ONLY,
        sensitive=row is None or row.sensitive,
        type=ConfigType.UNKNOWN if row is None else row.type,
        documentation=None if row is None else row.doc,
        synonyms=synonyms,
    )


def broker_synonyms(schema: Schema, layers: Sequence[Layer], name: str) -> tuple[ConfigSynonym, ...]:
    found = _all_synonyms(schema, layers, schema.synonyms_of(name))
    return tuple(dropwhile(lambda synonym: synonym.name != name, found))


def _all_synonyms(schema: Schema, layers: Sequence[Layer], names: Sequence[str]) -> Iterator[ConfigSynonym]:
    for layer in layers:
        for name in names:
            if name in layer.entries:
                row = schema.find(name)
                hidden = row is None or row.sensitive
                yield ConfigSynonym(name, None if hidden else layer.text_of(name), layer.source)
    for name in names:
        default = schema.defaults.get(name)
        if default is not None and schema[name].listed:
            yield ConfigSynonym(name, render(default), ConfigSource.DEFAULT)


def _own_value(schema: Schema, layers: Sequence[Layer], name: str) -> Value:
    return next((layer.values[name] for layer in layers if name in layer.values), schema.defaults.get(name))
