"""Contract of the coordination store: znodes, versions, sequences and `multi`, by ZooKeeper's rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moldau.cluster.errors import (
    BadArguments,
    BadVersion,
    CoordinationError,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
)
from moldau.cluster.store import DATA_BYTES_MAX, Check, Create, CreateMode, Delete, Operation, SetData, Stat
from tests.unit.cluster.store_under_contract import Scenario, StoreUnderContract

Contract = Callable[[Scenario], None]


def test_a_znode_keeps_data_and_tells_null_from_empty(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        for name, data in (("null", None), ("empty", b""), ("bytes", b"\x00\xff")):
            assert await session.create(f"/{name}", data) == f"/{name}"
            znode = await session.get(f"/{name}")
            assert znode.data == data
            assert znode.stat.data_length == len(data or b"")
        assert await session.children("/") == ["bytes", "empty", "null"]

    contract(scenario)


def test_the_stat_counts_changes_of_data_and_of_children(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/a", b"1")
        created = (await session.get("/a")).stat
        assert (created.version, created.cversion, created.num_children) == (0, 0, 0)
        assert created.czxid == created.mzxid == created.pzxid
        assert created.ephemeral_owner == 0
        written = await session.set("/a", b"12")
        assert written == (await session.get("/a")).stat
        assert (written.version, written.data_length, written.czxid) == (1, 2, created.czxid)
        assert written.mzxid > created.mzxid
        assert written.mtime_ms >= written.ctime_ms == created.ctime_ms
        await session.create("/a/b")
        await session.create("/a/c")
        await session.delete("/a/b")
        parent = await session.exists("/a")
        assert parent is not None
        assert (parent.version, parent.cversion, parent.num_children) == (1, 3, 1)
        assert parent.pzxid > written.mzxid == parent.mzxid

    contract(scenario)


def test_a_write_with_the_wrong_version_is_refused_and_changes_nothing(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/a", b"1")
        await session.set("/a", b"2", version=0)
        before = await session.get("/a")
        with pytest.raises(BadVersion):
            await session.set("/a", b"3", version=0)
        with pytest.raises(BadVersion):
            await session.delete("/a", version=0)
        assert await session.get("/a") == before
        await session.delete("/a", version=1)
        assert await session.exists("/a") is None

    contract(scenario)


def test_each_refusal_has_its_own_error(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/a")
        await session.create("/a/b")
        await session.create("/e", None, CreateMode.EPHEMERAL)
        with pytest.raises(NodeExists):
            await session.create("/a")
        with pytest.raises(NodeExists):
            await session.create("/")
        with pytest.raises(NoNode):
            await session.create("/x/y")
        with pytest.raises(NoNode):
            await session.get("/x")
        with pytest.raises(NoNode):
            await session.children("/x")
        with pytest.raises(NoNode):
            await session.set("/x", b"")
        with pytest.raises(NoNode):
            await session.delete("/x")
        with pytest.raises(NotEmpty):
            await session.delete("/a")
        with pytest.raises(NoChildrenForEphemerals):
            await session.create("/e/child")

    contract(scenario)


@pytest.mark.parametrize(
    "path", ["", "a", "/a/", "//", "/a//b", "/.", "/a/../b", "/a/.", "/\x00", "/\x1f", "/\x85", "/\ue000", "/😀"]
)
def test_paths_that_zookeeper_refuses_are_refused(contract: Contract, path: str) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        with pytest.raises(BadArguments):
            await session.create(path)
        with pytest.raises(BadArguments):
            await session.exists(path)

    contract(scenario)


def test_unusual_names_and_large_data_are_kept(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        for path in ("/...", "/a b%", "/<default>", "/тема", "/.a"):
            await session.create(path, b"x" * 1000)
        await session.create("/large", bytes(900_000))
        assert len((await session.get("/large")).data or b"") == 900_000
        with pytest.raises(CoordinationError):
            await session.set("/large", bytes(DATA_BYTES_MAX + 1))
        assert sorted(await session.children("/")) == sorted(["...", "a b%", "<default>", "тема", ".a", "large"])

    contract(scenario)


def test_sequence_numbers_count_every_child_ever_created(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/q")
        sequential = CreateMode.PERSISTENT_SEQUENTIAL
        assert await session.create("/q/n_", None, sequential) == "/q/n_0000000000"
        await session.create("/q/plain")
        assert await session.create("/q/n_", None, sequential) == "/q/n_0000000002"
        await session.delete("/q/n_0000000002")
        await session.delete("/q/plain")
        assert await session.create("/q/other_", None, CreateMode.EPHEMERAL_SEQUENTIAL) == "/q/other_0000000003"
        assert await session.create("/q/", None, sequential) == "/q/0000000004"

    contract(scenario)


def test_multi_carries_out_all_operations_as_one_change(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/epoch", b"0")
        results = await session.multi(
            [
                Check("/epoch", 0),
                Create("/a", b"1"),
                Create("/a/n_", b"2", CreateMode.PERSISTENT_SEQUENTIAL),
                SetData("/a", b"3", 0),
                SetData("/epoch", b"1", 0),
                Create("/gone"),
                Delete("/gone", 0),
            ]
        )
        assert results[:3] == [None, "/a", "/a/n_0000000000"]
        assert results[5:] == ["/gone", None]
        a, epoch = await session.get("/a"), await session.get("/epoch")
        assert a.data == b"3"
        assert isinstance(results[3], Stat)
        assert results[3].version == 1
        assert a.stat.czxid == a.stat.mzxid == a.stat.pzxid == epoch.stat.mzxid
        assert await session.multi([]) == []

    contract(scenario)


@pytest.mark.parametrize(
    ("index", "operation", "error"),
    [
        (0, Check("/epoch", 7), BadVersion),
        (0, Check("/none"), NoNode),
        (2, Create("/a"), NodeExists),
        (2, SetData("/a", b"", 5), BadVersion),
        (2, Delete("/x"), NoNode),
    ],
)
def test_multi_with_a_failure_changes_nothing_and_says_which(
    contract: Contract, index: int, operation: Operation, error: type[CoordinationError]
) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/epoch", b"0")
        operations: list[Operation] = [Create("/a"), Create("/a/b"), Create("/c")]
        operations.insert(index, operation)
        with pytest.raises(MultiFailed) as failure:
            await session.multi(operations)
        assert failure.value.index == index
        assert type(failure.value.error) is error
        assert await session.children("/") == ["epoch"]
        await session.create("/a")  # nothing of the failed one is left behind

    contract(scenario)


def test_of_two_claimants_with_one_version_only_one_wins(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        first, second = await store.session(), await store.session()
        await first.create("/controller_epoch", b"0")
        claims = [
            session.multi([Create("/controller", name, CreateMode.EPHEMERAL), SetData("/controller_epoch", b"1", 0)])
            for session, name in ((first, b"1"), (second, b"2"))
        ]
        outcomes = await asyncio.gather(*claims, return_exceptions=True)

        losers = [outcome for outcome in outcomes if isinstance(outcome, MultiFailed)]
        assert [type(loser.error) for loser in losers] == [NodeExists]
        assert (await first.get("/controller_epoch")).stat.version == 1

    contract(scenario)


def test_what_was_written_is_there_after_a_restart(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/a", b"1")
        await session.create("/a/n_", None, CreateMode.PERSISTENT_SEQUENTIAL)
        await session.delete("/a/n_0000000000")
        await session.create("/a/e", b"", CreateMode.EPHEMERAL)
        await session.set("/a", b"2")
        before = await session.get("/a")
        await store.restart()
        session = await store.session()
        after = await session.get("/a")
        assert after.data == b"2"
        assert after.stat._replace(pzxid=0) == before.stat._replace(pzxid=0, cversion=4, num_children=0)
        assert await session.children("/a") == []
        assert await session.create("/a/n_", None, CreateMode.PERSISTENT_SEQUENTIAL) == "/a/n_0000000002"
        created = await session.exists("/a/n_0000000002")
        assert created is not None
        assert created.czxid > before.stat.pzxid

    contract(scenario)
