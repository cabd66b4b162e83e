"""What a server refuses to take on: too many requests, clients that do not read, sizes only announced."""

from __future__ import annotations

import asyncio
import struct
import tracemalloc

from moldau.net.answer import Answer
from moldau.net.frames import SPARE_BYTES_MAX
from moldau.net.limits import Limits
from tests.unit.net.harness import (
    Collector,
    Run,
    connect,
    echo,
    run_on_uvloop,
    settle,
    start,
    until,
)


def test_queued_requests_are_bounded_for_all_connections_together(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(queued_requests_max=3))
        clients = [await connect(server) for _ in range(2)]
        for client in clients:
            client.send(*(bytes([number]) for number in range(5)))
        await handler.until(3)
        await settle()
        assert len(handler.requests) == server.queue.open == 3
        for done in range(10):
            await handler.until(done + 1)
            handler.answers[done].send((handler.requests[done],))
            await handler.until(min(10, done + 4))
            await settle()
            assert len(handler.requests) == min(10, done + 4)
        for client in clients:
            await client.expect(*(bytes([number]) for number in range(5)))
        assert server.queue.open == 0

    run(main)


def test_parked_requests_do_not_stop_the_others(run: Run) -> None:
    def handle(request: memoryview, answer: Answer) -> None:
        if request.tobytes() == b"long poll":
            answer.park()
        else:
            answer.send((request.tobytes(),))

    async def main() -> None:
        server = await start(handle, Limits(queued_requests_max=1))
        for _ in range(10):
            (await connect(server)).send(b"long poll")
        await until(lambda: server.traffic.requests == 10)
        client = await connect(server)
        client.send(b"a", b"b")
        await client.expect(b"a", b"b")

    run(main)


def test_parking_a_queued_request_makes_room_for_the_next(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(queued_requests_max=1))
        client = await connect(server)
        client.send(b"a", b"b")
        await handler.until(1)
        await settle()
        assert handler.requests == [b"a"]
        handler.answers[0].park()
        handler.answers[0].park()  # saying it again changes nothing
        await handler.until(2)
        handler.answers[1].send((b"b",))
        handler.answers[0].send((b"a",))
        await client.expect(b"a", b"b")
        assert server.queue.open == 0

    run(main)


def test_who_waits_for_the_queue_is_served_in_turn(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(queued_requests_max=1))
        clients = [await connect(server) for _ in range(3)]
        for name, client in zip(b"abc", clients, strict=True):
            client.send(*[bytes([name])] * 2)
            await settle()
        for done in range(6):
            await handler.until(done + 1)
            handler.answers[done].send((b"ok",))
        assert b"".join(handler.requests) == b"aabcbc"

    run(main)


def test_open_requests_of_one_connection_are_bounded_even_if_parked(run: Run) -> None:
    handler = Collector()

    def handle(request: memoryview, answer: Answer) -> None:
        handler(request, answer)
        answer.park()

    async def main() -> None:
        handler.__init__()  # type: ignore[misc]  # a fresh one for every run
        server = await start(handle, Limits(open_requests_per_connection_max=4))
        client = await connect(server)
        wanted = [bytes([number]) for number in range(10)]
        client.send(*wanted)
        await handler.until(4)
        await settle()
        assert len(handler.requests) == 4
        handler.answers[1].send((wanted[1],))
        await settle()
        assert len(handler.requests) == 4  # the first one still holds its place, and the second's bytes
        for done in range(10):
            await handler.until(done + 1)
            if done != 1:
                handler.answers[done].send((wanted[done],))
        await client.expect(*wanted)

    run(main)


def test_a_client_that_does_not_read_is_not_read(run: Run) -> None:
    answer_bytes, requests = 50_000, 150

    def handle(request: memoryview, answer: Answer) -> None:
        answer.send((request.tobytes(), bytes(answer_bytes)))

    async def main() -> None:
        limits = Limits(write_buffer_high_bytes=100_000, write_buffer_low_bytes=10_000)
        server = await start(handle, limits)
        client = await connect(server)
        client.transport.pause_reading()
        tracemalloc.start()
        for number in range(requests):
            client.send(struct.pack(">i", number))
        await settle()
        _now, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        handled = server.traffic.requests
        # What was written and is not read lies in socket buffers, the high mark and one answer above it.
        assert handled * answer_bytes < 5_000_000 < requests * answer_bytes
        assert peak_bytes < 2_000_000
        await settle()
        assert server.traffic.requests == handled
        client.transport.resume_reading()
        await until(lambda: len(client.received) == requests * (8 + answer_bytes))
        assert [struct.unpack(">i", each[:4])[0] for each in client.frames()] == list(range(requests))

    run(main)


def test_a_flood_of_tiny_requests_with_larger_answers_is_bounded(run: Run) -> None:
    """All of them arrive in one read; answering them at once must not put all answers in memory."""

    def handle(request: memoryview, answer: Answer) -> None:
        answer.send((bytes(15_000),))

    async def main() -> None:
        server = await start(handle, Limits(write_buffer_high_bytes=100_000))
        client = await connect(server)
        client.transport.pause_reading()
        client.send(*[b"x"] * 12_000)
        await settle()
        assert server.traffic.requests < 1000

    run(main)


def test_an_announced_size_costs_nothing_until_the_bytes_come() -> None:
    async def main() -> None:
        server = await start(echo)
        clients = [await connect(server) for _ in range(50)]
        tracemalloc.start()
        for client in clients:
            client.transport.write(struct.pack(">i", 100_000_000) + bytes(40_000))
        await until(lambda: tracemalloc.get_traced_memory()[0] >= 50 * 40_000)
        await settle()
        held_bytes, _peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held_bytes < 4 * 50 * 40_000

    run_on_uvloop(main)


def test_a_large_request_is_whole_and_its_buffer_goes_back(run: Run) -> None:
    async def main() -> None:
        server = await start(echo, Limits(connection_idle_ms_max=400))
        client = await connect(server)
        request = bytes(range(256)) * 2000
        client.send(request, request, b"small")
        await client.expect(request, request, b"small")
        await until(lambda: server.buffers.spare_bytes == 0)  # two sweeps later

    run(main)


def test_spare_buffers_are_bounded() -> None:
    async def main() -> None:
        server = await start(echo)
        clients = [await connect(server) for _ in range(20)]
        for client in clients:
            client.transport.write(struct.pack(">i", 3_000_000) + bytes(2_999_999))
        await asyncio.sleep(0.1)
        for client in clients:
            client.transport.write(b"!")
        for client in clients:
            await until(lambda client=client: len(client.received) == 3_000_004)  # type: ignore[misc]
        assert 0 < server.buffers.spare_bytes <= SPARE_BYTES_MAX

    run_on_uvloop(main)
