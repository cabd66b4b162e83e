"""`moldau groups reset`: one word says where a group goes on; the plan is that of `kafka-consumer-groups`."""

from __future__ import annotations

import re
from argparse import Namespace

from moldau.base.errors import ConfigError
from moldau.cli.kafka.connecting import Connection, with_connection
from moldau.cli.kafka.group_reports import descriptions
from moldau.cli.kafka.instants import ago_ms, instant_ms
from moldau.cli.kafka.offset_resets import Planner
from moldau.cli.terminal.tables import Column, count, print_rows

TIMEOUT_S = 30.0
COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partition", "PARTITION", count),
    Column("offset", "NEW-OFFSET", count),
    Column("done", "DONE"),
)


def target(text: str) -> dict[str, object]:
    """The word as the option of `kafka-consumer-groups` that it stands for."""
    if text in ("earliest", "latest"):
        return {f"to_{text}": True}
    if re.fullmatch(r"[+-]\d+", text):
        return {"shift_by": int(text)}
    if text.isdecimal():
        return {"to_offset": int(text)}
    if text[:1] in ("P", "p"):
        ago_ms(text)
        return {"by_duration": text}
    instant_ms(text)
    return {"to_datetime": text}


def reset(arguments: Namespace, group: str) -> int:
    nothing = dict.fromkeys(
        ("from_file", "to_offset", "shift_by", "to_earliest", "to_latest", "to_current", "to_datetime", "by_duration")
    )
    scope = {"all_topics": not arguments.topic, "topic_all": arguments.topic}
    options = Namespace(**nothing | target(arguments.to) | scope)

    async def work(connection: Connection) -> int:
        known = (await descriptions(connection, [group], TIMEOUT_S))[group]
        if known is None and not arguments.topic:
            raise ConfigError(f"there is no group {group}; `moldau groups list` tells which there are")
        if known is not None and known.state not in ("Empty", "Dead"):
            raise ConfigError(f"{group} has {len(known.members)} members that read now: stop them first")
        planner = Planner(connection, group, TIMEOUT_S)
        plan = await planner.plan(options)
        if not plan:
            raise ConfigError(f"{group} has read nothing yet: name what to reset with --topic")
        if arguments.execute:
            await planner.offsets.alter_consumer_group_offsets(group, plan)
        rows = [
            {"topic": each.topic, "partition": each.partition, "offset": offset, "done": bool(arguments.execute)}
            for each, offset in sorted(plan.items())
        ]
        print_rows(rows, COLUMNS, as_json=arguments.json, title="" if arguments.execute else "nothing done yet:")
        return 0

    return with_connection(arguments, work)
