"""Whether the topics of a pipeline are there, asked before anything starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.base.errors import MoldauError
from moldau.clients.admin.plain import Admin
from moldau.pipeline.jobs.definition import KAFKA_FORMATS, SERVERS, Options, Pipeline, PipelineError

ASK_S_MAX: Final = 15.0
_PREFIX: Final = "kafka."


def admin_settings(options: Mapping[str, str]) -> dict[str, object]:
    """What an admin client knows of a source's or sink's settings of Kafka."""
    known = schema_of(Scope.ADMIN)
    names = {name: name.removeprefix(_PREFIX) for name in options if name.lower().startswith(_PREFIX)}
    return {short: options[name] for name, short in names.items() if known.find(short) is not None}


def partition_counts(options: Options, topics: Sequence[str]) -> dict[str, int]:
    """How many partitions topics have."""
    with Admin(admin_settings(options)) as admin:
        described = admin.describe_topics(topics, timeout_s=ASK_S_MAX)
        return {name: len(each.partitions) for name, each in described.items()}


def check_topics(pipeline: Pipeline) -> None:
    """Refuse a pipeline whose sources or sinks name topics that do not exist."""
    places = [(f"source {each.name}", each.format, each.options) for each in pipeline.sources if each.function is None]
    places += [(f"sink {each.name}", each.format, each.options) for each in pipeline.sinks]
    known: dict[str, set[str]] = {}
    for place, format_name, options in places:
        if format_name in KAFKA_FORMATS:
            servers = options.get(SERVERS, "")
            if servers not in known:
                known[servers] = _topics_at(place, options)
            _check(place, options, servers, known[servers])


def _topics_at(place: str, options: Options) -> set[str]:
    servers = options.get(SERVERS)
    if not servers:
        raise PipelineError(f"{place} lacks {SERVERS}: write servers = HOST:PORT")
    try:
        with Admin(admin_settings(options)) as admin:
            return set(admin.list_topics(list_internal=True, timeout_s=ASK_S_MAX))
    except MoldauError as error:
        raise PipelineError(f"{place}: the cluster at {servers} cannot be asked for its topics: {error}") from error


def _check(place: str, options: Options, servers: str, known: set[str]) -> None:
    given = {name.lower(): value for name, value in options.items()}
    wanted = [name.strip() for name in given.get("subscribe", "").split(",") if name.strip()]
    if "topic" in given:
        wanted.append(given["topic"])
    for name in wanted:
        if name not in known:
            raise PipelineError(
                f"{place}: there is no topic {name!r} at {servers}; make it with: "
                f"kafka-topics --bootstrap-server {servers} --create --topic {name}"
            )
    pattern = given.get("subscribepattern")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise PipelineError(f"{place}: pattern {pattern!r} is no regular expression: {error}") from error
