"""The driver's side of the sink: carries out the steps of the protocol with requests.

One for each sink and process, kept between batches with what it has read and planned; losing it costs a second, nothing
else.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Generator, Sequence
from typing import Any, Final, NoReturn, TypeVar

from moldau.base.config.schema import Scope
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError, UnsupportedVersion
from moldau.clients.admin.config_entries import ConfigResource, ConfigResourceType
from moldau.clients.errors import TimedOut, check
from moldau.pipeline.link import link_to
from moldau.pipeline.options import PREFIX, SERVERS, wrong
from moldau.pipeline.sink.decision_log import DecisionLog
from moldau.pipeline.sink.effects import (
    Decide,
    Effect,
    EndAll,
    Fence,
    ListOpen,
    MarkDone,
    Opened,
    ReadLog,
    TakeTerm,
    Withdraw,
)
from moldau.pipeline.sink.errors import SinkError, SinkFenced
from moldau.pipeline.sink.log_entries import decision_value, done_value, key_of
from moldau.pipeline.sink.protocol import PlannerMemory, abort, commit, plan
from moldau.pipeline.sink.settings import SinkSettings
from moldau.pipeline.sink.transactional_ids import generation_of, new_generation
from moldau.pipeline.sink.transactions import NOT_ANY_MORE, TransactionRequests
from moldau.pipeline.sink.values import Decision, Plan, Term, Transaction, Written
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, TransactionState
from moldau.records.batch import Producer

Result = TypeVar("Result")

SIDES_MAX: Final = 32
_RUN_S_MAX: Final = 600.0
_ENDS_AT_ONCE: Final = 128
_LIST_MS: Final = 5_000.0
# Of a transaction's lifetime a batch may take so much; the rest is for committing it.
_LIFETIME_PART: Final = 0.9
_TIMEOUT: Final = "transaction.timeout.ms"
_BROKER_LIMIT: Final = "transaction.max.timeout.ms"

_lock = threading.Lock()
_sides: dict[tuple[int, SinkSettings], DriverSide] = {}


def driver_side(settings: SinkSettings) -> DriverSide:
    """This process's own; what was not used for longest makes room."""
    key = (os.getpid(), settings)
    with _lock:
        side = _sides.pop(key, None)
        if side is None or not side.usable:
            side = DriverSide(settings)
        _sides[key] = side
        if len(_sides) > SIDES_MAX:
            _sides.pop(next(iter(_sides)))
        return side


class DriverSide:
    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings
        self._link = link_to(settings.kafka, Scope.PRODUCER)
        cluster = self._link.cluster
        self._cluster = cluster
        self._block_ms = float(cluster.config.integer("max.block.ms"))
        self._requests = TransactionRequests(cluster, self._block_ms)
        self._log = DecisionLog(cluster, self._link.admin, settings.decision_topic, settings.name, self._block_ms)
        self._memory = PlannerMemory()
        self._timeout_ms = settings.transaction_timeout_ms

    @property
    def usable(self) -> bool:
        """Whether its link is still the one that this process keeps."""
        return link_to(self._settings.kafka, Scope.PRODUCER) is self._link

    # -- what Spark calls

    def plan(self) -> tuple[Plan, int]:
        """Before the tasks of a batch: what they need to know, and how long their transactions may live."""
        try:
            self._run(self._log.prepare())
        except TimedOut as error:
            raise self._unavailable(error) from error
        steps = plan(
            self._memory, new_generation, self._cluster.clock.monotonic_ms(), accept_loss=self._settings.accept_loss
        )
        return self._run(self._carry_out(steps)), self._timeout_ms

    def commit(self, written: Sequence[Written], batch_id: int, timeout_ms: int) -> None:
        now_ms = self._cluster.clock.monotonic_ms()
        self._run(self._carry_out(commit(written, batch_id, now_ms, timeout_ms * _LIFETIME_PART)))

    def abort(self, written: Sequence[Written | None], batch_id: int) -> bool:
        """False if the batch was decided, and so will be completed by the next start."""
        return self._run(self._carry_out(abort(written, batch_id)))

    def forget(self, query_id: str) -> None:
        """A write that will not come again needs no place in the log."""
        self._run(self._forget(query_id))

    async def _forget(self, query_id: str) -> None:
        for kind in ("decision", "done"):
            await self._log.append(key_of(kind, self._settings.name, query_id), None)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._link.run(work, _RUN_S_MAX)

    # -- steps

    async def _carry_out(self, steps: Generator[Effect, Any, Result]) -> Result:
        answer: Any = None
        while True:
            try:
                effect = steps.send(answer)
            except StopIteration as end:
                result: Result = end.value
                return result
            answer = await self.perform(effect)

    async def perform(self, effect: Effect) -> Any:
        match effect:
            case ListOpen(generation):
                return await self._list_open(generation)
            case TakeTerm():
                return await self._take_term()
            case ReadLog(term):
                return await self._log.read(term)
            case Decide(decision):
                return await self._decide(decision)
            case Withdraw(term):
                return await self._requests.end(self._control(term), commit=False)
            case EndAll(transactions, how):
                return await self._end_all(transactions, how)
            case Fence(transactional_ids):
                return await self._link.admin.fence_producers(transactional_ids, raise_errors=False)
            case MarkDone(query_id, done):
                return await self._log.append(key_of("done", self._settings.name, query_id), done_value(done))

    async def _list_open(self, generation: str | None) -> Opened | None:
        """None before Kafka 3.0, and while not all brokers can be asked: what is left open then ends by its timeout."""
        try:
            nodes = self._cluster.metadata.nodes or (await self._cluster.update(self._block_ms)).nodes
            answers = await asyncio.gather(*map(self._list_of, nodes))
        except (UnsupportedVersion, TimedOut):
            return None
        listed = [each for answer in answers for each in answer]
        name = self._settings.name
        return frozenset(
            (each.transactional_id, each.producer_id)
            for each in listed
            if (of := generation_of(each.transactional_id, name)) is not None and generation in (None, of)
        )

    async def _list_of(self, node_id: int) -> list[TransactionState]:
        async def attempt() -> list[TransactionState]:
            answer = await self._cluster.request(ListTransactionsRequest(state_filters=["Ongoing"]), node_id)
            check(answer.error_code, f"listing the transactions of broker {node_id}")
            listed: list[TransactionState] = answer.transaction_states
            return listed

        return await self._cluster.retrying(attempt, timeout_ms=_LIST_MS, what="listing transactions")

    async def _take_term(self) -> Term:
        """With the timeout that the tasks' transactions will have, so that a broker refuses it here and now."""
        try:
            one = await self._requests.begin(self._settings.name, self._timeout_ms, once=False)
        except TimedOut as error:
            raise self._unavailable(error) from error
        except ApiError as error:
            if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                await self._timeout_refused()
                return await self._take_term()
            self._explain(error)
        return Term(one.producer_id, one.epoch)

    async def _timeout_refused(self) -> None:
        """Take the broker's limit instead of our default; what the user said is not changed."""
        limit_ms = await self._broker_limit_ms()
        if self._settings.timeout_is_given or limit_ms is None or limit_ms == self._timeout_ms:
            limit = "it" if limit_ms is None else str(limit_ms)
            raise wrong(
                PREFIX + _TIMEOUT,
                str(self._timeout_ms),
                f"the brokers allow no more than {limit} ({_BROKER_LIMIT}); lower the option, or raise that",
            )
        self._timeout_ms = limit_ms

    async def _broker_limit_ms(self) -> int | None:
        try:
            nodes = (await self._cluster.update(self._block_ms)).nodes
            resource = ConfigResource(ConfigResourceType.BROKER, str(min(nodes)))
            described = await self._link.admin.describe_configs([resource], keys=[_BROKER_LIMIT])
            return int(described[resource][_BROKER_LIMIT].value or "")
        except (MoldauError, ValueError, KeyError):
            return None

    async def _decide(self, decision: Decision) -> None:
        settings = self._settings
        control = self._control(decision.term)
        try:
            await self._requests.add(control, [self._log.topic_partition])
            await self._log.append(
                key_of("decision", settings.name, decision.query_id),
                decision_value(decision, settings.name),
                transactional_id=settings.name,
                producer=Producer(control.producer_id, control.epoch, 0),
            )
        except ApiError as error:
            if error.code in NOT_ANY_MORE:
                raise self._fenced(decision) from error
            self._explain(error)
        if not await self._requests.end(control, commit=True):
            raise self._fenced(decision)

    def _unavailable(self, error: TimedOut) -> SinkError:
        return SinkError(
            f"Option '{SERVERS}' is '{self._settings.servers}': the cluster cannot be written to: {error.message}. See "
            "whether its brokers run and can be reached from here"
        )

    def _fenced(self, decision: Decision) -> SinkFenced:
        return SinkFenced(
            f"sink {self._settings.sink_id} ({self._settings.described}): another driver has taken it over, so batch "
            f"{decision.batch_id} was not decided here. Does a second query run on the same checkpoint, or with the "
            "same sinkId? Only one may; this one stops, and what it has not decided is not visible"
        )

    async def _end_all(self, transactions: Sequence[Transaction], commit: bool) -> list[Transaction]:
        limit = asyncio.Semaphore(_ENDS_AT_ONCE)

        async def end(transaction: Transaction) -> bool:
            async with limit:
                return await self._requests.end(transaction, commit)

        ended = await asyncio.gather(*map(end, transactions))
        return [each for each, is_ended in zip(transactions, ended, strict=True) if not is_ended]

    def _control(self, term: Term) -> Transaction:
        return Transaction(self._settings.name, term.producer_id, term.epoch)

    def _explain(self, error: ApiError) -> NoReturn:
        raise explained(error, self._settings) from error


def explained(error: ApiError, settings: SinkSettings) -> MoldauError:
    """An error of a broker with what can be done about it, where that is known."""
    match error.code:
        case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return SinkError(
                f"{error}: the user may not use transactional ids that begin with {settings.name}. Allow Describe and "
                f"Write on transactional ids with the prefix {settings.id_prefix}, or set the option "
                "transactionalIdPrefix to one that is allowed, or delivery=at-least-once"
            )
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return SinkError(f"{error}: the user may not write to it. Allow Describe and Write on the topic")
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return SinkError(f"{error}: allow IdempotentWrite on the cluster")
    return error
