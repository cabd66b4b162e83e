"""Pipelines for people: written as TOML or as decorated functions, checked before they start, run by `moldau pipeline`.

Nouns, bottom-up:

    definition   Pipeline, Source, Step, Sink, Encoding: what a pipeline is
    parameters   what `--set` can change in a file
    servers      the brokers of a pipeline that names none
    tables, toml_file, decorators, python_file
                 the two ways to write one
    ready        pipelines that come along, by name
    formats      bytes of a record as columns, and back
    session, worker_daemon
                 Spark, with Java and Python found
    spark_messages, failures
                 Spark's errors in a line, and none of them hidden by another
    plan         tables of a pipeline as DataFrames
    topics, checking
                 what can be known to be wrong before anything starts
    progress, screen
                 how it is doing
    running      Run: queries started, watched and stopped
    mirror/      a cluster's topics in another cluster
    state        keyed state whose changes are in a compacted topic

Invariants: nothing starts before everything is checked; what ends a run, a kill included, the next run goes on from.
The names that pipeline files need are here; importing them imports no Spark.
"""

from __future__ import annotations

from moldau.pipeline.jobs.decorators import default_servers, parameter, sink, source, step
from moldau.pipeline.jobs.definition import PipelineError

__all__ = ["PipelineError", "default_servers", "parameter", "sink", "source", "step"]
