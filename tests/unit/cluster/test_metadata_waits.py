"""Waiting for what the controller does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moldau.cluster.metadata_cache import LEADER_DURING_DELETE, NO_LEADER, MetadataCache
from moldau.cluster.metadata_waits import MetadataWaits
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

Scenario = Callable[[MetadataCache, MetadataWaits], Awaitable[None]]


def run(scenario: Scenario) -> None:
    async def main() -> None:
        cache = MetadataCache()
        waits = MetadataWaits(cache)
        await scenario(cache, waits)
        assert waits._waits == {}, "nothing is kept for a wait that is over"

    asyncio.run(main())


def lead(cache: MetadataCache, topic: str, leaders: dict[int, int]) -> None:
    states = [UpdateMetadataPartitionState(partition_index=index, leader=leader) for index, leader in leaders.items()]
    topic_state = UpdateMetadataTopicState(topic_name=topic, topic_id=b"x" * 16, partition_states=states)
    cache.apply(UpdateMetadataRequest(topic_states=[topic_state]), 8)


def test_a_wait_is_over_when_the_last_partition_has_a_leader() -> None:
    async def scenario(cache: MetadataCache, waits: MetadataWaits) -> None:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(waits.until_led({"a": [0, 1], "b": [0]}, 5_000))
            for topic, leaders in (("a", {0: 1, 1: NO_LEADER}), ("b", {0: 1}), ("c", {0: 1})):
                await asyncio.sleep(0)
                lead(cache, topic, leaders)
                assert not waiting.done()
            lead(cache, "a", {1: 2})
            await asyncio.sleep(0)
            assert await waiting == set()

    run(scenario)


def test_what_is_there_already_is_not_waited_for() -> None:
    async def scenario(cache: MetadataCache, waits: MetadataWaits) -> None:
        lead(cache, "a", {0: 1})
        assert await waits.until_led({"a": [0]}, 1) == set()
        assert await waits.until_gone(["b"], 1) == set()

    run(scenario)


def test_a_wait_ends_after_its_timeout_with_what_is_missing() -> None:
    async def scenario(cache: MetadataCache, waits: MetadataWaits) -> None:
        lead(cache, "a", {0: 1})
        assert await waits.until_led({"a": [0], "b": [0]}, 10) == {"b"}
        assert await waits.until_gone(["a", "b"], 10) == {"a"}

    run(scenario)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_nothing_is_waited_for_and_everything_is_late(timeout_ms: int) -> None:
    async def scenario(cache: MetadataCache, waits: MetadataWaits) -> None:
        lead(cache, "a", {0: 1})
        assert await waits.until_led({"a": [0], "b": [0]}, timeout_ms) == {"a", "b"}

    run(scenario)


def test_several_requests_wait_for_the_same_deletion() -> None:
    async def scenario(cache: MetadataCache, waits: MetadataWaits) -> None:
        lead(cache, "a", {0: 1})
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(waits.until_gone(["a"], 5_000)) for _ in range(3)]
            await asyncio.sleep(0)
            lead(cache, "a", {0: LEADER_DURING_DELETE})
        assert [one.result() for one in waiting] == [set(), set(), set()]

    run(scenario)


def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    async def scenario(_cache: MetadataCache, waits: MetadataWaits) -> None:
        waiting = asyncio.get_running_loop().create_task(waits.until_led({"a": [0]}, 5_000))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()

    run(scenario)
