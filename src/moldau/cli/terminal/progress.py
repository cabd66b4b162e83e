"""A bar on standard error while long work is done; nothing where that is no terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Advance = Callable[[float], None]


@contextlib.contextmanager
def progress(what: str, total: float | None, *, enabled: bool = True) -> Iterator[Advance]:
    """What is called with each step; `total` is None where nobody knows how much there is."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)
