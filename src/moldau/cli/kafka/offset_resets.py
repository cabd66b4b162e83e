"""`kafka-consumer-groups --reset-offsets`: eight ways to say where a group goes on.

A reset is a plan, offsets by partition, which is printed, or exported as CSV, and with `--execute` committed. Offsets
before the first record or behind the last are moved to it.
"""

from __future__ import annotations

import csv
import io
import sys
from argparse import Namespace
from collections.abc import Collection, Mapping
from pathlib import Path

from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.consumer_groups import partitions_of
from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.group_reports import descriptions
from moldau.cli.kafka.instants import ago_ms, instant_ms
from moldau.cli.kafka.parser import has
from moldau.cli.kafka.tables import table
from moldau.cli.kafka.tool import FAILED
from moldau.clients.admin.group_offsets import GroupOffsetOperations
from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
from moldau.clients.records import TopicPartition

Plan = dict[TopicPartition, int]


async def reset(connection: Connection, options: Namespace, groups: list[str], timeout_s: float) -> int:
    described = await descriptions(connection, groups, timeout_s)
    plans: dict[str, Plan] = {}
    code = 0
    for group in groups:
        known = described[group]
        if known is not None and known.state not in ("Empty", "Dead"):
            reason = f"'{group}' is inactive, but the current state is {known.state}."
            print(f"\nError: Assignments can only be reset if the group {reason}", file=sys.stderr)
            code = FAILED
            continue
        planner = Planner(connection, group, timeout_s)
        plan = await planner.plan(options)
        if options.execute and plan:
            await planner.offsets.alter_consumer_group_offsets(group, plan, timeout_s=timeout_s)
        plans[group] = plan
    if options.export:
        print(exported(plans, with_group=len(options.group_all) != 1))
    elif plans:
        rows = [(group, *partition, offset) for group, plan in plans.items() for partition, offset in plan.items()]
        print("\n" + table(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows, (-30, -30, 10, 15)))
    return code


class Planner:
    """Makes the plan of one group."""

    def __init__(self, connection: Connection, group: str, timeout_s: float) -> None:
        self.offsets = connection.use(GroupOffsetOperations)
        self._connection = connection
        self._partitions = connection.use(PartitionOperations)
        self._group = group
        self._timeout_s = timeout_s

    async def plan(self, options: Namespace) -> Plan:
        if options.from_file is not None:
            return await self._within(planned_in(options.from_file, self._group))
        partitions = await self._scope(options)
        if options.to_offset is not None:
            return await self._within(dict.fromkeys(partitions, options.to_offset))
        if options.shift_by is not None:
            return await self._shifted(partitions, options.shift_by)
        if options.to_earliest:
            return await self._found(partitions, OffsetSpec.EARLIEST)
        if options.to_latest:
            return await self._found(partitions, OffsetSpec.LATEST)
        if options.to_current:
            committed = await self._committed()
            rest = await self._found([each for each in partitions if each not in committed], OffsetSpec.LATEST)
            return {each: committed[each] for each in partitions if each in committed} | rest
        assert has(options, "to-datetime") or has(options, "by-duration")
        since = instant_ms(options.to_datetime) if options.to_datetime else ago_ms(options.by_duration)
        return await self._since(partitions, since)

    async def _scope(self, options: Namespace) -> list[TopicPartition]:
        if options.all_topics:
            return sorted(await self._committed())
        return await partitions_of(self._connection, options.topic_all, self._timeout_s)

    async def _committed(self) -> Plan:
        found = await self.offsets.list_consumer_group_offsets([self._group], timeout_s=self._timeout_s)
        return {partition: each.offset for partition, each in found[self._group].items() if each is not None}

    async def _found(self, partitions: Collection[TopicPartition], spec: OffsetSpec | int) -> Plan:
        found = await self._partitions.list_offsets(dict.fromkeys(partitions, spec), timeout_s=self._timeout_s)
        return {partition: each.offset for partition, each in found.items()}

    async def _shifted(self, partitions: Collection[TopicPartition], shift: int) -> Plan:
        committed = await self._committed()
        for partition in partitions:
            if partition not in committed:
                raise WrongUsage(
                    f"Cannot shift offset for partition {partition} since there is no current committed offset"
                )
        return await self._within({each: committed[each] + shift for each in partitions})

    async def _since(self, partitions: Collection[TopicPartition], instant: int) -> Plan:
        found = await self._found(partitions, instant)
        late = [partition for partition, offset in found.items() if offset < 0]
        for topic, number in late:
            print(f"\nWarn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
        return found | await self._found(late, OffsetSpec.LATEST)

    async def _within(self, wanted: Mapping[TopicPartition, int]) -> Plan:
        first = await self._found(wanted, OffsetSpec.EARLIEST)
        end = await self._found(wanted, OffsetSpec.LATEST)
        plan = {}
        for partition, offset in wanted.items():
            plan[partition] = min(max(offset, first[partition]), end[partition])
            if offset != plan[partition]:
                relation = "higher than latest" if offset > end[partition] else "lower than earliest"
                print(
                    f"WARN New offset ({offset}) is {relation} offset for topic partition {partition}. "
                    f"Value will be set to {plan[partition]}",
                    file=sys.stderr,
                )
        return plan


def planned_in(path: str, group: str) -> Plan:
    """The plan in a file of `topic,partition,offset`, or of the same behind the name of a group."""
    plan: Plan = {}
    for number, row in enumerate(csv.reader(io.StringIO(Path(path).read_text())), 1):
        if not row:
            continue
        try:
            *named, topic, partition, offset = row
            if len(named) <= 1 and (not named or named[0] == group):
                plan[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise ToolFailed(f"{path}, line {number}: expected [group,]topic,partition,offset") from None
    if not plan:
        raise ToolFailed(f"No reset plan for group {group} found in {path}")
    return plan


def exported(plans: Mapping[str, Plan], *, with_group: bool) -> str:
    """Plans in the form that `--from-file` reads."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    for group, plan in plans.items():
        for partition, offset in plan.items():
            writer.writerow([*([group] if with_group else []), *partition, offset])
    return written.getvalue()
