"""Several clients at once, each in a thread: they wait in C, where the interpreter is free for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

C = TypeVar("C")
R = TypeVar("R")


def together(work: Callable[[C], R], clients: Sequence[C]) -> list[R]:
    """What each did, in their order."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(work, clients))
