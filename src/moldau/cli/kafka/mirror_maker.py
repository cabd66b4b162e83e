"""`kafka-mirror-maker`: the topics of a cluster in another one, continuously and exactly once, on Spark."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import check_reachable, settings_in
from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool

COMMIT_EVERY_MS = 60_000
STREAMS_MAX = 1000


def add_options(parser: ToolParser) -> None:
    parser.option(
        "consumer.config", "a file with settings of the consumer: where the source cluster is", metavar="FILE"
    )
    parser.option(
        "producer.config", "a file with settings of the producer: where the target cluster is", metavar="FILE"
    )
    parser.option("include", "the topics to mirror, as a regular expression; a comma means or", metavar="PATTERN")
    parser.option("whitelist", "the same, by its older name", metavar="PATTERN")
    parser.option("num.streams", "how many tasks copy at once; 1 if nothing is said", metavar="N", type=int)
    parser.option(
        "offset.commit.interval.ms",
        f"how often offsets of groups are brought over to the target; {COMMIT_EVERY_MS} if nothing is said",
        metavar="MS",
        type=int,
    )
    parser.option(
        "abort.on.send.failure",
        "true, which is the default: end when records cannot be written; false: try again until they can",
        metavar="BOOLEAN",
    )
    parser.option(
        "checkpoint", "where it is kept how far the mirror is; checkpoints/GROUP if nothing is said", metavar="DIR"
    )
    parser.option("master", "where Spark runs; local with num.streams tasks if nothing is said", metavar="URL")
    parser.flag("once", "copy what is there now, and end")
    parser.option("message.handler", "", hidden=True)
    parser.option("message.handler.args", "", hidden=True)
    parser.option("consumer.rebalance.listener", "", hidden=True)
    parser.option("rebalance.listener.args", "", hidden=True)
    parser.option("blacklist", "", hidden=True)
    parser.ignored("new.consumer", "csv-reporter-enabled")
    parser.ignored("num.producers", "queue.size", "queue.byte.size", value=True)


def check(options: Namespace) -> None:
    require(options, "consumer.config", "producer.config")
    if options.include is None and options.whitelist is None:
        raise WrongUsage("Exactly one of whitelist or include is required.")
    if options.include is not None and options.whitelist is not None:
        raise WrongUsage('Option "[include]" can\'t be used with option "[whitelist]"')
    if options.blacklist is not None:
        raise WrongUsage("blacklist can not be used: --include 'a|b' names the topics that are mirrored")
    for name in ("message.handler", "consumer.rebalance.listener"):
        if getattr(options, name.replace(".", "_")) is not None:
            raise WrongUsage(
                f"{name} is a class of Java, which cannot be run here; to change records on their way, write a "
                "pipeline: moldau pipeline show topic-to-topic"
            )
    streams = options.num_streams
    if streams is not None and not 1 <= streams <= STREAMS_MAX:
        raise WrongUsage(f"num.streams is {streams}, but has to be a number from 1 to {STREAMS_MAX}")
    interval = options.offset_commit_interval_ms
    if interval is not None and interval < 0:
        raise WrongUsage(f"offset.commit.interval.ms is {interval}, but has to be a number from 0 on")
    if (options.abort_on_send_failure or "true").lower() not in ("true", "false"):
        raise WrongUsage(f"abort.on.send.failure is {options.abort_on_send_failure!r}, but has to be true or false")


def run(options: Namespace) -> int:
    check(options)
    from moldau.pipeline.jobs.mirror.settings import mirror_settings

    consumer = {name: str(value) for name, value in settings_in(options.consumer_config).items()}
    producer = {name: str(value) for name, value in settings_in(options.producer_config).items()}
    settings = mirror_settings(consumer, producer, options.include or options.whitelist)
    for each in (consumer, producer):
        check_reachable(each["bootstrap.servers"])
    try:
        from moldau.pipeline.jobs.mirror.launch import run_mirror
    except ImportError as error:
        raise ToolFailed(f"a mirror runs on Spark ({error}): pip install 'moldau[spark,java]'") from error

    interval = options.offset_commit_interval_ms
    run_mirror(
        settings,
        master=options.master or f"local[{options.num_streams or 1}]",
        checkpoint=options.checkpoint or f"checkpoints/{settings.group}",
        translate_every_ms=COMMIT_EVERY_MS if interval is None else interval,
        aborts=(options.abort_on_send_failure or "true").lower() == "true",
        once=options.once,
    )
    return 0


TOOL = Tool(
    "kafka-mirror-maker",
    "This tool helps to continuously copy data between two Kafka clusters, exactly once.",
    add_options,
    run,
    (
        "--consumer.config source.properties --producer.config target.properties --include 'orders|payments'",
        "--consumer.config source.properties --producer.config target.properties --include '.*' --num.streams 4",
        "--consumer.config source.properties --producer.config target.properties --whitelist orders --once",
    ),
)
main = TOOL.main
