"""A pipeline written in TOML.

    [kafka]                                  # settings of Kafka for all sources and sinks
    bootstrap.servers = "localhost:9092"

    [source.orders]
    topic = "orders"
    value = { format = "json", schema = "id BIGINT, customer STRING, amount DOUBLE" }

    [[step]]
    name = "large"
    sql = "SELECT value.customer AS key, value.amount FROM orders WHERE value.amount > 100"

    [[sink]]
    table = "large"
    topic = "large-orders"
    value = { format = "json", columns = ["amount"] }

A key that nothing is known of is refused: options of Spark's formats go into `options`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from moldau.pipeline.jobs.definition import (
    KAFKA_FORMATS,
    MOLDAU,
    STATE_FORMAT,
    Encoding,
    Pipeline,
    PipelineError,
    Sink,
    Source,
    State,
    Step,
    Watermark,
    check_pipeline,
)
from moldau.pipeline.jobs.parameters import Parameter, resolve, substitute
from moldau.pipeline.jobs.servers import servers_or_default
from moldau.pipeline.jobs.tables import Table, flat

BYTES_MAX: Final = 1_000_000
BOOTSTRAP_SERVERS: Final = "bootstrap.servers"
ENCODINGS: Final = ("string", "json", "avro", "protobuf")


def read_toml(path: Path, given: Mapping[str, str], servers: str | None = None) -> Pipeline:
    """The pipeline in a file, with these values for its parameters, and these brokers where it names none."""
    return pipeline_of(path.name, toml_document(path), given, path.stem, path.parent, servers)


def toml_document(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise PipelineError(f"{path} is larger than {BYTES_MAX} bytes: it can hardly be a pipeline")
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise PipelineError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path} is not TOML: {error}") from error


def parameters_of(document: Mapping[str, object], place: str) -> list[Parameter]:
    """What can be set: `name = "default"`, or a table with `default` and `about`."""
    declared = document.get("parameters", {})
    if not isinstance(declared, dict):
        raise PipelineError(f"{place} [parameters] has to be a table")
    found = []
    for name, value in declared.items():
        if isinstance(value, dict):
            table = Table(f"{place} [parameters.{name}]", value)
            found.append(Parameter(name, table.text("default"), table.text("about") or ""))
            table.end()
        else:
            found.append(Parameter(name, flat(f"{place} [parameters]", {name: value})[name]))
    return found


def pipeline_of(
    place: str,
    document: Mapping[str, object],
    given: Mapping[str, str],
    name: str,
    folder: Path,
    servers: str | None = None,
) -> Pipeline:
    """A pipeline from a document; files that it names are in `folder`."""
    values = resolve(parameters_of(document, place), given, place)
    rest = {key: value for key, value in document.items() if key != "parameters"}
    return _Reader(place, substitute(rest, values, place), name, folder, servers_or_default(servers)).read()


class _Reader:
    def __init__(self, place: str, document: object, name: str, folder: Path, servers: str) -> None:
        self._place = place
        self._top = Table(place, document)
        self._name = name
        self._folder = folder
        self._servers = servers
        self._kafka: dict[str, str] = {}

    def read(self) -> Pipeline:
        top = self._top
        name = top.text("name") or self._name
        self._kafka = top.options("kafka")
        spark = top.options("spark")
        sources = [self._source(each, table) for each, table in top.tables_by_name("source").items()]
        steps = [self._step(table) for table in top.tables("step")]
        sinks = [self._sink(table) for table in top.tables("sink")]
        top.end()
        settings = {key if key.startswith("spark.") else f"spark.{key}": value for key, value in spark.items()}
        return check_pipeline(Pipeline(name, sources, steps, sinks, settings))

    def _source(self, name: str, table: Table) -> Source:
        format_name = table.text("format", MOLDAU) or MOLDAU
        stream = table.flag("stream", True)
        options = table.options("options")
        if path := table.text("path"):
            options["path"] = self._path(path)
        if format_name in KAFKA_FORMATS:
            options = self._kafka_of(table) | self._subscription(table, stream) | options
        watermark = table.table("watermark")
        source = Source(
            name,
            format_name,
            options,
            stream,
            table.text("schema"),
            self._encoding(table, "key"),
            self._encoding(table, "value"),
            _watermark(watermark),
        )
        table.end()
        return source

    def _subscription(self, table: Table, stream: bool) -> dict[str, str]:
        found: dict[str, str] = {}
        if topics := table.texts("topic"):
            found["subscribe"] = ",".join(topics)
        if pattern := table.text("pattern"):
            found["subscribePattern"] = pattern
        if table.flag("headers"):
            found["includeHeaders"] = "true"
        begins, ends = table.moment("from"), table.moment("until")
        if ends is not None and stream:
            raise PipelineError(f"{table.place}: until needs stream = false; a stream has no end")
        found |= _bound("starting", begins) | _bound("ending", ends)
        return found

    def _step(self, table: Table) -> Step:
        step = Step(table.needed_text("name"), table.needed_text("sql"))
        table.end()
        return step

    def _sink(self, table: Table) -> Sink:
        format_name = table.text("format", MOLDAU) or MOLDAU
        options = table.options("options")
        if path := table.text("path"):
            options["path"] = self._path(path)
        if format_name == STATE_FORMAT:
            return self._state_sink(table, options)
        if format_name in KAFKA_FORMATS:
            own = self._kafka_of(table)
            if topic := table.text("topic"):
                own["topic"] = topic
            if delivery := table.text("delivery"):
                own["delivery"] = delivery
            options = own | options
        source = table.needed_text("table")
        mode = table.text("mode") or "append"
        sink = Sink(
            table.text("name") or source,
            source,
            format_name,
            options,
            mode,
            table.text("trigger"),
            table.texts("partition_by"),
            table.text("key"),
            self._encoding(table, "value"),
            table.flag("each_batch", Sink.needs_each_batch(format_name, mode)),
        )
        table.end()
        return sink

    def _state_sink(self, table: Table, options: dict[str, str]) -> Sink:
        options = self._kafka_of(table) | options | {"topic": table.needed_text("topic")}
        source = table.needed_text("table")
        state = State(table.needed_text("key"), table.needed_text("schema"), table.needed_text("sql"))
        name = table.text("name") or source
        sink = Sink(name, source, STATE_FORMAT, options, trigger=table.text("trigger"), state=state)
        table.end()
        return sink

    def _kafka_of(self, table: Table) -> dict[str, str]:
        settings = self._kafka | table.options("kafka")
        if servers := table.text("servers"):
            settings[BOOTSTRAP_SERVERS] = servers
        settings[BOOTSTRAP_SERVERS] = settings.get(BOOTSTRAP_SERVERS) or self._servers
        return {f"kafka.{name}": value for name, value in settings.items()}

    def _encoding(self, table: Table, name: str) -> Encoding | None:
        value = table.text_or_table(name)
        if value is None:
            return None
        if isinstance(value, str):
            return Encoding(_kind(table, name, value))
        kind = _kind(table, name, value.needed_text("format"))
        schema = value.text("schema")
        if file := value.text("schema_file"):
            schema = self._path(file) if kind == "protobuf" else _text_of(value, Path(self._path(file)))
        encoding = Encoding(
            kind,
            schema,
            value.text("message"),
            value.flag("confluent"),
            value.number("confluent_id"),
            value.texts("columns"),
            value.options("options"),
        )
        value.end()
        return encoding

    def _path(self, path: str) -> str:
        """A path as it is if it is absolute or has a scheme, else one beside the file."""
        return path if ":" in path else str(self._folder / path)


def _bound(side: str, when: str | datetime | None) -> dict[str, str]:
    if when is None:
        return {}
    if isinstance(when, datetime):
        return {f"{side}Timestamp": str(int(when.timestamp() * 1000))}
    return {f"{side}Offsets": when}


def _watermark(table: Table | None) -> Watermark | None:
    if table is None:
        return None
    watermark = Watermark(table.needed_text("column"), table.needed_text("delay"))
    table.end()
    return watermark


def _kind(table: Table, name: str, kind: str) -> str:
    if kind not in ENCODINGS:
        raise PipelineError(f"{table.place}: {name} is {kind!r}, but has to be one of {', '.join(ENCODINGS)}")
    return kind


def _text_of(table: Table, path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{table.place}: schema_file {path} cannot be read: {error}") from error
