"""What all commands of `moldau` have in common: help, a quick start, completion, manners on a terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from moldau.base.config.broker_config import load_broker_config
from moldau.base.config.properties import parse_properties
from moldau.base.config.schema import Scope
from moldau.cli import completion_scripts, main
from moldau.clients.settings import client_settings
from moldau.templates import NAMES, template

PARSERS = [(path, parser) for name in main.COMMANDS for path, parser in main.find(name).parsers()]
HEAVY = ("asyncio", "uvloop", "moldau.clients", "moldau.broker", "kazoo", "rich", "ssl", "logging", "json", "pyspark")


@pytest.mark.parametrize(("path", "parser"), PARSERS, ids=[" ".join(path) for path, _ in PARSERS])
def test_help_ends_in_examples(path: tuple[str, ...], parser: ArgumentParser) -> None:
    text = parser.format_help()
    assert text.startswith(f"usage: moldau {' '.join(path)} ")
    assert "\nexamples:\n  " in text
    assert "--debug" in text


@pytest.mark.parametrize("name", ["topics", "groups"])
def test_groups_of_commands_list_their_actions(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([name]) == 2
    assert main.run([name, "--help"]) == 0
    assert f"moldau {name} describe" in capsys.readouterr().out


def test_help_of_no_command_loads_anything_heavy() -> None:
    program = (
        "import sys; from moldau.cli import main\n"
        "for name in main.COMMANDS:\n"
        "    for path, parser in main.find(name).parsers(): parser.format_help()\n"
        f"print([each for each in {HEAVY} if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_a_command_that_is_interrupted_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "find", interrupted)
    assert main.run(["serve"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_mistake_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(main, "find", lambda _name: 1 / 0)
    assert main.run(["serve"]) == 1
    assert capsys.readouterr().err == "moldau: ZeroDivisionError: division by zero (--debug shows where)\n"


# -- completion


def completed(line: str, script: str) -> set[str]:
    """What bash would offer for the last word of a line."""
    words = line.split(" ")
    program = (
        f"{script}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n"
        "_moldau; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=20, check=True)
    return set(done.stdout.split())


def test_bash_completes_commands_actions_and_options() -> None:
    script = completion_scripts.bash(completion_scripts.words_of_all())
    assert {"topics", "top"} <= completed("moldau to", script)
    assert {"list", "create", "move"} <= completed("moldau topics ''", script)
    assert completed("moldau topics create orders --part", script) == {"--partitions"}
    assert completed("moldau completion f", script) == {"fish"}
    assert "--lag-max" in completed("moldau doctor --", script)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_scripts(shell: str, tmp_path: Path) -> None:
    text = completion_scripts.SCRIPTS[shell](completion_scripts.words_of_all())
    assert "partitions" in text
    if shutil.which(shell) is not None:
        path = tmp_path / "completion"
        path.write_text(text)
        subprocess.run([shell, "-n", path], timeout=20, check=True)


# -- templates


def test_a_broker_takes_its_template() -> None:
    config = load_broker_config(parse_properties(template("server.properties"), "server.properties"))
    assert config["num.partitions"] == 1


@pytest.mark.parametrize(
    ("name", "scope"), [("producer.properties", Scope.PRODUCER), ("consumer.properties", Scope.CONSUMER)]
)
def test_clients_take_their_templates(name: str, scope: Scope) -> None:
    settings: dict[str, object] = dict(parse_properties(template(name), name))
    assert client_settings(scope, settings, {}).config["bootstrap.servers"] == ("localhost:9092",)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_a_template_is_explained(name: str) -> None:
    explained = False
    for line in template(name).splitlines():
        if not line.strip():
            explained = False
        elif line.startswith("# "):
            explained = True
        else:
            assert explained, line


def test_a_template_is_written_and_never_over_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.properties"
    assert main.run(["config", "server.properties", "--output", str(path)]) == 0
    assert path.read_text() == template("server.properties")
    assert main.run(["config", "server.properties", "--output", str(path)]) == 1
    assert capsys.readouterr().err == f"moldau: {path} is there already: name another file\n"


def test_a_kafka_home_has_scripts_and_files(tmp_path: Path) -> None:
    assert main.run(["kafka-home", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "config").iterdir()} == set(NAMES)
    assert "\nzookeeper.connect=localhost:2181\n" in (tmp_path / "config" / "server.properties").read_text()
    (tmp_path / "config" / "server.properties").write_text("broker.id=7\n")
    assert main.run(["kafka-home", str(tmp_path)]) == 0
    assert (tmp_path / "config" / "server.properties").read_text() == "broker.id=7\n"
    assert os.access(tmp_path / "bin" / "kafka-topics.sh", os.X_OK)


# -- terminals


def on_a_terminal(program: str) -> str:
    """What a Python program writes to a terminal."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    written = b""
    try:
        while chunk := os.read(leader, 65536):
            written += chunk
    except OSError:  # how a terminal ends
        pass
    finally:
        os.close(leader)
    assert process.wait(30) == 0
    return written.decode()


TABLE = """
from moldau.cli.terminal.tables import Column, alarming, count, print_rows
print_rows([{"name": "a\\x1b[2Jb", "lag": 1234}], (Column("name", "NAME"), Column("lag", "LAG", count, alarming())))
"""


def test_a_table_has_colour_on_a_terminal_and_none_in_a_pipe() -> None:
    assert "\x1b[1;31m1,234" in on_a_terminal(TABLE)
    done = subprocess.run([sys.executable, "-c", TABLE], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "NAME         LAG\na\\x1b[2Jb  1,234\n"


def test_names_cannot_steer_a_terminal() -> None:
    assert "\x1b[2J" not in on_a_terminal(TABLE)


def test_progress_is_for_terminals_only() -> None:
    program = (
        "from moldau.cli.terminal.progress import progress\nwith progress('writing', 2) as advance:\n    advance(1)\n"
    )
    assert "writing" in on_a_terminal(program)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("", "")
