"""Memory for reads is used again, and never while somebody looks at it."""

from __future__ import annotations

from moldau.storage.read_buffers import KEPT_BYTES_MAX, KEPT_MAX, SMALL_BYTES_MAX, ReadBuffers

SIZE = SMALL_BYTES_MAX + 1000


def test_memory_that_nobody_looks_at_is_used_again() -> None:
    buffers = ReadBuffers()
    first = buffers.take(SIZE)
    first[:4] = b"mark"
    del first
    assert bytes(buffers.take(SIZE - 500)[:4]) == b"mark"


def test_memory_that_somebody_looks_at_is_left_alone() -> None:
    buffers = ReadBuffers()
    taken = [buffers.take(SIZE) for _ in range(KEPT_MAX * 3)]
    for number, view in enumerate(taken):
        view[:] = bytes([number]) * SIZE
    assert [set(view.tobytes()) for view in taken] == [{number} for number in range(len(taken))]
    part = taken[3][10:20]
    taken.clear()
    more = [buffers.take(SIZE) for _ in range(KEPT_MAX)]
    for view in more:
        view[:] = b"x" * SIZE
    assert part.tobytes() == bytes([3]) * 10


def test_what_is_small_or_huge_is_new_and_as_long_as_asked_for() -> None:
    buffers = ReadBuffers()
    for size in (0, 1, SMALL_BYTES_MAX, SIZE, KEPT_BYTES_MAX, KEPT_BYTES_MAX + 1):
        assert len(buffers.take(size)) == size
    large = buffers.take(KEPT_BYTES_MAX + 1)
    large[:4] = b"mark"
    del large
    assert bytes(buffers.take(KEPT_BYTES_MAX + 1)[:4]) == bytes(4)
