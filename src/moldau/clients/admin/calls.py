"""How the admin client carries a call out: for each item to the broker in charge, again while that may help.

Theory of operation. A call has items (topics, groups, partitions …), a route that knows which broker is in charge of
each, and a function that asks one broker about some of them. Rounds follow each other: the route is asked, one request
goes to each broker with all items that are its, and the items whose failure is a passing one go into the next round
after a backoff. The call ends when nothing is left, or its time is up, or `retries` are used up.

Which failures pass is decided here and not by the table of the protocol: that an unknown topic may become known, or
that a request timed out in the broker, is no reason to keep somebody waiting who asked for it (KIP-4).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Generic

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError, UnsupportedVersion
from moldau.clients.admin.results import Item, Results, Value
from moldau.clients.errors import TimedOut
from moldau.clients.network.cluster import Cluster
from moldau.protocol.schema import Message

# What the answer of a broker whose time is up may need to get here.
ANSWER_MS: Final = 1_000

PASSING: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.REBOOTSTRAP_REQUIRED,
    }
)


class Call:
    """One call of the user: what it is called in errors, and how much of its time is left."""

    def __init__(self, cluster: Cluster, what: str, timeout_ms: float) -> None:
        self.cluster = cluster
        self.what = what
        self.timeout_ms = timeout_ms
        self._deadline_ms = cluster.clock.monotonic_ms() + timeout_ms

    @property
    def left_ms(self) -> float:
        return max(0.0, self._deadline_ms - self.cluster.clock.monotonic_ms())

    @property
    def broker_timeout_ms(self) -> int:
        """How long a broker may take for what it answers only when it is done; that it was too long still arrives."""
        limit_ms = min(self.left_ms, self.cluster.request_timeout_ms)
        return int(limit_ms - min(ANSWER_MS, limit_ms / 10))

    async def ask(self, request: Message, node_id: int | None = None, version: int | None = None) -> Any:
        """Ask a broker, or any, once; a refusal for its version says what may be done."""
        try:
            return await self.cluster.request(request, node_id, version=version)
        except UnsupportedVersion as error:
            raise self.unsupported(error.message) from error

    async def version_of(self, request: type[Message], node_id: int | None = None) -> int:
        """The version in which a broker will be asked."""
        cluster = self.cluster
        connection = await (cluster.any_connection() if node_id is None else cluster.connection(node_id))
        try:
            return connection.version_of(request)
        except UnsupportedVersion as error:
            raise self.unsupported(error.message) from error

    def unsupported(self, reason: str) -> UnsupportedVersion:
        return UnsupportedVersion(
            f"{self.what}: {reason}. It takes a broker that serves this; describe_api_versions() tells what each serves"
        )


class Route(Generic[Item]):
    """Which broker is in charge of an item: any will do, unless a route says otherwise."""

    async def nodes(self, _call: Call, items: list[Item], /) -> Mapping[Item, int | MoldauError | None]:
        """A broker for each item, None for any, or why there is none."""
        return dict.fromkeys(items)

    def failed(self, _call: Call, _item: Item, /) -> None:
        """The broker in charge failed for a passing reason: perhaps it is not in charge any more."""


Ask = Callable[[Call, int | None, list[Item]], Awaitable[Mapping[Item, Value | MoldauError]]]


class AdminCalls:
    """Carries calls out."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._timeout_ms = cluster.config.integer("default.api.timeout.ms")
        self._retries = cluster.config.integer("retries")

    def call(self, what: str, timeout_s: float | None) -> Call:
        return Call(self.cluster, what, self._timeout_ms if timeout_s is None else timeout_s * 1000)

    async def one(
        self,
        what: str,
        ask: Callable[[Call, int | None], Awaitable[Value]],
        *,
        route: Route[str] | None = None,
        timeout_s: float | None = None,
    ) -> Value:
        """A call that has one item: itself."""

        async def about_all(call: Call, node_id: int | None, _items: list[str]) -> Mapping[str, Value | MoldauError]:
            return {what: await ask(call, node_id)}

        return (await self.each(what, [what], about_all, route=route, timeout_s=timeout_s))[what]

    async def each(
        self,
        what: str,
        items: Iterable[Item],
        ask: Ask[Item, Value],
        *,
        route: Route[Item] | None = None,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[Item, Value]:
        """Carry a call out for each item."""
        call = self.call(what, timeout_s)
        route = route or Route()
        wanted = list(dict.fromkeys(items))
        outcomes: dict[Item, Value | MoldauError] = {}
        failures: dict[Item, MoldauError] = {}
        pending = wanted
        attempts = 0
        while pending:
            found = await self._round(call, pending, route, ask)
            again = []
            for item in pending:
                got = found.get(item) if item in found else _unanswered(call, item)
                if isinstance(got, MoldauError) and passes(got):
                    route.failed(call, item)
                    failures[item] = got
                    again.append(item)
                elif isinstance(got, TimedOut) and item in failures:
                    outcomes[item] = _given_up(call, item, failures[item], attempts + 1)
                else:
                    outcomes[item] = got  # type: ignore[assignment]  # None may be a value
            pending = again
            delay_ms = self.cluster.backoff.delay_ms(attempts)
            attempts += 1
            if pending and (attempts > self._retries or call.left_ms <= delay_ms):
                outcomes |= {item: _given_up(call, item, failures[item], attempts) for item in pending}
                break
            if pending:
                await asyncio.sleep(delay_ms / 1000)
        results = Results({item: outcomes[item] for item in wanted})
        if raise_errors:
            results.raise_first()
        return results

    async def _round(
        self, call: Call, items: list[Item], route: Route[Item], ask: Ask[Item, Value]
    ) -> dict[Item, Value | MoldauError]:
        found: dict[Item, Value | MoldauError] = {}
        by_node: dict[int | None, list[Item]] = {}
        limit = asyncio.timeout(call.left_ms / 1000)
        try:
            async with limit:
                for item, node in (await route.nodes(call, items)).items():
                    if isinstance(node, MoldauError):
                        found[item] = node
                    else:
                        by_node.setdefault(node, []).append(item)
                async with asyncio.TaskGroup() as group:
                    for node_id, its_items in by_node.items():
                        group.create_task(self._ask_node(call, node_id, its_items, ask, found))
        except TimeoutError:
            if not limit.expired():
                raise
            late = TimedOut(f"{call.what}: no answer within {call.timeout_ms:g} ms")
            return {item: found.get(item, late) for item in items}
        except (Disconnected, ApiError) as error:
            return dict.fromkeys(items, error)
        return found

    @staticmethod
    async def _ask_node(
        call: Call,
        node_id: int | None,
        items: list[Item],
        ask: Ask[Item, Value],
        found: dict[Item, Value | MoldauError],
    ) -> None:
        try:
            found.update(await ask(call, node_id, items))
        except MoldauError as error:
            found.update(dict.fromkeys(items, error))


def passes(error: MoldauError) -> bool:
    """Whether it may go well the next time."""
    if isinstance(error, ApiError):
        return error.code in PASSING
    return isinstance(error, Disconnected)


def _unanswered(call: Call, item: object) -> ApiError:
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{call.what}: the broker's answer does not mention {item}")


def _given_up(call: Call, item: object, last: MoldauError, attempts: int) -> TimedOut:
    about = "" if item == call.what else f" ({item})"
    return TimedOut(
        f"{call.what}{about} did not succeed in {attempts} attempts within {call.timeout_ms:g} ms; last: {last}"
    )
