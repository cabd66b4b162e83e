"""What a pipeline is, whoever wrote it: sources, steps that make tables of tables, and sinks.

    source ──> step ──> step ──> sink
    source ──>

A table is known by its name: a source and a step make one each, SQL and functions take them by name. Names are those
of SQL views, so that they can be written without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.base.errors import MoldauError

MOLDAU: Final = "moldau"
KAFKA_FORMATS: Final = (MOLDAU, "kafka")
STATE_FORMAT: Final = "state"
OUTPUT_MODES: Final = ("append", "update", "complete")
SERVERS: Final = "kafka.bootstrap.servers"
GROUP: Final = "kafka.group.id"
SESSION: Final = "spark"  # the parameter by which a function asks for the session
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

Options = Mapping[str, str]
Make = Callable[..., Any]


class PipelineError(MoldauError):
    """A pipeline cannot be run as it is written; the text says where, what, and what would be right."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a column of bytes is written: `string`, `json`, `avro` or `protobuf`.

    `schema` is DDL for JSON, JSON for Avro, the path of a descriptor file for Protobuf. With `confluent` the bytes
    begin with the header of Confluent's registry; writing then needs the id that goes into it.
    """

    kind: str
    schema: str | None = None
    message: str | None = None
    confluent: bool = False
    confluent_id: int | None = None
    columns: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watermark:
    """Rows that are later than the latest by more than the delay do not count any more."""

    column: str
    delay: str


@dataclass(frozen=True, slots=True)
class Source:
    """A table that comes from outside: of a format by its name, or of a function that gets the session."""

    name: str
    format: str = MOLDAU
    options: Options = field(default_factory=dict)
    stream: bool = True
    schema: str | None = None
    key: Encoding | None = None
    value: Encoding | None = None
    watermark: Watermark | None = None
    function: Make | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A table made of others: by SQL, or by a function of the tables that its parameters name."""

    name: str
    sql: str | None = None
    function: Make | None = None
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A row for each key; `sql` makes the rows that change out of the views `input` and `state`."""

    key: str
    schema: str
    sql: str


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a table goes. What is not streamed is written once.

    `each_batch` writes every batch of a stream by the format's batch writer: for formats that cannot be streamed to.
    """

    @staticmethod
    def needs_each_batch(format_name: str, mode: str) -> bool:
        """What Spark cannot stream to: databases, and in modes other than append what is written in Python."""
        return format_name == "jdbc" or (format_name == MOLDAU and mode != "append")

    name: str
    table: str
    format: str = MOLDAU
    options: Options = field(default_factory=dict)
    mode: str = "append"
    trigger: str | None = None
    partition_by: tuple[str, ...] = ()
    key: str | None = None
    value: Encoding | None = None
    each_batch: bool = False
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """All of it; `spark` are settings of the session. Tables are in an order in which they can be made."""

    name: str
    sources: Sequence[Source]
    steps: Sequence[Step]
    sinks: Sequence[Sink]
    spark: Options = field(default_factory=dict)

    def group_of(self, sink: Sink) -> str:
        """The consumer group in which the query of a sink commits what it has read."""
        return self.name if len(self.sinks) == 1 else f"{self.name}-{sink.name}"

    def needed_for(self, sink: Sink) -> set[str]:
        """The tables that a sink needs; SQL may name any table before it."""
        steps = {step.name: step for step in self.steps}
        before = [source.name for source in self.sources]
        known: dict[str, set[str]] = {name: {name} for name in before}
        for name, step in steps.items():
            inputs = step.inputs if step.function is not None else tuple(before)
            known[name] = {name}.union(*(known[each] for each in inputs if each != SESSION))
            before.append(name)
        return known[sink.table]


def check_pipeline(pipeline: Pipeline) -> Pipeline:
    """The pipeline, if its parts fit together."""
    tables: set[str] = set()
    made: list[Source | Step] = [*pipeline.sources, *pipeline.steps]
    for each in made:
        kind = "source" if isinstance(each, Source) else "step"
        _check_name(kind, each.name)
        if each.name in tables:
            raise PipelineError(f"{kind} {each.name}: there is a table of this name already; choose another")
        for needed in each.inputs if isinstance(each, Step) else ():
            if needed not in tables and needed != SESSION:
                raise PipelineError(f"step {each.name} takes a table {needed!r}, which {_known(tables)}")
        tables.add(each.name)
    if not pipeline.sources:
        raise PipelineError("there is no source: a pipeline begins with at least one")
    if not pipeline.sinks:
        raise PipelineError("there is no sink: a pipeline ends with at least one")
    names: set[str] = set()
    for sink in pipeline.sinks:
        _check_sink(sink, tables, names)
        names.add(sink.name)
    return pipeline


def _check_sink(sink: Sink, tables: set[str], names: set[str]) -> None:
    _check_name("sink", sink.name)
    if sink.name in names:
        raise PipelineError(f"sink {sink.name}: there is another of this name; give each a name of its own")
    if sink.table not in tables:
        raise PipelineError(f"sink {sink.name} takes a table {sink.table!r}, which {_known(tables)}")
    if sink.mode not in OUTPUT_MODES:
        raise PipelineError(f"sink {sink.name}: mode is {sink.mode!r}, but has to be one of {', '.join(OUTPUT_MODES)}")


def _check_name(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name) or name == SESSION:
        raise PipelineError(
            f"{kind} {name!r}: a name has letters, digits and _, begins with no digit, and is not {SESSION!r}"
        )


def _known(tables: set[str]) -> str:
    listed = ", ".join(sorted(tables)) or "none"
    return f"does not exist, or comes later in the file; before it there are: {listed}"
