"""From the name of a file to a run: what `moldau pipeline run` and `check` do."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from moldau.pipeline.jobs.definition import Pipeline
from moldau.pipeline.jobs.parameters import pairs, spark_settings
from moldau.pipeline.jobs.ready import load_pipeline
from moldau.pipeline.jobs.screen import screen_for
from moldau.pipeline.jobs.session import LOCAL, LOG_LEVEL, absolute, settings_for, start_session
from moldau.pipeline.jobs.topics import check_topics

CHECKPOINTS: Final = "checkpoints"
INTERRUPTED: Final = 130


def run_pipeline(
    file: str,
    *,
    given: Sequence[str] = (),
    servers: str | None = None,
    master: str = LOCAL,
    checkpoint: str | None = None,
    once: bool = False,
    plain: bool = False,
    log_level: str = LOG_LEVEL,
    debug: bool = False,
) -> int:
    """Run until it ends by itself or is told to by a signal; the exit code."""
    values = pairs(given)
    pipeline = load_pipeline(file, values, servers)
    check_topics(pipeline)  # before Spark is started, which takes some seconds
    folder = absolute(checkpoint or f"{CHECKPOINTS}/{pipeline.name}")
    screen = screen_for(plain=plain)
    screen.say(f"pipeline {pipeline.name} on Spark {master}, checkpoint {folder}")
    settings = settings_for(master, folder, {**pipeline.spark, **spark_settings(values)})
    from moldau.pipeline.jobs.failures import ending_with, told_of

    stopping = threading.Event()
    try:
        with told_of():
            spark = start_session(pipeline.name, master, settings, log_level, debug=debug)
            from moldau.pipeline.jobs.running import Run, stopped_by_signals

            with ending_with(spark.stop), stopped_by_signals(stopping, screen.say):
                Run(pipeline, spark, folder, screen, once, stopping).go()
                screen.say(f"pipeline {pipeline.name} has ended")
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def check_pipeline_file(
    file: str,
    *,
    given: Sequence[str] = (),
    servers: str | None = None,
    master: str = LOCAL,
    log_level: str = LOG_LEVEL,
    debug: bool = False,
) -> list[str]:
    """What goes where, in lines; `PipelineError` if something is wrong."""
    values = pairs(given)
    pipeline = load_pipeline(file, values, servers)
    check_topics(pipeline)
    settings = settings_for(master, CHECKPOINTS, {**pipeline.spark, **spark_settings(values)})
    from moldau.pipeline.jobs.failures import ending_with, told_of

    with told_of():
        spark = start_session(pipeline.name, master, settings, log_level, debug=debug)
        from moldau.pipeline.jobs.checking import check_all

        with ending_with(spark.stop):
            tables = check_all(pipeline, spark)
            return [_told(pipeline, name, str(table.schema.simpleString())) for name, table in tables.items()]


def _told(pipeline: Pipeline, name: str, columns: str) -> str:
    sink = next(each for each in pipeline.sinks if each.name == name)
    where = sink.options.get("topic") or sink.options.get("path") or sink.options.get("dbtable") or ""
    return f"sink {name}: {sink.format} {where}".rstrip() + f" <- {columns.removeprefix('struct')}"
