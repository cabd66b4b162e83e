"""Which tests get a second try, and which come first.

Many wait for real processes, JVMs and other people's clients on a machine that is shared, and a wait that is too short
says nothing about us. They are tried once more, and counted as rerun. What must never happen is tried once only:
whoever asserts that nothing is lost, doubled or torn gets no second try.

Files of slow tests come first, so that the processes that share the run end together.

A run in the background ignores SIGINT, and so would the commands that tests start and interrupt.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

TRIED_AGAIN = frozenset({"clients", "cluster", "compat", "examples", "spark", "spec", "tools", "walkthroughs"})
TRIED_ONCE = ("loss", "lost", "fault", "kill", "exactly_once", "transaction")

_TESTS = Path(__file__).parent


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow_files = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow_files)
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0]
        if folder in TRIED_AGAIN and not any(word in item.nodeid for word in TRIED_ONCE):
            item.add_marker(pytest.mark.flaky(reruns=1), append=True)
