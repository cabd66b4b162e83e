"""`moldau` as a person meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import moldau

MOLDAU = Path(sys.executable).with_name("moldau")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MOLDAU, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_the_version_is_printed() -> None:
    assert run("--version").stdout == f"moldau {moldau.__version__}\n"


def test_settings_are_explained() -> None:
    done = run("settings", "topic", "retention.ms")
    assert done.returncode == 0
    assert "retention.ms (long)" in done.stdout
    assert "default: 604800000 (7 days)" in done.stdout


def test_a_setting_that_does_not_exist_is_one_line_and_a_failure() -> None:
    done = run("settings", "broker", "nonsense")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "moldau: no broker setting matches 'nonsense'; try a shorter part of its name\n"


def test_help_has_examples() -> None:
    assert "moldau settings broker retention" in run("settings", "--help").stdout
