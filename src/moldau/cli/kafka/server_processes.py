"""Servers that scripts start in the background and stop by what they are.

As with Kafka's own scripts, stopping finds the processes of this user by their command lines, and asks all of them to
end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from moldau.cli.kafka.failures import ToolFailed

LIST_S_MAX = 10.0
LOGS_VARIABLE = "LOG_DIR"

Process = tuple[int, list[str]]


def start_in_background(words: Sequence[str], name: str) -> int:
    """Start `moldau` with these words, on its own; what it prints goes to `logs/NAME.out`."""
    folder = Path(os.environ.get(LOGS_VARIABLE, "logs"))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.out").open("ab") as output:
        subprocess.Popen(
            [sys.executable, "-m", "moldau", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return 0


def processes() -> list[Process]:
    """The processes of this user: their ids and the words of their command lines."""
    found = subprocess.run(
        ["ps", "-u", str(os.getuid()), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        timeout=LIST_S_MAX,
        check=True,
    )
    rows = (line.split() for line in found.stdout.splitlines())
    return [(int(row[0]), row[1:]) for row in rows if len(row) > 1]


def runs(command: str) -> Callable[[list[str]], bool]:
    """Whether words are those of `moldau COMMAND`, by its script or as a module of Python."""

    def is_it(words: list[str]) -> bool:
        at = words.index(command) if command in words else 0
        return at > 0 and (Path(words[at - 1]).name == "moldau" or words[at - 2 : at] == ["-m", "moldau"])

    return is_it


def stop_all(is_it: Callable[[list[str]], bool], what: str) -> int:
    """Ask all such processes to end."""
    signal_name = os.environ.get("SIGNAL", "TERM")
    number = getattr(signal, f"SIG{signal_name}", None)
    if number is None:
        raise ToolFailed(f"SIGNAL is {signal_name!r}, which is no signal; TERM is what stops a server cleanly")
    found = [process_id for process_id, words in processes() if is_it(words) and process_id != os.getpid()]
    if not found:
        raise ToolFailed(f"No {what} to stop")
    for process_id in found:
        os.kill(process_id, number)
    return 0
