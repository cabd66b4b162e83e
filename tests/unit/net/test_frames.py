"""However a stream is cut, and whoever else reads in between, the same frames come out."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.net.frames import LENT_BYTES_MAX, SCRATCH_BYTES, FramedProtocol, ReceiveBuffers, unpack_size
from moldau.testing.simulation import SimulatedLoop
from tests.unit.net.harness import frame

LOOP = SimulatedLoop(0)


class Recorder(FramedProtocol):
    """Keeps whole frames; can be told to stop after some of them, as a connection does under load."""

    def __init__(self, buffers: ReceiveBuffers) -> None:
        super().__init__(LOOP, buffers)
        self.frames: list[bytes] = []
        self.may_take = 10**9
        self.stopped = False

    def _consume(self, data: memoryview, filled: int) -> int:
        position = 0
        self.stopped = False
        while filled - position >= 4:
            (size,) = unpack_size(data, position)
            if position + 4 + size > filled:
                break
            if not self.may_take:
                self.stopped = True
                break
            self.may_take -= 1
            self.frames.append(data[position + 4 : position + 4 + size].tobytes())
            position += 4 + size
        return position

    def go_on(self) -> None:
        self._consume_rest()


def cut(lengths: list[int], turn: int) -> int:
    """The length of a read; after a while they get long, so that a test ends."""
    return lengths[turn % len(lengths)] if turn < 300 else SCRATCH_BYTES


def feed(protocol: Recorder, data: bytes) -> int:
    """One read of a transport: as much as the protocol's buffer takes; how much that was."""
    buffer = protocol.get_buffer(-1)
    length = min(len(buffer), len(data))
    assert length > 0
    buffer[:length] = data[:length]
    protocol.buffer_updated(length)
    return length


sizes = st.one_of(
    st.integers(0, 40), st.integers(0, 3 * SCRATCH_BYTES), st.sampled_from([SCRATCH_BYTES - 4, SCRATCH_BYTES])
)
streams = st.lists(sizes, max_size=8)
cuts = st.lists(st.one_of(st.integers(1, 10), st.integers(1, 2 * SCRATCH_BYTES)), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(sizes_of=st.lists(streams, min_size=1, max_size=3), lengths=cuts, seed=st.integers())
def test_any_segmentation_gives_the_same_frames(sizes_of: list[list[int]], lengths: list[int], seed: int) -> None:
    order = random.Random(seed)
    buffers = ReceiveBuffers()
    expected = [[order.randbytes(size) for size in sizes] for sizes in sizes_of]
    rests = [b"".join(map(frame, payloads)) for payloads in expected]
    protocols = [Recorder(buffers) for _ in sizes_of]
    turn = 0
    while any(rests):
        index = order.choice([number for number, rest in enumerate(rests) if rest])
        read = feed(protocols[index], rests[index][: cut(lengths, turn)])
        rests[index] = rests[index][read:]
        turn += 1
    assert [protocol.frames for protocol in protocols] == expected


@settings(max_examples=60, deadline=None)
@given(sizes=streams, lengths=cuts, allowances=st.lists(st.integers(0, 3), min_size=1, max_size=10))
def test_stopping_and_going_on_loses_and_doubles_nothing(
    sizes: list[int], lengths: list[int], allowances: list[int]
) -> None:
    protocol = Recorder(ReceiveBuffers())
    expected = [bytes([number]) * size for number, size in enumerate(sizes)]
    rest = b"".join(map(frame, expected))
    turn = 0
    protocol.may_take = allowances[0]
    while rest:
        read = feed(protocol, rest[: cut(lengths, turn)])
        rest = rest[read:]
        while protocol.stopped:  # a transport delivers nothing meanwhile
            turn += 1
            protocol.may_take = allowances[turn % len(allowances)] or (turn % 7 == 0)
            protocol.go_on()
        turn += 1
    assert protocol.frames == expected


def test_an_idle_connection_holds_no_buffer_of_its_own() -> None:
    buffers = ReceiveBuffers()
    protocol = Recorder(buffers)
    for size in (10, SCRATCH_BYTES, 1_000_000):
        data = frame(bytes(size))
        while data:
            data = data[feed(protocol, data) :]
    assert protocol.get_buffer(-1) is buffers.scratch


def test_a_long_frame_is_read_without_moving_what_has_arrived() -> None:
    """The second time: the first time its buffer has to grow, later a spare one serves."""
    buffers = ReceiveBuffers()
    protocol = Recorder(buffers)
    seen: set[int] = set()
    for _ in range(2):
        seen.clear()
        data = frame(bytes(1_000_000))
        while data:
            data = data[feed(protocol, data[:50_000]) :]
            if protocol._long is not None:
                seen.add(id(protocol._long))
    assert len(seen) == 1


def test_a_lent_buffer_is_used_again_only_when_its_views_are_gone() -> None:
    buffers = ReceiveBuffers(eager_bytes=10_000_000)
    held, free = buffers.take(50_000, 1_000_000), buffers.take(50_000, 1_000_000)
    assert held == free  # in their contents, which must not matter
    view = memoryview(held)[10:20]
    buffers.lend(held)
    buffers.lend(free)
    assert buffers.take(50_000, 1_000_000) is free
    third = buffers.take(50_000, 1_000_000)
    assert third is not free
    assert third is not held
    view.release()
    assert buffers.take(50_000, 1_000_000) is held
    assert len(held) >= 1_000_000


def test_lent_buffers_are_remembered_up_to_a_bound() -> None:
    buffers = ReceiveBuffers(eager_bytes=10_000_000)
    lent = [buffers.take(50_000, 8_000_000) for _ in range(7)]
    for each in lent:
        buffers.lend(each)
    again = [buffers.take(50_000, 8_000_000) for _ in range(5)]
    assert sum(any(one is other for other in lent) for one in again) == LENT_BYTES_MAX >> 23
