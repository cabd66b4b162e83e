"""Drivers, tasks and faults over `virtual_kafka`, in an order that somebody chooses.

Every request is a point where another actor may go first, a driver may die, a request may be on its way for a while, or
be sent a second time because its answer did not come. Whatever deviates from the plain course costs one of the
run's faults. The choices of a run are numbers, so runs can be enumerated, drawn and repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from moldau.pipeline.sink.effects import (
    Decide,
    Effect,
    EndAll,
    Fence,
    ListOpen,
    MarkDone,
    ReadLog,
    TakeTerm,
    Withdraw,
)
from moldau.pipeline.sink.errors import SinkError, TransactionsLost
from moldau.pipeline.sink.protocol import PlannerMemory, abort, commit, is_decided, plan
from moldau.pipeline.sink.transactional_ids import IdPool
from moldau.pipeline.sink.values import Plan, Transaction, Written
from tests.unit.pipeline.sink.virtual_kafka import (
    SINK,
    ConcurrentStreamLogUpdate,
    Refused,
    VirtualKafka,
    VirtualSpark,
)

BATCHES = 3
PARTITIONS = 2
QUERY = "query"
STEPS_MAX = 2000

Course = Generator["Request | Wait", Any, None]


@dataclass(frozen=True)
class Request:
    """What a client sends, and a broker may carry out at once, later, twice or never."""

    name: str
    carry_out: Callable[[], Any]


@dataclass(frozen=True)
class Wait:
    """Until somebody else has come so far."""

    until: Callable[[], bool]


class Chooser:
    """Answers `choose(n)` with what is given, and after that with 0; notes how many there were to choose from."""

    def __init__(self, given: Sequence[int] = (), drawn_from: random.Random | None = None, rate: float = 0.0) -> None:
        self.given = list(given)
        self.taken: list[tuple[int, int]] = []
        self._random = drawn_from
        self._rate = rate

    def choose(self, options: int) -> int:
        place = len(self.taken)
        if place < len(self.given):
            choice = self.given[place]
        elif self._random is not None and options > 1 and self._random.random() < self._rate:
            choice = self._random.randrange(1, options)
        else:
            choice = 0
        self.taken.append((choice, options))
        return choice

    def next_given(self) -> list[int] | None:
        """The choices of the next run, in the order of a depth-first search; None after the last."""
        taken = self.taken
        while taken and taken[-1][0] + 1 >= taken[-1][1]:
            taken.pop()
        return None if not taken else [*(choice for choice, _ in taken[:-1]), taken[-1][0] + 1]


@dataclass
class Actor:
    name: str
    driver: str
    course: Course
    request: Request | Wait | None = None
    fault: BaseException | None = None
    done: bool = False

    @property
    def runnable(self) -> bool:
        return not self.done and (not isinstance(self.request, Wait) or self.request.until())


class Run:
    """One run: `faults` is how many deviations it may have."""

    def __init__(self, chooser: Chooser, faults: int, *, timeouts: bool = False) -> None:
        self.kafka = VirtualKafka()
        self.spark = VirtualSpark()
        self.lost: list[TransactionsLost] = []
        self.history: list[str] = []
        self._chooser = chooser
        self._faults = faults
        self._timeouts = timeouts
        self._actors: list[Actor] = []
        self._numbers = count(1)
        self._generations = count(1)

    def finish(self) -> None:
        """Until all batches are committed: a driver that died is followed by another."""
        memory = PlannerMemory()
        while self.spark.committed < BATCHES and not self.lost:
            if not any(actor.name == actor.driver and not actor.done for actor in self._actors):
                # One that follows may be in the same application, and so have the planner's memory.
                same = self._faults > 0 and self._chooser.choose(2) == 1
                memory = memory if same else PlannerMemory()
                self._start_driver(memory)
            self._step()
        while any(not actor.done for actor in self._actors) and not self.lost:
            self._step()
        self._faults = 0
        if not self.lost:
            # Whatever was left open is found by whoever comes next.
            last = self._add("last", "last", self._last())
            while not last.done:
                self._go(last)

    def _start_driver(self, memory: PlannerMemory) -> None:
        name = f"driver {next(self._numbers)}"
        self._add(name, name, self._driver(name, memory))

    def _add(self, name: str, driver: str, course: Course) -> Actor:
        actor = Actor(name, driver, course)
        self._actors.append(actor)
        self._advance(actor, None)
        return actor

    # -- choosing

    def _step(self) -> None:
        assert len(self.history) < STEPS_MAX, "it does not come to an end"
        runnable = [actor for actor in self._actors if actor.runnable]
        assert runnable, "everybody waits"
        options: list[Callable[[], None]] = [lambda: self._go(runnable[0])]
        if self._faults:
            options += [lambda actor=each: self._go(actor, "first") for each in runnable[1:]]  # type: ignore[misc]
            first = runnable[0]
            if first.name == first.driver:
                options.append(lambda: self._die(first, on_its_way=False))
                options.append(lambda: self._die(first, on_its_way=True))
                options.append(lambda: self._give_up(first))
            elif first.driver:
                options.append(lambda: self._fail(first))
            if first.driver and not isinstance(first.request, Wait):
                options.append(lambda: self._repeat(first))
            if sum(actor.name == actor.driver and not actor.done for actor in self._actors) == 1:
                options.append(lambda: self._start_driver(PlannerMemory()))
            if self._timeouts and (opened := sorted(self.kafka.opened(None))):
                options.append(lambda: self._note("timeout", lambda: self.kafka.time_out(opened[0][0])))
        choice = self._chooser.choose(len(options))
        if choice:
            self._faults -= 1
        options[choice]()

    def _go(self, actor: Actor, note: str = "") -> None:
        request = actor.request
        answer = None
        self.history.append(
            f"{actor.name}: {'waited' if isinstance(request, Wait) or request is None else request.name} {note}"
        )
        if not isinstance(request, Wait):
            assert request is not None
            try:
                answer = request.carry_out()
            except (SinkError, Refused, ConcurrentStreamLogUpdate) as error:
                self._advance(actor, error)
                return
        self._advance(actor, answer)

    def _advance(self, actor: Actor, answer: object) -> None:
        try:
            if isinstance(answer, Exception):
                actor.request = actor.course.throw(answer)
            else:
                actor.request = actor.course.send(answer)
        except StopIteration:
            actor.done = True
        except TransactionsLost as error:
            actor.done = True
            self.lost.append(error)
        except (SinkError, Refused, ConcurrentStreamLogUpdate) as error:
            actor.done = True
            actor.fault = error

    def _die(self, driver: Actor, *, on_its_way: bool) -> None:
        """kill -9; tasks that run go on, as on executors that have not heard of it."""
        self.history.append(f"{driver.name} dies{', request on its way' if on_its_way else ''}")
        driver.done = True
        if on_its_way and driver.request is not None and not isinstance(driver.request, Wait):
            self._add(f"late {driver.name}", "", self._late(driver.request))

    def _give_up(self, driver: Actor) -> None:
        """An answer does not come in time, and the call raises; the request is still on its way."""
        self.history.append(f"{driver.name} gives up")
        request = driver.request
        if request is not None and not isinstance(request, Wait):
            self._add(f"late {driver.name}", "", self._late(request))
        self._advance(driver, SinkError("no answer"))

    def _fail(self, attempt: Actor) -> None:
        self.history.append(f"{attempt.name} fails")
        self._advance(attempt, Refused())

    def _repeat(self, actor: Actor) -> None:
        """The answer did not come, and the client asks again; the first request is still on its way."""
        request = actor.request
        assert request is not None
        assert not isinstance(request, Wait)
        self._add(f"late {actor.name}", "", self._late(request))
        if request.name == "begin":
            self._advance(actor, TimeoutError())  # another id is taken
        else:
            self._go(actor, "again")

    def _note(self, text: str, act: Callable[[], None]) -> None:
        self.history.append(text)
        act()

    @staticmethod
    def _late(request: Request) -> Course:
        try:
            yield request
        except (SinkError, Refused, ConcurrentStreamLogUpdate):
            return

    # -- courses

    def _driver(self, name: str, memory: PlannerMemory) -> Course:
        pools = [IdPool(SINK), IdPool(SINK)]
        while (batch_id := self.spark.committed) < BATCHES:
            made: Plan = yield from self._perform(plan(memory, self._new_generation, 0.0))
            messages: list[Written | None] = [None] * PARTITIONS
            failures: list[int] = [0] * PARTITIONS
            for partition in range(PARTITIONS):
                self._attempt(name, made, batch_id, partition, pools, messages, failures, 0)
                if self._faults and self._chooser.choose(2):
                    self._faults -= 1  # a speculative attempt of the same partition
                    self._attempt(name, made, batch_id, partition, pools, messages, failures, 1)
            yield Wait(lambda messages=messages, failures=failures: None not in messages or max(failures) > 1)  # type: ignore[misc]
            try:
                written = _all_of(messages)
                yield from self._perform(commit(written, batch_id, 0.0, 1.0))
            except TransactionsLost:
                raise
            except (SinkError, Refused):
                yield from self._perform(abort(messages, batch_id))
                return
            self.spark.commit(batch_id)

    def _last(self) -> Course:
        yield from self._perform(plan(PlannerMemory(), self._new_generation, 0.0))

    def _new_generation(self) -> str:
        return f"{next(self._generations):012x}"

    def _attempt(
        self,
        driver: str,
        made: Plan,
        batch_id: int,
        partition: int,
        pools: list[IdPool],
        messages: list[Written | None],
        failures: list[int],
        number: int,
    ) -> None:
        def course() -> Course:
            try:
                written = yield from self._write(made, batch_id, partition, pools[(partition + number) % len(pools)])
                if messages[partition] is None:
                    messages[partition] = written
            except (Refused, SinkError):
                failures[partition] += 1
                if failures[partition] < 2:
                    self._attempt(driver, made, batch_id, partition, pools, messages, failures, number)

        self._add(f"{driver} task {batch_id}.{partition}.{number}", driver, course())

    def _write(self, made: Plan, batch_id: int, partition: int, pool: IdPool) -> Generator[Any, Any, Written]:
        if is_decided(made, QUERY, batch_id):
            return Written(QUERY, batch_id, made, skipped=True)
        while True:
            transactional_id = pool.take(made.generation, batch_id)
            try:
                transaction: Transaction = yield Request("begin", partial(self.kafka.begin, transactional_id))
                break
            except TimeoutError:
                continue
        yield Request("append", partial(self.kafka.append, transaction, (batch_id, partition)))
        return Written(QUERY, batch_id, made, transaction, 1, {"topic": (partition,)})

    def _perform(self, steps: Generator[Effect, Any, Any]) -> Generator[Any, Any, Any]:
        answer: Any = None
        while True:
            try:
                effect = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield from self._requests(effect)

    def _requests(self, effect: Effect) -> Generator[Any, Any, Any]:
        kafka = self.kafka
        match effect:
            case ListOpen(generation):
                return (yield Request("list open", partial(kafka.opened, generation)))
            case TakeTerm():
                return (yield Request("take term", kafka.take_term))
            case ReadLog():
                return (yield Request("read log", kafka.read_log))
            case Decide(decision):
                yield Request("propose", partial(kafka.propose, decision))
                yield Request("settle", partial(kafka.settle, decision.term))
            case Withdraw(term):
                yield Request("withdraw", partial(kafka.withdraw, term))
            case EndAll(transactions, how):
                lost = []
                for each in transactions:
                    if not (yield Request("end", partial(kafka.end, each, how))):
                        lost.append(each)  # noqa: PERF401 - a comprehension cannot yield
                return lost
            case Fence(transactional_ids):
                for name in transactional_ids:
                    yield Request("fence", partial(kafka.fence, name))
            case MarkDone(query_id, done):
                yield Request("mark done", partial(kafka.mark_done, query_id, done))
        return None


def _all_of(messages: list[Written | None]) -> list[Written]:
    written = [each for each in messages if each is not None]
    if len(written) < len(messages):
        raise Refused
    return written
