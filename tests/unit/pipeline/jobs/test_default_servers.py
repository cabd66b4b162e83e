"""The brokers of a pipeline that names none: what is written or set, then the option, then the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.cli import cluster_arguments
from moldau.cli.pipeline import COMMAND
from moldau.pipeline.jobs import launch
from moldau.pipeline.jobs import servers as rule
from moldau.pipeline.jobs.definition import SERVERS, Pipeline
from moldau.pipeline.jobs.ready import NAMES, load_pipeline, ready

TOML = """
[source.orders]
topic = "orders"

[source.old]
topic = "old"
servers = "written:1"

[[sink]]
table = "orders"
topic = "copy"
"""
PYTHON = """
from moldau.pipeline.jobs import default_servers, parameter, sink, source

servers = parameter("servers", default_servers())

@source
def orders(spark):
    return spark

@sink(topic=servers)
def out(orders):
    return orders

@sink(topic="copy", servers="written:1")
def other(orders):
    return orders
"""
TIMES = {"from": "2026-01-31T12:00:00Z", "until": "2026-01-31T13:00:00Z"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rule.VARIABLE, raising=False)


def named_in(pipeline: Pipeline) -> set[str]:
    options = [*(each.options for each in pipeline.sources), *(each.options for each in pipeline.sinks)]
    return {each[SERVERS] for each in options if SERVERS in each}


def given_to(name: str) -> dict[str, str]:
    return {each.name: TIMES.get(each.name, "x") for each in ready(name).parameters if each.default is None}


def test_the_rule_is_that_of_the_other_commands() -> None:
    assert rule.VARIABLE == cluster_arguments.VARIABLE
    assert rule.DEFAULT_SERVER == cluster_arguments.DEFAULT_SERVER


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_pipeline_takes_what_is_set_then_the_option_then_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = given_to(name)
    assert named_in(load_pipeline(name, given)) == {"localhost:9092"}
    monkeypatch.setenv(rule.VARIABLE, "environment:1")
    assert named_in(load_pipeline(name, given)) == {"environment:1"}
    assert named_in(load_pipeline(name, given, "option:1")) == {"option:1"}
    assert named_in(load_pipeline(name, given | {"servers": "set:1"}, "option:1")) == {"set:1"}


def test_a_file_of_toml_keeps_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "orders.toml"
    path.write_text(TOML)
    assert named_in(load_pipeline(str(path), {})) == {"localhost:9092", "written:1"}
    monkeypatch.setenv(rule.VARIABLE, "environment:1")
    assert named_in(load_pipeline(str(path), {})) == {"environment:1", "written:1"}
    path.write_text(f'[kafka]\nbootstrap.servers = "all:1"\n{TOML}')
    assert named_in(load_pipeline(str(path), {}, "option:1")) == {"all:1", "written:1"}


def test_a_file_of_python_keeps_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "orders.py"
    path.write_text(PYTHON)
    monkeypatch.setenv(rule.VARIABLE, "environment:1")
    out, other = load_pipeline(str(path), {}).sinks
    assert (out.options[SERVERS], out.options["topic"]) == ("environment:1", "environment:1")
    assert other.options[SERVERS] == "written:1"
    out, _ = load_pipeline(str(path), {"servers": "set:1"}, "option:1").sinks
    assert (out.options[SERVERS], out.options["topic"]) == ("option:1", "set:1")


@pytest.mark.parametrize("action", ["run", "check"])
@pytest.mark.parametrize(
    ("words", "environment", "taken"),
    [
        ((), None, "localhost:9092"),
        ((), "environment:1", "environment:1"),
        (("--bootstrap-server", "option:1"), "environment:1", "option:1"),
    ],
)
def test_the_command_takes_it(
    monkeypatch: pytest.MonkeyPatch, action: str, words: tuple[str, ...], environment: str | None, taken: str
) -> None:
    seen: list[set[str]] = []

    class Loaded(Exception):
        """It is enough to know what was loaded."""

    def look(pipeline: Pipeline) -> None:
        seen.append(named_in(pipeline))
        raise Loaded

    monkeypatch.setattr(launch, "check_topics", look)
    if environment is not None:
        monkeypatch.setenv(rule.VARIABLE, environment)
    sets = [f"--set={name}={value}" for name, value in given_to("topic-to-topic").items()]
    with pytest.raises(Loaded):
        COMMAND.main([action, "topic-to-topic", *sets, *words])
    assert seen == [{taken}]
