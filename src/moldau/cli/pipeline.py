"""`moldau pipeline`: check and run data pipelines on Spark."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from moldau.cli.cluster_arguments import DEFAULT_SERVER, VARIABLE
from moldau.cli.command import Command, CommandGroup

FILE_HELP = "a pipeline: FILE.toml, FILE.py, or the name of a ready one"


def add_check_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,…",
        default=os.environ.get(VARIABLE) or DEFAULT_SERVER,
        help=f"brokers of what the pipeline names none for; {DEFAULT_SERVER}, unless said here or in {VARIABLE}",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the pipeline, or a setting of Spark if it begins with spark.; may be repeated",
    )
    parser.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="where Spark runs: local[*], spark://HOST:7077, yarn, k8s://…",
    )
    parser.add_argument(
        "--log-level", default="ERROR", metavar="LEVEL", help="what Spark's driver logs: INFO, WARN, ERROR"
    )


def add_run_arguments(parser: ArgumentParser) -> None:
    add_check_arguments(parser)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="where it is kept how far the pipeline is; checkpoints/NAME if nothing is said",
    )
    parser.add_argument("--once", action="store_true", help="take what is there now, and end")
    parser.add_argument("--plain", action="store_true", help="lines instead of a table, also on a terminal")


def add_show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of a ready pipeline")


def run(arguments: Namespace) -> int:
    from moldau.pipeline.jobs.launch import run_pipeline

    return run_pipeline(
        arguments.file,
        given=arguments.set,
        servers=arguments.bootstrap_server,
        master=arguments.master,
        checkpoint=arguments.checkpoint,
        once=arguments.once,
        plain=arguments.plain,
        log_level=arguments.log_level,
        debug=arguments.debug,
    )


def check(arguments: Namespace) -> int:
    from moldau.pipeline.jobs.launch import check_pipeline_file

    lines = check_pipeline_file(
        arguments.file,
        given=arguments.set,
        servers=arguments.bootstrap_server,
        master=arguments.master,
        log_level=arguments.log_level,
        debug=arguments.debug,
    )
    for line in lines:
        print(line)
    return 0


def list_ready(_arguments: Namespace) -> int:
    from moldau.pipeline.jobs.ready import ready_pipelines

    for each in ready_pipelines():
        print(f"{each.name}: {each.about}")
        for parameter in each.parameters:
            default = "" if parameter.default is None else f" [{parameter.default}]"
            print(f"    {parameter.name:<12}{parameter.about}{default}")
    return 0


def show(arguments: Namespace) -> int:
    from moldau.pipeline.jobs.ready import ready

    sys.stdout.write(ready(arguments.name).text)
    return 0


COMMAND = CommandGroup(
    "pipeline",
    "run data pipelines on Spark: topics in, SQL or Python in between, topics or tables out",
    [
        Command(
            "pipeline run",
            "run a pipeline until it is stopped; the next run goes on where this one ended",
            add_run_arguments,
            run,
            [
                ("moldau pipeline run orders.toml", "from the checkpoint on, until Ctrl-C"),
                ("moldau pipeline run orders.toml --once", "what is there now, exactly once, and end"),
                (
                    "moldau pipeline run orders.py --master spark://host:7077 --checkpoint hdfs:///orders",
                    "on a cluster",
                ),
                (
                    "moldau pipeline run topic-to-table --set topic=orders --set path=./table",
                    "a ready pipeline: a topic as Parquet, a folder for each day",
                ),
            ],
        ),
        Command(
            "pipeline check",
            "find out what is wrong with a pipeline: topics, SQL, columns; nothing is read or written",
            add_check_arguments,
            check,
            [("moldau pipeline check orders.toml --set topic=orders", "says what goes where, or what is wrong")],
        ),
        Command(
            "pipeline list",
            "list the ready pipelines and their parameters",
            lambda _parser: None,
            list_ready,
            [("moldau pipeline list", "what there is, and what can be set")],
        ),
        Command(
            "pipeline show",
            "print a ready pipeline, to begin a file of one's own with",
            add_show_arguments,
            show,
            [("moldau pipeline show topic-to-topic > mine.toml", "a file to change")],
        ),
    ],
)
