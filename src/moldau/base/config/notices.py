"""What the log says about settings that were accepted and change nothing.

Nothing is ignored silently: an unknown name (most often a slip of the pen, so the nearest known one is offered), a
setting that nothing here obeys yet, and one that has nothing to act on here. A setting that is given its
default is not worth a line.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from moldau.base.config.layer import Layer
from moldau.base.config.schema import IMPLEMENTED, NO_EFFECT, Schema
from moldau.base.config.value_types import Password, render

_log = logging.getLogger(__name__)


def notices(schema: Schema, layer: Layer, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Level and text of each line that some names of a layer deserve."""
    for name in sorted(layer.entries.keys() & set(names)):
        row = schema.find(name)
        if row is None:
            if not name.startswith(schema.pass_through):
                yield logging.WARNING, f"Unknown configuration {name} is ignored{suggestion(schema, name)}"
        elif row.effect is IMPLEMENTED or layer.values[name] == row.value_of_default():
            continue
        elif row.effect is NO_EFFECT:
            yield logging.INFO, f"Configuration {name} has no effect here: {row.why}."
        else:
            value = layer.values[name]
            shown = value if isinstance(value, Password) else render(value)
            yield logging.WARNING, f"Configuration {name}={shown} is not implemented here and changes nothing."


def log_notices(schema: Schema, layer: Layer, names: Iterable[str] | None = None) -> None:
    """Writes the lines for a whole layer, or for those of its names that a person gave."""
    for level, text in notices(schema, layer, layer.entries if names is None else names):
        _log.log(level, "%s", text)


def suggestion(schema: Schema, name: str) -> str:
    """How a sentence about an unknown name ends: with the nearest known one, if any is near."""
    from difflib import get_close_matches  # needed for a slip of the pen only, and not free to import

    near = get_close_matches(name[:200], list(schema), n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else "."
