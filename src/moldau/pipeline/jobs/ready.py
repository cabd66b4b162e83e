"""Pipelines that come along, by name: files in `templates`, run as they are or written out to be changed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from moldau.pipeline.jobs.definition import Pipeline, PipelineError
from moldau.pipeline.jobs.parameters import Parameter
from moldau.pipeline.jobs.python_file import read_python
from moldau.pipeline.jobs.toml_file import parameters_of, pipeline_of, read_toml

NAMES: Final = ("topic-to-table", "topic-to-jdbc", "table-to-topic", "topic-to-topic", "replay", "keyed-state")


@dataclass(frozen=True, slots=True)
class Ready:
    """`about` is the first comment of its file."""

    name: str
    text: str

    @property
    def about(self) -> str:
        return self.text.splitlines()[0].removeprefix("# ")

    @property
    def parameters(self) -> list[Parameter]:
        return parameters_of(tomllib.loads(self.text), self.name)


def ready_pipelines() -> list[Ready]:
    return [ready(name) for name in NAMES]


def ready(name: str) -> Ready:
    if name not in NAMES:
        raise PipelineError(f"there is no ready pipeline {name!r}; there are: {', '.join(NAMES)}")
    return Ready(name, (files("moldau.pipeline.jobs") / "templates" / f"{name}.toml").read_text())


def load_pipeline(name: str, given: Mapping[str, str], servers: str | None = None) -> Pipeline:
    """A pipeline from a file, .toml or .py, or a ready one by its name, with these brokers where it names none."""
    path = Path(name)
    if path.suffix == ".toml":
        return read_toml(path, given, servers)
    if path.suffix == ".py":
        return read_python(path, given, servers)
    if name in NAMES:
        found = ready(name)
        return pipeline_of(name, tomllib.loads(found.text), given, name, Path(), servers)
    raise PipelineError(f"{name} is neither a file .toml or .py nor a ready pipeline; there are: {', '.join(NAMES)}")
