"""What a setting is: one row of a table, and the table of one scope.

A row is data, so that one place says everything about a setting. `effect` is the honest column: a setting is
obeyed (IMPLEMENTED), accepted although there is nothing here for it to act on (NO_EFFECT, `why` says so), or known
to Kafka and obeyed by nothing here yet (NOT_IMPLEMENTED). Whoever builds the part that obeys a setting changes that
one word in its row.

`synonyms` are the settings to ask next when one is null, best first: `log.retention.ms`, then
`log.retention.minutes` times 60,000, then `log.retention.hours` times 3,600,000. A topic's setting names the
broker's setting that stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from moldau.base.config.allowed import Allowed
from moldau.base.config.value_types import ConfigType, Value, parse


class Scope(Enum):
    """Whose settings they are; each scope has its own table, and one name may be in several."""

    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"


class Importance(Enum):
    """How likely a person is to need the setting; only documents are ordered by it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Effect(Enum):
    """Whether this product obeys the setting."""

    IMPLEMENTED = "implemented"
    NO_EFFECT = "no effect"
    NOT_IMPLEMENTED = "not implemented"


class Dynamic(Enum):
    """Whether a running broker takes a new value, and for whom it can be given (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Required(Enum):
    """The default of a setting that must be given."""

    REQUIRED = "(required)"


BOOLEAN: Final = ConfigType.BOOLEAN
STRING: Final = ConfigType.STRING
INT: Final = ConfigType.INT
SHORT: Final = ConfigType.SHORT
LONG: Final = ConfigType.LONG
DOUBLE: Final = ConfigType.DOUBLE
LIST: Final = ConfigType.LIST
CLASS: Final = ConfigType.CLASS
PASSWORD: Final = ConfigType.PASSWORD

HIGH: Final = Importance.HIGH
MEDIUM: Final = Importance.MEDIUM
LOW: Final = Importance.LOW

IMPLEMENTED: Final = Effect.IMPLEMENTED
NO_EFFECT: Final = Effect.NO_EFFECT
NOT_IMPLEMENTED: Final = Effect.NOT_IMPLEMENTED

PER_BROKER: Final = Dynamic.PER_BROKER
CLUSTER_WIDE: Final = Dynamic.CLUSTER_WIDE

REQUIRED: Final = Required.REQUIRED

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = 1.7976931348623157e308


@dataclass(frozen=True, slots=True)
class Synonym:
    """A setting that is asked when another is null, and what its number is multiplied by."""

    name: str
    factor: int = 1
    # Kafka itself knows `log.dirs` and `log.dir` as two settings, and DescribeConfigs shows them so.
    described: bool = True


def inherits(broker_setting: str) -> tuple[Synonym, ...]:
    """For a topic's setting: the broker's setting that stands in for it."""
    return (Synonym(broker_setting),)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: everything there is to know about a setting."""

    name: str
    type: ConfigType
    default: Value | Required
    allowed: Allowed
    importance: Importance
    effect: Effect
    doc: str
    dynamic: Dynamic = Dynamic.READ_ONLY
    synonyms: tuple[Synonym, ...] = ()
    why: str = ""
    # False for what Kafka keeps outside its table: such a setting is described only where it is set.
    listed: bool = True

    @property
    def sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    def parse(self, raw: object, name: str | None = None) -> Value:
        """The typed, allowed value, or a ConfigError that names the setting, the value and what is wrong.

        `name` is what the setting was called where that is not its own name: a listener's override.
        """
        value = parse(name or self.name, self.type, raw)
        self.allowed.check(name or self.name, value)
        return value

    def value_of_default(self) -> Value:
        """The default, where there is one; null for a setting that must be given."""
        return None if isinstance(self.default, Required) else self.default


@dataclass(frozen=True, slots=True)
class Section:
    """Rows about one concept, which the document puts under one heading."""

    title: str
    intro: str
    settings: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Setting:
        return next(row for row in self.settings if row.name == name)

    def with_rows(self, *rows: Setting) -> Section:
        """The section as a scope has it in which some rows differ."""
        changed = {row.name: row for row in rows}
        return Section(self.title, self.intro, tuple(changed.get(row.name, row) for row in self.settings))


def _group(row: Setting) -> tuple[str, ...]:
    """A setting and its synonyms, best first, as far as DescribeConfigs counts them as one."""
    return (row.name, *(synonym.name for synonym in row.synonyms if synonym.described))


_LISTENER_PREFIX: Final = "listener.name."
# These may also be given for one SASL mechanism of a listener: listener.name.<name>.<mechanism>.<setting>.
_PER_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


class Schema(Mapping[str, Setting]):
    """The table of one scope, by name."""

    def __init__(self, scope: Scope, sections: Iterable[Section], pass_through: tuple[str, ...] = ()) -> None:
        self.scope = scope
        self.sections = tuple(sections)
        rows = {row.name: row for section in self.sections for row in section.settings}
        assert len(rows) == sum(len(section.settings) for section in self.sections), "a name occurs twice"
        self._rows: Mapping[str, Setting] = MappingProxyType(rows)
        # Beginnings of names that belong to plug-ins and are handed to them unseen.
        self.pass_through = pass_through
        self.defaults: Mapping[str, Value] = MappingProxyType(
            {row.name: row.value_of_default() for row in rows.values()}
        )
        self.required = tuple(row for row in rows.values() if row.default is REQUIRED)
        self.with_synonyms = tuple(row for row in rows.values() if row.synonyms)
        self._groups = {name: group for group in map(_group, self.with_synonyms) for name in group}

    def __getitem__(self, name: str) -> Setting:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, name: str) -> Setting | None:
        """The row of a name, or of the setting that a listener's own name overrides."""
        row = self._rows.get(name)
        if row is None and self.scope is Scope.BROKER and name.startswith(_LISTENER_PREFIX):
            base = name[len(_LISTENER_PREFIX) :].partition(".")[2]
            row = self._rows.get(next(filter(base.endswith, _PER_MECHANISM), base))
        return row

    def synonyms_of(self, name: str) -> tuple[str, ...]:
        """All names of the group a setting is in, best first: what DescribeConfigs lists."""
        group = self._groups.get(name)
        if group is None:
            row = self.find(name)
            group = (name,) if row is None or row.name == name else (name, row.name)
        return group
