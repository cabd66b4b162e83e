"""Random requests of several sessions, in bursts, with restarts: the embedded store against a simple model.

Requests of a burst are asked for without waiting for each other, so that they are decided against changes that are
not committed; the model takes them one after another.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.clock import VirtualClock
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import CoordinationError, MultiFailed
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.session import EmbeddedSession
from moldau.cluster.store import Check, Create, CreateMode, Delete, Operation, SetData, Stat
from tests.property.coordination_model import Model

SESSIONS = 3

_paths = st.sampled_from(["/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/a/n0000000000", "/a/n0000000001"])
_versions = st.sampled_from([-1, -1, -1, 0, 1, 2])
_data = st.sampled_from([None, b"", b"x"])
_operations: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Create, _paths, _data, st.sampled_from([CreateMode.PERSISTENT, CreateMode.EPHEMERAL])),
    st.builds(Create, st.sampled_from(["/a/n", "/n"]), _data, st.sampled_from(CreateMode)),
    st.builds(SetData, _paths, _data, _versions),
    st.builds(Delete, _paths, _versions),
    st.builds(Check, _paths, _versions),
)


@dataclass(frozen=True)
class Ask:
    session: int
    operations: list[Operation]


@dataclass(frozen=True)
class Expire:
    session: int


@dataclass(frozen=True)
class Crash:
    pass


_numbers = st.integers(0, SESSIONS - 1)
_asks = st.builds(Ask, _numbers, st.lists(_operations, min_size=1, max_size=4))
_bursts = st.lists(_asks, min_size=1, max_size=6)
_steps = st.lists(st.one_of(_bursts, _bursts, _bursts, st.builds(Expire, _numbers), st.builds(Crash)), max_size=25)


class Comparison:
    def __init__(self) -> None:
        self.model = Model()
        self._persistence = MemoryPersistence()
        self._sessions: list[EmbeddedSession] = []

    async def start(self) -> None:
        """Also after a crash: the old store is left as it is, with its sessions."""
        self._store = await EmbeddedStore.open(self._persistence, VirtualClock())
        for session in self._sessions:
            self.model.end(session.session_id)
        self._sessions = [await self._store.open_session(6000) for _ in range(SESSIONS)]

    async def expire(self, number: int) -> None:
        self.model.end(self._sessions[number].session_id)
        await self._store.expire(self._sessions[number].session_id)
        self._sessions[number] = await self._store.open_session(6000)

    async def burst(self, asks: list[Ask]) -> None:
        expected = [self.model.carry_out(self._sessions[ask.session].session_id, ask.operations) for ask in asks]
        actual = await asyncio.gather(*(self._ask(ask) for ask in asks))
        assert actual == expected

    async def _ask(self, ask: Ask) -> tuple[int, str] | list[str]:
        session = self._sessions[ask.session]
        operations = ask.operations
        try:
            if len(operations) == 1 and isinstance(operations[0], Create):
                return [await session.create(operations[0].path, operations[0].data, operations[0].mode)]
            results = await session.multi(operations)
        except MultiFailed as failure:
            return failure.index, type(failure.error).__name__
        except CoordinationError as error:
            return 0, type(error).__name__
        assert all(isinstance(r, Stat) is isinstance(o, SetData) for r, o in zip(results, operations, strict=True))
        return [r if isinstance(r, str) else o.path for r, o in zip(results, operations, strict=True)]

    async def check(self) -> None:
        session = self._sessions[0]
        await session.exists("/")  # behind everything the session asked for
        for path, expected in self.model.znodes.items():
            data, stat = await session.get(path)
            assert await session.children(path) == self.model.children(path)
            assert (data, stat.version, stat.ephemeral_owner) == (expected.data, expected.version, expected.owner)
            assert stat.cversion == expected.children_created + expected.children_deleted
            assert stat.num_children == expected.children_created - expected.children_deleted
            assert stat.czxid <= min(stat.mzxid, stat.pzxid)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(_steps)
def test_the_embedded_store_agrees_with_the_model(steps: list[list[Ask] | Expire | Crash]) -> None:
    async def main() -> None:
        comparison = Comparison()
        await comparison.start()
        for step in steps:
            if isinstance(step, Expire):
                await comparison.expire(step.session)
            elif isinstance(step, Crash):
                await comparison.start()
            else:
                await comparison.burst(step)
            await comparison.check()

    asyncio.run(main())
