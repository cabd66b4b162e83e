"""Shell scripts that say what they print, and a way to run them.

A script is steps with an empty line between them. A step is commands, and below them what they print, standard error
included:

    bin/kafka-topics.sh --bootstrap-server $BROKER --list
    #> test

`#> ` is a line as it is, `#~ ` a regular expression for a line, `#*` any lines, `#! 1` the exit code if it is not 0;
empty lines do not count.
All steps run in one bash, so that they share variables and functions. A person can run the same file by hand.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STEP_END = "\x1e"
SCRIPT_S_MAX = 100
PRELUDE = Path(__file__).parent / "prelude.sh"


@dataclass(slots=True)
class Step:
    """Commands, what they should print, and how they should end."""

    line: int
    commands: list[str] = field(default_factory=list)
    expected: list[tuple[str, str]] = field(default_factory=list)
    exit_code: int = 0


def steps_of(text: str) -> list[Step]:
    steps: list[Step] = []
    step: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        mark, content = line[:2], line[3:]
        if not line.strip():
            step = None
        elif mark in ("#>", "#~", "#*", "#!"):
            assert step is not None, f"line {number}: nothing was run that could have printed this"
            if mark == "#!":
                step.exit_code = int(content)
            else:
                step.expected.append((mark, content))
        elif not line.startswith("#"):
            if step is None or step.expected:
                step = Step(number)
                steps.append(step)
            step.commands.append(line)
    return steps


def program_of(steps: list[Step]) -> str:
    parts = [f". {PRELUDE}"]
    for step in steps:
        commands = "\n".join(step.commands)
        parts.append(f"{{ {commands}\n}} 2>&1\nprintf '\\n{STEP_END}%d\\n' $?")
    return "\n".join(parts)


def run_script(script: Path, home: Path, variables: Mapping[str, str]) -> None:
    """Run a script in a home of Kafka's."""
    run_steps(script.name, steps_of(script.read_text()), home, variables)


def run_steps(name: str, steps: list[Step], home: Path, variables: Mapping[str, str]) -> None:
    """Run steps in a directory; fails with the first one that prints, or ends, otherwise than it says."""
    environment = {**os.environ, **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # every command is a process, and compiles what is not cached
    bash = subprocess.Popen(
        ["bash", "-c", program_of(steps)],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    watchdog = threading.Timer(SCRIPT_S_MAX, lambda: os.killpg(bash.pid, signal.SIGKILL))
    watchdog.start()
    try:
        printed = bash.communicate()[0].decode(errors="replace")
    finally:
        watchdog.cancel()
    _compare(name, steps, printed.split(STEP_END), variables)


def _compare(name: str, steps: list[Step], ended: list[str], variables: Mapping[str, str]) -> None:
    printed = ended[0]
    for step, rest in zip(steps, ended[1:], strict=False):
        code, _, following = rest.partition("\n")
        _check(name, step, [line for line in printed.splitlines() if line.strip()], int(code), variables)
        printed = following
    if len(ended) <= len(steps):
        step = steps[len(ended) - 1]
        raise AssertionError(f"{name}, line {step.line} never ended:\n{step.commands}\n--- printed:\n{printed}")


def _check(name: str, step: Step, lines: list[str], code: int, variables: Mapping[str, str]) -> None:
    expected = [(mark, _filled(text, variables)) for mark, text in step.expected]
    shown = "\n".join([*step.commands, "--- printed:", *lines, f"--- exit code {code}; expected:"])
    shown += "\n" + "\n".join(f"{mark} {text}" for mark, text in expected)
    assert code == step.exit_code, f"{name}, line {step.line}:\n{shown}"
    assert _agree(expected, lines), f"{name}, line {step.line}:\n{shown}"


def _filled(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$([A-Z_]+)", lambda found: variables.get(found[1], found[0]), text)


def _agree(expected: list[tuple[str, str]], lines: list[str]) -> bool:
    """Whether lines are those that are expected, in their order."""
    if not expected:
        return not lines
    (mark, text), rest = expected[0], expected[1:]
    if mark == "#*":
        return any(_agree(rest, lines[skipped:]) for skipped in range(len(lines) + 1))
    if not lines:
        return False
    fits = lines[0].rstrip() == text.rstrip() if mark == "#>" else re.fullmatch(text, lines[0].rstrip()) is not None
    return fits and _agree(rest, lines[1:])
