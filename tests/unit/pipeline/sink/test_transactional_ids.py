"""Ids of attempts: unique within a batch, used again in the next, and told apart from other sinks'."""

from __future__ import annotations

import pytest

from moldau.pipeline.sink.transactional_ids import IdPool, generation_of, new_generation

SINK = "moldau-sink.a"


def test_ids_are_used_again_with_the_next_batch_only() -> None:
    pool, generation = IdPool(SINK), new_generation()
    first = [pool.take(generation, 1) for _ in range(3)]
    assert len(set(first)) == 3
    assert [pool.take(generation, 2) for _ in range(3)] == first
    assert pool.take(generation, 1) not in first  # an attempt that is started late
    assert not {pool.take(new_generation(), 3) for _ in range(3)} & {*first}


def test_processes_do_not_share_ids() -> None:
    generation = new_generation()
    assert IdPool(SINK).take(generation, 0) != IdPool(SINK).take(generation, 0)


def test_an_id_tells_its_generation_to_its_sink_alone() -> None:
    generation = new_generation()
    transactional_id = IdPool(SINK).take(generation, 0)
    assert generation_of(transactional_id, SINK) == generation
    assert generation_of(transactional_id, "moldau-sink") is None
    assert generation_of(transactional_id, SINK + ".b") is None
    assert generation_of(IdPool(SINK + ".b").take(generation, 0), SINK) is None


@pytest.mark.parametrize("name", [SINK, SINK + ".x", f"{SINK}.{'0' * 12}", f"{SINK}.{'0' * 12}.{'0' * 8}.1x", ""])
def test_other_ids_have_none(name: str) -> None:
    assert generation_of(name, SINK) is None
