"""A shard at work whose records cannot be written: everybody who waits is told, once, and nothing is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.active_shard import ActiveShard
from moldau.coordinator.runtime.result import Reply, Result, StoredRecord
from moldau.records.batch import Producer
from moldau.records.compression import CompressionType

RECORD = StoredRecord(b"key", b"value")


@dataclass
class FakeEntry:
    producer_epoch: int


@dataclass
class FakeLog:
    """The log, its settings and its producer state, in one."""

    max_message_bytes: int = 1_000
    producers: dict[int, FakeEntry] = field(default_factory=dict)

    @property
    def settings(self) -> FakeLog:
        return self

    @property
    def producer_state(self) -> FakeLog:
        return self


@dataclass
class FakeReplicas:
    """One partition, with what it will say."""

    log_of: FakeLog = field(default_factory=FakeLog)
    refusal: ErrorCode | None = None
    outcome: ErrorCode | None = ErrorCode.NONE
    is_leader: bool = True
    appended: int = 0

    @property
    def partitions(self) -> dict[object, FakeReplicas]:
        return {("topic", 0): self}

    @property
    def log(self) -> Any:
        return lambda _key: self.log_of

    def partition(self, _key: object) -> FakeReplicas:
        return self

    def require_log(self) -> FakeLog:
        return self.log_of

    def require_min_isr(self) -> None:
        if self.refusal is not None:
            raise ApiError(self.refusal)

    def append(self, *_arguments: object) -> Any:
        if self.refusal is not None:
            raise ApiError(self.refusal)
        self.appended += 1
        return type("Appended", (), {"last_offset": self.appended - 1})

    def replicated_to(self, _key: object, _offset: int) -> ErrorCode | None:
        return self.outcome


class FakeShard:
    def __init__(self) -> None:
        self.replayed: list[bytes] = []

    def replay(self, key: bytes, _value: bytes | None, _producer_id: int) -> None:
        self.replayed.append(key)

    def end_transaction(self, producer_id: int, committed: bool) -> None: ...
    def loaded(self) -> None: ...
    def unloaded(self) -> None: ...


def active_shard(replicas: FakeReplicas, shard: FakeShard, give_up: Callable[[ErrorCode], None]) -> ActiveShard:
    return ActiveShard(
        ("topic", 0),
        shard,
        cast(Any, replicas),
        VirtualClock(),
        write_timeout_ms=100,
        compression=CompressionType.NONE,
        give_up=give_up,
        end_offset=0,
    )


async def run(replicas: FakeReplicas, *results: Result[Any], then: Callable[[], None] = lambda: None) -> Any:
    """The shard, what was answered, and why it was given up."""
    shard, given_up = FakeShard(), list[ErrorCode]()
    active = active_shard(replicas, shard, given_up.append)
    answers: list[Any] = []
    for result in results:
        active.run(lambda _shard, result=result: result, answers.append)  # type: ignore[misc]
    then()
    await asyncio.sleep(0.01)
    codes = [one.code if isinstance(one, ApiError) else one for one in answers]
    return shard.replayed, codes, given_up


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_what_cannot_be_written_is_not_replayed(refusal: ErrorCode, told: ErrorCode) -> None:
    heard: list[ErrorCode] = []
    result: Result[str] = Result([RECORD], "written", on_append=heard.append)
    assert asyncio.run(run(FakeReplicas(refusal=refusal), result)) == ([], [told], [])
    assert heard == [told]


def test_a_group_that_has_changed_already_hears_that_its_records_are_too_large() -> None:
    heard: list[ErrorCode] = []
    reply: Reply[str] = Reply()
    large = StoredRecord(b"key", bytes(2_000))
    result: Result[str] = Result([large], reply, is_replayed=False, on_append=heard.append)
    assert asyncio.run(run(FakeReplicas(), result)) == ([], [ErrorCode.UNKNOWN_SERVER_ERROR], [])
    assert heard == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_an_answer_that_is_given_because_of_the_failure_is_heard() -> None:
    reply: Reply[str] = Reply()
    result: Result[str] = Result(
        [RECORD], reply, is_replayed=False, on_append=lambda error: reply.give(f"sorry: {error.name}")
    )
    replicas = FakeReplicas(outcome=ErrorCode.REQUEST_TIMED_OUT)
    assert asyncio.run(run(replicas, result)) == ([], ["sorry: COORDINATOR_NOT_AVAILABLE"], [])


def test_a_zombies_records_are_refused_and_the_shard_lives_on() -> None:
    replicas = FakeReplicas(FakeLog(producers={7: FakeEntry(3)}))
    results = [Result([RECORD], epoch, Producer(7, epoch)) for epoch in (2, 3, 5, 4)]
    replayed, answers, given_up = asyncio.run(run(replicas, *results))
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH
    assert (len(replayed), sorted(answers, key=str), given_up) == (2, sorted([fenced, 3, 5, fenced], key=str), [])


def test_an_append_that_fails_gives_the_shard_up() -> None:
    replicas = FakeReplicas()

    def lose_leadership() -> None:
        replicas.refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER

    results = [Result([RECORD], "one"), Result([RECORD], "two"), Result(response="only looked")]
    replayed, answers, given_up = asyncio.run(run(replicas, *results, then=lose_leadership))
    assert answers == [ErrorCode.NOT_COORDINATOR] * 3
    assert (len(replayed), given_up) == (2, [ErrorCode.NOT_LEADER_OR_FOLLOWER])


def test_a_shard_is_settled_when_all_that_it_shows_is_replicated() -> None:
    async def settled_while_written() -> list[bool]:
        replicas = FakeReplicas()
        active = active_shard(replicas, FakeShard(), lambda _error: None)
        seen = [active.is_settled]
        for outcome in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND):
            replicas.outcome = outcome
            seen.append(active.is_settled)  # nothing new is to be seen
            active.run(lambda _shard: Result([RECORD], "written"), lambda _answer: None)
            seen.append(active.is_settled)
            await asyncio.sleep(0.01)
            seen.append(active.is_settled)
        return seen

    staged = False
    assert asyncio.run(settled_while_written()) == [True, True, staged, True, True, staged, False]
