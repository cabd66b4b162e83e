"""Plays scripts of group scenarios on a shard, in virtual time and without a broker.

A script is a text file. Lines that begin with `>` are what happens, the indented lines below each are everything that
it brings about: answers, also those to earlier requests that have waited, records in the log, and new states. Other
lines explain. `GroupStage.play` gives the script back with what really came of it.

    > join g client=a protocols=range       JoinGroup; `version=` if not the newest, `as=` names who waits
    > wait 3000                             time passes, in ms
    > hold / release / lose                 what is written waits to be replicated / is / never will be, in time
    > restart                               the shard is thrown away and loaded from the log

Member ids end in a number instead of a UUID, and offsets are written topic-partition@offset.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from random import Random
from typing import Any

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.wheel import Timer, TimingWheel
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.runtime.result import Reply, Result, StoredRecord
from moldau.coordinator.runtime.shard import ShardContext, ShardTimers
from moldau.protocol.stored import decode_key, decode_versioned, leading_number
from moldau.protocol.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tests.script.group_answers import show
from tests.script.group_requests import REQUESTS, operation_of, refused

UUID_TEXT = re.compile(r"00000000-0000-4000-8000-0*([0-9a-f]+)")
MEMBER_ID = re.compile(r"^(.+)-(\d+)$")


class CountingRandom(Random):
    """Ids that count."""

    count = 0

    def getrandbits(self, _count: int, /) -> int:
        self.count += 1
        return self.count


class StageTimers:
    """The wheel, driven by a clock that only the script moves."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._wheel = TimingWheel(int(clock.monotonic_ms()))

    def add(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        return self._wheel.add_at(int(self._clock.monotonic_ms()) + delay_ms, callback)

    def advance(self, duration_ms: int) -> None:
        """Millisecond by millisecond where something happens, so that timers set by timers run in time."""
        end_ms = int(self._clock.monotonic_ms()) + duration_ms
        while True:
            next_ms = self._wheel.next_expiry_ms()
            if next_ms is None or next_ms > end_ms:
                break
            self._clock.advance(max(next_ms - self._clock.monotonic_ms(), 0))
            self._wheel.advance(int(self._clock.monotonic_ms()))
        self._clock.advance(end_ms - self._clock.monotonic_ms())
        self._wheel.advance(end_ms)


class GroupStage:
    """A shard, its log, and what happens on it, as text; does what `ActiveShard` does, at once."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.clock = VirtualClock()
        self.log: list[tuple[StoredRecord, int] | tuple[int, bool]] = []
        self.output: list[str] = []
        self.random = CountingRandom()
        self._held: list[tuple[Result[Any], Callable[[Any], None]]] | None = None
        self._load()

    def _load(self) -> None:
        self.timers = StageTimers(self.clock)
        timers = ShardTimers(self.timers, lambda operation: self.run(lambda _shard: operation(), lambda _nobody: None))
        self.shard_timers = timers
        self.shard = GroupShard(ShardContext(0, self.clock, timers), self.settings, self.random)
        for entry in self.log:
            if isinstance(entry[0], StoredRecord):
                self.shard.replay(entry[0].key, entry[0].value, entry[1])
            else:
                self.shard.end_transaction(entry[0], bool(entry[1]))
        self.shard.loaded()
        self._states = self._current_states()

    # -- what the runtime does

    def run(self, operation: Callable[[GroupShard], Result[Any]], done: Callable[[Any], None]) -> None:
        try:
            result = operation(self.shard)
        except ApiError as error:
            done(error)
            return
        for record in result.records:
            self.log.append((record, result.producer.producer_id))
            self.output.append(f"log: {shown_record(record, result.producer.producer_id)}")
            if result.is_replayed:
                self.shard.replay(record.key, record.value, result.producer.producer_id)
        if self._held is not None:
            self._held.append((result, done))
        else:
            self._finish(result, done, ErrorCode.NONE)

    @staticmethod
    def _finish(result: Result[Any], done: Callable[[Any], None], error: ErrorCode) -> None:
        if result.on_append is not None:
            result.on_append(error)
        if isinstance(result.response, Reply) and (not error or result.response.is_given):
            result.response.then(done)
        else:
            done(ApiError(error) if error else result.response)

    # -- scripts

    def play(self, script: str) -> str:
        """The script, with what it brings about."""
        lines = []
        for line in script.splitlines():
            if line.startswith("> "):
                lines += [line, *(f"  {one}" for one in self.do(line[2:]))]
            elif not line.startswith("  "):
                lines.append(line)
        return "\n".join(lines) + "\n"

    def do(self, line: str) -> list[str]:
        """Carry out one line; everything that it brings about."""
        self.output = []
        name, *words = shlex.split(line, comments=True)
        command = getattr(self, f"_do_{name}", None)
        if command is not None:
            command(*words)
        else:
            arguments = dict(word.split("=", 1) for word in words if "=" in word)
            group_id = next((word for word in words if "=" not in word), "g")
            self._request(name, group_id, {key: self._expand(value) for key, value in arguments.items()})
        self._tell_states()
        return [UUID_TEXT.sub(lambda match: str(int(match[1], 16)), one) for one in self.output]

    def _expand(self, text: str) -> str:
        """`a-1` → the member id that it stands for, where a number has been given out."""
        parts = [one.split(":", 1) for one in text.split(",")]
        for part in parts:
            match = MEMBER_ID.match(part[0])
            if match and match[1] in {"a", "b", "c", "d", "e", "i", "j", "k"}:
                part[0] = f"{match[1]}-00000000-0000-4000-8000-{int(match[2]):012x}"
        return ",".join(":".join(part) for part in parts)

    def _request(self, name: str, group_id: str, arguments: dict[str, str]) -> None:
        who = arguments.pop("as", arguments.get("member") or arguments.get("client") or "")
        request = REQUESTS[name](group_id, arguments)

        def done(outcome: Any) -> None:
            prefix = f"{who}: " if who else ""
            answer = refused(request, outcome) if isinstance(outcome, ApiError) else outcome
            self.output += [f"{prefix}{line}" for line in show(answer)]

        self.run(operation_of(request, arguments, self.clock.now_ms()), done)

    def _do_wait(self, duration_ms: str) -> None:
        self.timers.advance(int(duration_ms))

    def _do_set(self, *words: str) -> None:
        """Settings that differ from Kafka's defaults; the shard is made anew."""
        values: dict[str, Any] = {key: int(value) for key, value in (word.split("=") for word in words)}
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **values})
        self._load()

    def _do_restart(self) -> None:
        self.shard_timers.cancel_all()
        self.shard.unloaded()
        self._load()
        self._states = {}

    def _do_hold(self) -> None:
        self._held = []

    def _do_release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        held, self._held = self._held or [], None
        for result, done in held:
            self._finish(result, done, error)

    def _do_lose(self) -> None:
        self._do_release(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _do_end(self, word: str, producer: str) -> None:
        """`end commit producer=7`: the marker of a transaction."""
        producer_id, committed = int(producer.split("=")[1]), word == "commit"
        self.log.append((producer_id, committed))
        self.shard.end_transaction(producer_id, committed)

    def _do_forget(self, *topics: str) -> None:
        """Topics are deleted."""
        self.run(lambda shard: shard.forget_topics(topics), lambda _is_all: None)

    # -- states

    def _current_states(self) -> dict[str, str]:
        groups = self.shard.groups.values()
        return {group.group_id: f"{group.state.value}, generation {group.generation_id}" for group in groups}

    def _tell_states(self) -> None:
        states = self._current_states()
        for group_id in sorted({*states, *self._states}):
            state = states.get(group_id, "Dead")
            if self._states.get(group_id) != state:
                self.output.append(f"{group_id}: {state}")
        self._states = states


def shown_record(record: StoredRecord, producer_id: int) -> str:
    suffix = f" in the transaction of producer {producer_id}" if producer_id >= 0 else ""
    if leading_number(record.key) == GroupMetadataKey.KEY:
        group_id = decode_key(GroupMetadataKey, record.key).group
        if record.value is None:
            return f"group {group_id}: tombstone"
        group = decode_versioned(GroupMetadataValue, record.value)
        members = ", ".join(f"{one.member_id}={one.assignment.decode() or '-'}" for one in group.members)
        return f"group {group_id}: generation {group.generation}, {members or 'no members'}"
    key = decode_key(OffsetCommitKey, record.key)
    name = f"{key.group}: {key.topic}-{key.partition}"
    if record.value is None:
        return f"{name} tombstone{suffix}"
    return f"{name}@{decode_versioned(OffsetCommitValue, record.value).offset}{suffix}"
