"""`moldau settings`: what a setting means, what it may be, and whether Moldau obeys it."""

from __future__ import annotations

from typing import Annotated

import typer

from moldau.base.config.help import help_text
from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError

EXAMPLES = """Examples:

`moldau settings broker retention` — every broker setting about retention

`moldau settings topic '*.ms'` — every topic setting that is a time

`moldau settings producer` — all of a producer's settings"""


def settings(
    scope: Annotated[Scope, typer.Argument(help="Whose settings.")],
    pattern: Annotated[str, typer.Argument(help="A part of the name, or a pattern with * and ?.")] = "",
) -> None:
    """Explain settings: type, default, allowed values, and what Moldau does with them."""
    text = help_text(scope, pattern)
    if not text:
        raise ConfigError(f"no {scope.value} setting matches {pattern!r}; try a shorter part of its name")
    typer.echo(text)
