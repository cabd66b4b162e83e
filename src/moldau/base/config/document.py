"""Writes docs/configuration.md from the tables.

`python -m moldau.base.config.document > docs/configuration.md`
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from moldau.base.config.schema import Effect, Importance, Schema, Scope, Section, Setting
from moldau.base.config.scopes import schema_of
from moldau.base.config.wording import allowed_text, default_text, dynamic_text, effect_text, fallback_text

_TITLES: Final = {
    Scope.BROKER: "Broker",
    Scope.TOPIC: "Topic",
    Scope.PRODUCER: "Producer",
    Scope.CONSUMER: "Consumer",
    Scope.ADMIN: "Admin client",
}
_CLIENTS: Final = (Scope.PRODUCER, Scope.CONSUMER, Scope.ADMIN)
_PREFACE: Final = """\
# Configuration

Every setting of Kafka 3.9 by its own name, with Kafka's type, default and allowed values. This file is made from the
tables in `src/moldau/base/config` by `python -m moldau.base.config.document > docs/configuration.md`.

- **Obeyed** says what the setting does in this product. *Not implemented*: it is known, checked and described, but
  nothing obeys it yet, and a line in the log says so when it is set to anything but its default. *No effect*: there is
  nothing here for it to act on.
- **Dynamic** settings can be changed while a broker runs: *cluster-wide* for all brokers or for one, *per-broker* for
  one only.
- A broker takes the first of: set dynamically for this broker, set dynamically for all brokers, written in its file,
  default. A topic takes its own setting first, then the broker's that it inherits.
- `listener.name.<listener>.<setting>` sets a broker setting for one listener, and
  `listener.name.<listener>.<mechanism>.<setting>` a SASL setting for one mechanism on it.
- Files are Java properties files in ISO-8859-1. A wrong value stops the start, and all wrong ones are named at once.
- Settings are ordered by how likely one is to need them.
"""
_HEADER: Final = """\
| Setting | Type | Default | Allowed | Dynamic | Obeyed | What it does |
|---|---|---|---|---|---|---|"""


def document() -> str:
    """The whole file."""
    schemas = {scope: schema_of(scope) for scope in Scope}
    shared = [s for s in schemas[Scope.PRODUCER].sections if all(s in schemas[c].sections for c in _CLIENTS)]
    parts = [_PREFACE, _summary(schemas.values())]
    for scope, schema in schemas.items():
        parts.append(f"## {_TITLES[scope]}\n")
        own = [section for section in schema.sections if scope not in _CLIENTS or section not in shared]
        parts += [_section(scope, section) for section in own]
    parts.append("## Producer, consumer and admin client alike\n")
    parts += [_section(Scope.PRODUCER, section) for section in shared]
    return "\n".join(parts)


def _summary(schemas: Iterable[Schema]) -> str:
    lines = ["| Settings of | in all | obeyed | no effect | not implemented |", "|---|---|---|---|---|"]
    for schema in schemas:
        count = Counter(row.effect for row in schema.values())
        numbers = [len(schema), *(count[effect] for effect in Effect)]
        lines.append(f"| {_TITLES[schema.scope]} | {' | '.join(map(str, numbers))} |")
    return "\n".join([*lines, ""])


def _section(scope: Scope, section: Section) -> str:
    order = list(Importance)
    rows = sorted(section.settings, key=lambda row: order.index(row.importance))
    return "\n".join([f"### {section.title}\n\n{section.intro}\n", _HEADER, *(_row(scope, row) for row in rows), ""])


def _row(scope: Scope, row: Setting) -> str:
    return f"| {' | '.join(_cells(scope, row))} |"


def _cells(scope: Scope, row: Setting) -> Iterator[str]:
    yield f"`{row.name}`"
    yield row.type.name.lower()
    yield default_text(row)
    yield allowed_text(row).replace("*", r"\*")
    yield dynamic_text(row)
    yield effect_text(row)
    yield " ".join(filter(None, (row.doc.replace("*", r"\*"), fallback_text(scope, row))))


if __name__ == "__main__":
    sys.stdout.write(document())
