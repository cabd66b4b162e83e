"""A question before what cannot be undone."""

from __future__ import annotations

import sys

from moldau.base.errors import ConfigError


def confirm(question: str, *, yes: bool) -> None:
    """Go on if the answer is yes; `--yes` on the command line is one, and scripts have to give it."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} Nobody is there to be asked: say --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was done")
