"""`kafka-reassign-partitions`: move partitions between brokers, and between the directories of a broker."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import WrongUsage
from moldau.cli.kafka.parser import ToolParser, exactly_one, has, require
from moldau.cli.kafka.tool import Tool

ACTIONS = ("generate", "execute", "verify", "cancel", "list")
_NEEDS = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_TAKES = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}


def add_options(parser: ToolParser) -> None:
    parser.flag("generate", "propose a plan that spreads topics over brokers; nothing is changed")
    parser.flag("execute", "start what a plan says")
    parser.flag("verify", "tell how far a plan is; when it is through, throttles are removed")
    parser.flag("cancel", "call off what is under way of a plan")
    parser.flag("list", "list all moves that are under way")
    add_connection_options(parser, zookeeper=True)
    parser.option("topics-to-move-json-file", 'a file with {"topics":[{"topic":"orders"}],"version":1}', metavar="FILE")
    parser.option("broker-list", "the brokers to spread them over", metavar="ID,…")
    parser.option("reassignment-json-file", "a file with the plan, as --generate prints it", metavar="FILE")
    parser.option("throttle", "bytes a second that may move between brokers", metavar="N", type=int)
    parser.option("replica-alter-log-dirs-throttle", "the same between directories", metavar="N", type=int)
    parser.option("timeout", "how long to wait for replicas to be there, 10000 unless said", metavar="MS", type=int)
    parser.flag("additional", "start this beside what is under way already")
    parser.flag("preserve-throttles", "leave throttles as they are")
    parser.flag("disable-rack-aware", "do not look at racks")


def check(options: Namespace) -> str:
    action = exactly_one(
        options, ACTIONS, f"Command must include exactly one action: {', '.join(f'--{each}' for each in ACTIONS)}"
    )
    if not has(options, "bootstrap-server") and not has(options, "zookeeper"):
        raise WrongUsage("Please specify --bootstrap-server")
    require(options, *_NEEDS[action])
    everything = {each for table in (_NEEDS, _TAKES) for names in table.values() for each in names}
    for option in sorted(everything - {*_NEEDS[action], *_TAKES[action]}):
        if has(options, option):
            raise WrongUsage(f'Option "[{option}]" can\'t be used with action "[{action}]"')
    return action


def run(options: Namespace) -> int:
    action = check(options)

    async def work(connection: Connection) -> int:
        from moldau.cli.kafka import reassigning

        if action == "list":
            await reassigning.list_moves(connection)
        else:
            actions = {
                "generate": reassigning.generate,
                "execute": reassigning.execute,
                "verify": reassigning.verify,
                "cancel": reassigning.cancel,
            }
            await actions[action](connection, options)
        return 0

    return with_connection(options, work)


TOOL = Tool(
    "kafka-reassign-partitions",
    "Move topic partitions between replicas.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --generate --topics-to-move-json-file topics.json --broker-list 0,1,2",
        "--bootstrap-server localhost:9092 --execute --reassignment-json-file plan.json --throttle 10000000",
        "--bootstrap-server localhost:9092 --verify --reassignment-json-file plan.json",
    ),
    failure="Error: ",
)
main = TOOL.main
