"""What `moldau consume` does: find out where to begin and to end, and print what is between."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import BinaryIO

from moldau.base.errors import ConfigError
from moldau.cli.kafka.instants import ago_ms, instant_ms
from moldau.cli.record_formats import Format
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.plain import Consumer
from moldau.clients.records import TopicPartition

POLL_S = 0.2
ASKING_S = 10.0

Offsets = Mapping[TopicPartition, int]


def read(arguments: Namespace, settings: dict[str, object], formatted: Format) -> None:
    with Consumer(settings) as consumer:
        reading = Reading(consumer, formatted, sys.stdout.buffer, arguments.count, follow=arguments.follow)
        if arguments.group is not None:
            consumer.subscribe(arguments.topic)
            reading.go_on(None)
            return
        partitions = partitions_of(consumer, arguments.topic, arguments.partition)
        consumer.assign(partitions)
        for partition, offset in starts(consumer, partitions, arguments.start or "earliest").items():
            consumer.seek(partition, offset)
        reading.go_on(None if arguments.follow else ends(consumer, partitions, arguments.until or "end"))


def partitions_of(consumer: Consumer, topics: list[str], wanted: list[int] | None) -> list[TopicPartition]:
    found = []
    all_topics = consumer.topics(ASKING_S)
    for topic in topics:
        known = [each.partition for each in all_topics.get(topic, ())]
        if not known:
            raise ConfigError(f"there is no topic {topic}; `moldau topics list` tells which there are")
        if missing := [each for each in wanted or () if each not in known]:
            raise ConfigError(f"{topic} has no partition {missing[0]}, but {len(known)} from 0 on")
        found += [TopicPartition(topic, number) for number in (known if wanted is None else wanted)]
    return found


def starts(consumer: Consumer, partitions: list[TopicPartition], where: str) -> Offsets:
    first = consumer.beginning_offsets(partitions)
    if where == "earliest":
        return first
    end = consumer.end_offsets(partitions)
    if where == "latest":
        return end
    if re.fullmatch(r"-\d+", where):
        return {each: max(first[each], end[each] + int(where)) for each in partitions}
    return {each: max(first[each], offset) for each, offset in _place(consumer, partitions, where, end).items()}


def ends(consumer: Consumer, partitions: list[TopicPartition], where: str) -> Offsets:
    end = consumer.end_offsets(partitions)
    if where == "end":
        return end
    return {each: min(end[each], offset) for each, offset in _place(consumer, partitions, where, end).items()}


def _place(consumer: Consumer, partitions: list[TopicPartition], where: str, end: Offsets) -> Offsets:
    """An offset in all of them, or that of a moment; the end where nothing is that late."""
    if where.isdecimal():
        return dict.fromkeys(partitions, int(where))
    moment = ago_ms(where) if where[:1] in ("P", "p") else instant_ms(where)
    found = consumer.offsets_for_times(dict.fromkeys(partitions, moment))
    return {each: end[each] if at is None else at.offset for each, at in found.items()}


class Reading:
    """Prints records until there have been enough, or the end is reached; without `follow` there is one."""

    def __init__(
        self, consumer: Consumer, formatted: Format, output: BinaryIO, limit: int | None, *, follow: bool
    ) -> None:
        self._consumer = consumer
        self._formatted = formatted
        self._output = output
        self._left = limit
        self._follow = follow

    def go_on(self, until: Offsets | None) -> None:
        """Until these offsets; those of a group are looked up when its partitions are known."""
        while self._left != 0:
            if not self._follow and until is None and (assigned := self._consumer.assignment()):
                until = self._consumer.end_offsets(assigned)
            if until is not None and self._is_through(until):
                return
            self._print(self._consumer.poll(POLL_S), until)

    def _is_through(self, until: Offsets) -> bool:
        assigned = self._consumer.assignment()
        return all(self._consumer.position(each) >= end for each, end in until.items() if each in assigned)

    def _print(self, records: list[ConsumerRecord], until: Offsets | None) -> None:
        wanted = [each for each in records if until is None or each.offset < until.get(_at(each), each.offset + 1)]
        printed = wanted[: self._left]
        self._output.write(b"".join(map(self._formatted, printed)))
        self._output.flush()
        if self._left is not None:
            self._left -= len(printed)
        # What was not printed must not be committed.
        unread: dict[TopicPartition, int] = {}
        for record in wanted[len(printed) :]:
            unread.setdefault(_at(record), record.offset)
        for partition, offset in unread.items():
            self._consumer.seek(partition, offset)


def _at(record: ConsumerRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
