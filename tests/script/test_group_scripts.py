"""Scenarios of consumer groups as scripts: input, output and state; see `group_stage` for how to read one.

`MOLDAU_REWRITE_SCRIPTS=1` writes down what really happens, to be read with care before it is believed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.script.group_stage import GroupStage

SCRIPTS = sorted((Path(__file__).parent / "groups").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_group_script(path: Path) -> None:
    script = path.read_text()
    played = GroupStage().play(script)
    if os.environ.get("MOLDAU_REWRITE_SCRIPTS"):
        path.write_text(played)
    assert played == script
