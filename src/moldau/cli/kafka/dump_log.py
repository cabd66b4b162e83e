"""`kafka-dump-log`: what is in the files of a log: segments, indexes, producer snapshots."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import FAILED, Tool

MESSAGE_BYTES_MAX = 5 * 1024 * 1024


def add_options(parser: ToolParser) -> None:
    parser.option("files", "the files: .log, .index, .timeindex, .txnindex, .snapshot", metavar="FILE,…")
    parser.flag("print-data-log", "print keys and values too")
    parser.flag("deep-iteration", "a line for each record, not only for each batch")
    parser.flag("skip-record-metadata", "leave out everything of a record but its key and value")
    parser.flag("verify-index-only", "check indexes without printing them")
    parser.flag("index-sanity-check", "check of indexes only what a broker checks at its start")
    parser.flag("offsets-decoder", "values are those of __consumer_offsets")
    parser.flag("transaction-log-decoder", "values are those of __transaction_state")
    parser.option("max-bytes", "read so much of a file at most", metavar="N", type=int)
    parser.option("key-decoder-class", "a Java or Python deserializer for keys", metavar="CLASS", may_be_empty=True)
    parser.option("value-decoder-class", "a Java or Python deserializer for values", metavar="CLASS", may_be_empty=True)
    parser.ignored("max-message-size", value=True)


def run(options: Namespace) -> int:
    require(options, "files")
    from moldau.cli.kafka.file_dumps import Dump

    dump = Dump(options)
    for name in options.files.split(","):
        path = Path(name.strip())
        print(f"Dumping {path}")
        dump.file(path)
    return FAILED if dump.report_problems() else 0


TOOL = Tool(
    "kafka-dump-log",
    "Parse a log file and dump its contents to the console, useful for debugging a seemingly corrupt log segment.",
    add_options,
    run,
    (
        "--files /tmp/kafka-logs/orders-0/00000000000000000000.log --print-data-log",
        "--files /tmp/kafka-logs/orders-0/00000000000000000000.index",
    ),
)
main = TOOL.main
