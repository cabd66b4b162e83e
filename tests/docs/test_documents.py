"""Every command and every program of README and of the documents runs, and prints what they say."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import picture
from moldau.base.config.properties import parse_properties
from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.cli import main
from moldau.cli.kafka.scripts import SCRIPTS
from moldau.pipeline.jobs.ready import load_pipeline
from tests.docs.document import Block, blocks_of, first_line, steps_of, unexplained
from tests.java_tools import ROOT
from tests.walkthroughs.transcript import run_steps

DOCS = ROOT / "docs"
DOCUMENTS = ("getting-started", "operations", "testing", "coming-from-kafka", "coming-from-testcontainers")
# Documents with code that is run elsewhere.
ELSEWHERE = {
    "configuration": "it is made from the tables of settings, and compared with them",
    "compatibility": "a command for people with Go",
}
# Their programs need Spark: test_spark_documents.
ON_SPARK = ("pipelines", "pipelines-source", "pipelines-sink", "coming-from-spark")
# Blocks of README that are not run here, by their first line.
README_NOT_RUN = {
    "make demo    # a broker, orders, an exactly-once Spark pipeline, kill -9 in the middle, the proof": "CI runs both",
    "python -m tests.cluster.faults --minutes 30 --seed 49 --zookeepers 3": "half an hour",
}


WRITTEN = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in (*DOCUMENTS, *ON_SPARK))]
FOLDERS = ("src/", "tests/", "bench/", "examples/", "docs/")
MODULE = re.compile(r"(?:moldau|tests|bench|examples)(?:\.[a-z_]+)+")


def ports() -> dict[str, str]:
    """Three in a row, and another."""
    for _ in range(100):
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
        with suppress(OSError):
            for each in range(port, port + 4):
                socket.create_server(("127.0.0.1", each)).close()
            return {"9092": str(port), "9093": str(port + 1), "9094": str(port + 2), "19092": str(port + 3)}
    raise AssertionError("no free ports")


def run(name: str, blocks: list[Block], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = ports()
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (folder / "logs").mkdir()
    variables = {"MOLDAU_BOOTSTRAP_SERVER": f"localhost:{used['9092']}"}
    try:
        run_steps(name, steps_of(blocks, used), folder, variables)
    finally:
        for path in (folder / "logs").glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_document_says_is_what_happens(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(name, blocks_of((DOCS / f"{name}.md").read_text()), tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_programs_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of((ROOT / "README.md").read_text())
    wanted = [block for block in blocks if first_line(block) not in README_NOT_RUN]
    run("README", wanted, tmp_path, monkeypatch)


def test_every_block_is_run_or_says_why_not() -> None:
    found = {path.stem for path in DOCS.glob("*.md") if blocks_of(path.read_text())}
    assert found <= {*DOCUMENTS, *ON_SPARK, *ELSEWHERE}
    assert [each for name in (*DOCUMENTS, *ON_SPARK) for each in unexplained(DOCS / f"{name}.md", {})] == []
    assert unexplained(ROOT / "README.md", README_NOT_RUN) == []


def test_settings_in_documents_are_settings() -> None:
    known = schema_of(Scope.BROKER)
    for name in DOCUMENTS:
        for block in blocks_of((DOCS / f"{name}.md").read_text()):
            if block.language == "properties":
                assert [each for each in parse_properties(block.text, name) if each not in known] == []


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_pipelines_in_documents_are_pipelines(path: Path, tmp_path: Path) -> None:
    """Without Spark: the files of TOML as the pipelines' own loader takes them."""
    for block in blocks_of(path.read_text()):
        if block.language == "toml":
            assert block.file is not None, block
            with (tmp_path / block.file).open("a" if block.is_added else "w") as file:
                file.write(f"{block.text}\n")
            assert load_pipeline(str(tmp_path / block.file), {}).sinks


def commands_in(path: Path) -> list[list[str]]:
    """Commands that stand in a line between backticks, in tables and in text."""
    found = []
    for part in path.read_text().split("`")[1::2]:
        words = part.removeprefix(".venv/bin/").split()
        if words and "\n" not in part and "…" not in part and words[0] in ("moldau", *SCRIPTS):
            found.append(shlex.split(part.removeprefix(".venv/bin/")))
    return found


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_commands_in_the_text_are_commands(path: Path) -> None:
    for program, *words in commands_in(path):
        if program != "moldau" or len(words) < 2:
            continue
        parsers = {" ".join(at): parser for at, parser in main.find(words[0]).parsers()}
        at = next((name for name in (" ".join(words[:2]), words[0]) if name in parsers), None)
        if at is None:
            assert any(name.startswith(words[0]) for name in parsers), words
            continue
        rest = words[len(at.split()) :]
        with suppress(SystemExit):  # a mention of an option alone lacks what it needs
            _, unknown = parsers[at].parse_known_args(rest)
            assert not [word for word in unknown if word.startswith("-")], (path.name, words)


def words_in(path: Path) -> set[str]:
    """Words that stand between backticks or in blocks of code, without what a sentence puts behind them."""
    text = path.read_text()
    parts = [*re.findall(r"`([^`\n]+)`", text), *(block.text for block in blocks_of(text))]
    return {word.strip("'\",;") for part in parts for word in part.split()}


@pytest.mark.parametrize(
    "path", [*WRITTEN, ROOT / "ARCHITECTURE.md", DOCS / "compatibility.md"], ids=lambda path: path.stem
)
def test_files_and_modules_in_the_text_exist(path: Path) -> None:
    words = words_in(path)
    files = {word for word in words if word.startswith(FOLDERS) and not set("*…{<") & set(word)}
    assert {file for file in files if not (ROOT / file).exists()} == set()
    modules = {word for word in words if MODULE.fullmatch(word)}
    assert {module for module in modules if not is_there(module)} == set()


def is_there(name: str) -> bool:
    """Whether this is a module, or a name in one."""
    module, _, attribute = name.rpartition(".")
    try:
        return find_spec(name) is not None or hasattr(import_module(module), attribute)
    except ModuleNotFoundError:
        return find_spec(module) is not None and hasattr(import_module(module), attribute)


def test_targets_of_make_in_the_text_exist() -> None:
    known = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WRITTEN:
        wanted = set(re.findall(r"[`\n](?:[A-Z_]+=\S+ )?make (\w+)", path.read_text()))
        assert wanted <= known, path.name


def test_the_readme_and_its_picture_have_the_figures_of_the_benches() -> None:
    results = picture.results_of(picture.RESULTS.read_text())
    readme = picture.README.read_text()
    assert picture.with_figures(readme, results) == readme, "run: python -m bench.picture"
    assert picture.PICTURE.read_text() == picture.draw(results), "run: python -m bench.picture"
