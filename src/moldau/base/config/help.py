"""The settings of a scope as text for a terminal: what a command prints for `--help` or a search."""

from __future__ import annotations

import textwrap
from fnmatch import fnmatchcase
from typing import Final

from moldau.base.config.schema import Scope, Setting
from moldau.base.config.scopes import schema_of
from moldau.base.config.wording import allowed_text, default_text, dynamic_text, effect_text, fallback_text

_WIDTH: Final = 100


def help_text(scope: Scope, pattern: str = "") -> str:
    """The settings whose name contains `pattern`, or matches it as a whole where it has a `*` or a `?`."""
    if not any(wildcard in pattern for wildcard in "*?"):
        pattern = f"*{pattern}*"
    schema = schema_of(scope)
    return "\n".join(_setting_text(scope, schema[name]) for name in sorted(schema) if fnmatchcase(name, pattern))


def _setting_text(scope: Scope, row: Setting) -> str:
    facts = {
        "default": default_text(row),
        "allowed": allowed_text(row),
        "dynamic": dynamic_text(row),
        "obeyed here": effect_text(row),
    }
    lines = [
        row.doc,
        fallback_text(scope, row),
        "; ".join(f"{name}: {text}" for name, text in facts.items() if text),
    ]
    body = (textwrap.wrap(line, _WIDTH, initial_indent="    ", subsequent_indent="    ") for line in lines)
    return "\n".join([f"{row.name} ({row.type.name.lower()})", *(line for wrapped in body for line in wrapped), ""])
