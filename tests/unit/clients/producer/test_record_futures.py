"""A record that is awaited: its answer may come while the loop is kept awake for it, or after that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.records import TopicPartition
from moldau.records.record import NO_TIMESTAMP

TURNS = 5
OF = TopicPartition("t", 0)


def batch_of(count: int) -> ProducerBatch:
    batch = ProducerBatch(OF, 1_000, 0.0, awaitable=True)
    for _ in range(count):
        batch.append(7, None, b"v", ())
    batch.hurry = lambda: TURNS
    return batch


def awaited(batch: ProducerBatch, place: int, after_turns: int, happens: Callable[[], None]) -> int:
    """The offset, when something happens so many turns of the loop after it is awaited."""

    async def run() -> int:
        async def soon() -> None:
            for _ in range(after_turns):
                await asyncio.sleep(0)
            happens()

        task = asyncio.create_task(soon())
        metadata = await asyncio.wait_for(asyncio.create_task(_metadata(RecordFuture(batch, place, 7, -1, 1))), 5)
        await task
        return metadata

    return asyncio.run(run())


async def _metadata(future: RecordFuture) -> int:
    return (await future).offset


@pytest.mark.parametrize("after_turns", [0, 2, TURNS, TURNS + 3])
def test_it_is_heard_whenever_the_answer_comes(after_turns: int) -> None:
    batch = batch_of(2)
    assert awaited(batch, 1, after_turns, lambda: batch.complete(40, NO_TIMESTAMP, None)) == 41


@pytest.mark.parametrize("after_turns", [0, 2, TURNS, TURNS + 3])
def test_it_is_found_in_the_piece_that_it_went_into(after_turns: int) -> None:
    batch, pieces = batch_of(3), [batch_of(1), batch_of(2)]

    def split() -> None:
        batch.split_into(pieces)
        asyncio.get_running_loop().call_later(0.01, lambda: pieces[1].complete(50, NO_TIMESTAMP, None))

    assert awaited(batch, 2, after_turns, split) == 51


def test_who_waits_for_a_batch_that_was_sent_keeps_nobody_awake() -> None:
    batch = batch_of(1)
    batch.hurry = lambda: pytest.fail("it is on its way already")
    batch.closed = True
    assert awaited(batch, 0, 1, lambda: batch.complete(3, NO_TIMESTAMP, None)) == 3
