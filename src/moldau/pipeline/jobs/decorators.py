"""A pipeline written in Python: functions that make tables, put together by the names of their parameters.

    from moldau.pipeline.jobs import sink, source, step

    @source
    def orders(spark):
        return spark.readStream.format("moldau").option(...).load()

    @step
    def large(orders):
        return orders.where("amount > 100")

    @sink(topic="large-orders", servers="localhost:9092")
    def out(large):
        return large.selectExpr("customer AS key", "to_json(struct(*)) AS value")

A decorator leaves the function as it is, so that a test can call it with any DataFrame. Nothing here needs Spark.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from moldau.pipeline.jobs.definition import (
    KAFKA_FORMATS,
    MOLDAU,
    SERVERS,
    SESSION,
    Make,
    PipelineError,
    Sink,
    Source,
    Step,
)
from moldau.pipeline.jobs.parameters import Parameter
from moldau.pipeline.jobs.servers import servers_or_default

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Collected:
    """What the decorators of a file have found, in its order.

    `given` are values for its parameters, and `servers` the brokers of sinks that name none.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    sinks: list[Sink] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    servers: str = field(default_factory=servers_or_default)


# Files are loaded one after the other; outside of a load, decorators collect into what nobody looks at.
_collected = Collected()


def collect_into(collected: Collected) -> Collected:
    """Let decorators collect there from now on; where they did before."""
    global _collected  # a decorator knows nothing but the module it is in
    before, _collected = _collected, collected
    return before


def parameter(name: str, default: str | None = None, about: str = "") -> str:
    """The value of `--set name=…`, or the default; without one it has to be given."""
    found = Parameter(name, default, about)
    _collected.parameters.append(found)
    value = _collected.given.get(name, default)
    if value is None:
        raise PipelineError(f"the parameter {name} is needed{f' ({about})' if about else ''}: add --set {name}=VALUE")
    return value


def default_servers() -> str:
    """The brokers of `--bootstrap-server`, else those of MOLDAU_BOOTSTRAP_SERVER, else localhost:9092."""
    return _collected.servers


def source(function: Function) -> Function:
    """A function of the session that gives a DataFrame."""
    unknown = [name for name in _inputs(function) if name != SESSION]
    if unknown:
        raise PipelineError(f"source {function.__name__} takes {unknown[0]!r}: a source takes {SESSION!r} or nothing")
    _collected.sources.append(Source(function.__name__, function=function))
    return function


def step(function: Function) -> Function:
    """A function of tables, by their names, that gives a DataFrame; `spark` is the session."""
    _collected.steps.append(Step(function.__name__, function=function, inputs=_inputs(function)))
    return function


@overload
def sink(**settings: Any) -> Callable[[Function], Function]: ...
@overload
def sink(function: Function, /) -> Function: ...
def sink(function: Make | None = None, /, **settings: Any) -> Any:
    """A step whose table goes out; settings are those of `[[sink]]` in TOML, `options` being a dictionary."""

    def decorate(made: Function) -> Function:
        name = made.__name__
        _collected.steps.append(Step(name, function=made, inputs=_inputs(made)))
        _collected.sinks.append(_sink(name, dict(settings)))
        return made

    return decorate if function is None else decorate(function)


def _sink(name: str, settings: dict[str, Any]) -> Sink:
    format_name = settings.pop("format", MOLDAU)
    options: dict[str, str] = {key: _text(value) for key, value in settings.pop("options", {}).items()}
    if format_name in KAFKA_FORMATS:
        if servers := settings.pop("servers", None):
            options[SERVERS] = servers
        options.setdefault(SERVERS, _collected.servers)
        options |= {key: str(settings.pop(key)) for key in ("topic", "delivery") if key in settings}
    if path := settings.pop("path", None):
        options["path"] = str(path)
    partition_by = settings.pop("partition_by", ())
    mode = settings.pop("mode", "append")
    found = Sink(
        name,
        name,
        format_name,
        options,
        mode,
        settings.pop("trigger", None),
        (partition_by,) if isinstance(partition_by, str) else tuple(partition_by),
        each_batch=settings.pop("each_batch", Sink.needs_each_batch(format_name, mode)),
    )
    for unknown in settings:
        raise PipelineError(f"sink {name} has no {unknown!r}; options of Spark's formats go into options={{…}}")
    return found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _inputs(function: Make) -> tuple[str, ...]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    for each in parameters:
        if each.kind not in kinds:
            raise PipelineError(f"{function.__name__} has a parameter {each}, which names no table: name each one")
    return tuple(each.name for each in parameters)
