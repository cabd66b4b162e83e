"""`kafka-features`: describe the features of a cluster, and put other versions of them in force (KIP-584)."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import WrongUsage, text_of
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import FAILED, Tool

COMMANDS = ("describe", "upgrade", "downgrade", "disable")
DONE = {"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}


def add_options(parser: ToolParser) -> None:
    parser.add_argument("command", choices=COMMANDS, help="what to do")
    add_connection_options(parser)
    parser.repeated("feature", "a feature; with upgrade and downgrade its level too", metavar="NAME[=LEVEL]")
    parser.flag("unsafe", "with downgrade and disable: also if something is lost by it")
    parser.flag("dry-run", "only tell whether it could be done")


def run(options: Namespace) -> int:
    require(options, "bootstrap-server")
    if options.command == "describe":
        return with_connection(options, describe)
    levels = _levels(options)
    return with_connection(options, lambda connection: update(connection, options, levels))


def _levels(options: Namespace) -> dict[str, int]:
    if not options.feature_all:
        raise WrongUsage("Must specify at least one --feature")
    levels = {}
    for each in options.feature_all:
        name, equals, level = each.partition("=")
        if options.command == "disable":
            level = "0"
        elif not equals:
            raise WrongUsage(f"Can't parse feature=level string {each}: equals sign not found.")
        if not level.isdecimal():
            raise WrongUsage(f"Can't parse feature=level string {each}: unable to parse {level} as a short.")
        levels[name.strip()] = int(level)
    return levels


async def describe(connection: Connection) -> int:
    from moldau.clients.admin.cluster_operations import ClusterOperations

    found = await connection.use(ClusterOperations).describe_features()
    epoch = "-" if found.finalized_features_epoch is None else found.finalized_features_epoch
    for name, supported in sorted(found.supported_features.items()):
        final = found.finalized_features.get(name)
        print(
            f"Feature: {name}\tSupportedMinVersion: {supported.min_version}\tSupportedMaxVersion: "
            f"{supported.max_version}\tFinalizedVersionLevel: {0 if final is None else final.max_version_level}\t"
            f"Epoch: {epoch}"
        )
    return 0


async def update(connection: Connection, options: Namespace, levels: dict[str, int]) -> int:
    from moldau.clients.admin.cluster_operations import ClusterOperations, FeatureUpdate, UpgradeType

    kind = UpgradeType.UPGRADE
    if options.command != "upgrade":
        kind = UpgradeType.UNSAFE_DOWNGRADE if options.unsafe else UpgradeType.SAFE_DOWNGRADE
    results = await connection.use(ClusterOperations).update_features(
        {name: FeatureUpdate(level, kind) for name, level in levels.items()},
        validate_only=options.dry_run,
        raise_errors=False,
    )
    for name in results:
        what = name if options.command == "disable" else f"{name} to {levels[name]}"
        if name in results.errors:
            can = "Can not" if options.dry_run else "Could not"
            print(f"{can} {options.command} {what}. {text_of(results.errors[name])}")
        else:
            print(f"{name} {'can be' if options.dry_run else 'was'} {DONE[options.command]}.")
    if results.errors:
        print(f"{len(results.errors)} out of {len(results)} operation(s) failed.")
        return FAILED
    return 0


TOOL = Tool(
    "kafka-features",
    "Manage feature flags.",
    add_options,
    run,
    ("describe --bootstrap-server localhost:9092",),
)
main = TOOL.main
