"""Every scenario in `replication/`: a line is what happens, the indented lines below it are the replicas after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.script.scripted_replicas import ScriptedReplicas

SCRIPTS = sorted((Path(__file__).parent / "replication").glob("*.txt"))
INDENT = "    "


def played(script: str) -> str:
    """The script with what really came of each of its lines."""
    replicas = ScriptedReplicas()
    lines: list[str] = []
    for line in script.splitlines():
        if line.startswith(INDENT):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [INDENT + shown for shown in replicas.obey(line)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    written = path.read_text()
    found = played(written)
    if os.environ.get("MOLDAU_REWRITE_SCRIPTS"):
        path.write_text(found)
    assert found == written


def test_there_are_scenarios() -> None:
    assert len(SCRIPTS) >= 6
