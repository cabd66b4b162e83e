"""Requests in, answers out: order, parking, skipping, failures of handlers, odd sizes."""

from __future__ import annotations

import asyncio
import logging
import struct

import pytest

from moldau.base.errors import MalformedMessage
from moldau.net.answer import Answer
from moldau.net.connection import Connection
from moldau.net.limits import Limits
from moldau.net.traffic import CloseReason
from tests.unit.net.harness import Collector, Run, connect, echo, frame, settle, start, until


def test_pipelined_requests_are_answered(run: Run) -> None:
    async def main() -> None:
        server = await start(echo)
        client = await connect(server)
        client.send(b"one", b"two", b"three")
        await client.expect(b"one", b"two", b"three")
        assert server.traffic.requests == 3
        assert server.traffic.bytes_in == server.traffic.bytes_out == len(client.received)
        assert await server.drain(1000) == 0

    run(main)


def test_answers_given_out_of_order_leave_in_order(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler)
        client = await connect(server)
        client.send(b"a", b"b", b"c", b"d")
        await handler.until(4)
        for index in (2, 3, 1):
            handler.answers[index].send((handler.requests[index], b"!"))
        await settle()
        assert client.frames() == []
        handler.answers[0].send((b"first",))
        await client.expect(b"first", b"b!", b"c!", b"d!")

    run(main)


def test_an_answer_at_once_waits_for_an_earlier_one(run: Run) -> None:
    async def main() -> None:
        kept: list[Answer] = []

        def handle(request: memoryview, answer: Answer) -> None:
            if request.tobytes() == b"slow":
                kept.append(answer)
            else:
                answer.send((request.tobytes(),))

        server = await start(handle)
        client = await connect(server)
        client.send(b"quick", b"slow", b"quicker")
        await client.expect(b"quick")
        kept[0].send((b"done",))
        await client.expect(b"quick", b"done", b"quicker")

    run(main)


def test_a_later_request_may_complete_an_earlier_one_from_its_handler(run: Run) -> None:
    async def main() -> None:
        kept: list[Answer] = []

        def handle(request: memoryview, answer: Answer) -> None:
            if request.tobytes() == b"poll":
                answer.park()
                kept.append(answer)
            else:
                answer.send((b"stored",))
                kept.pop().send((b"news",))

        # Both places of the connection are taken when the third request is looked at, and free after it.
        server = await start(handle, Limits(open_requests_per_connection_max=2))
        client = await connect(server)
        client.send(b"poll", b"produce", b"poll", b"produce")
        await client.expect(b"news", b"stored", b"news", b"stored")

    run(main)


def test_a_skipped_request_has_no_answer_and_holds_nobody_up(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler)
        client = await connect(server)
        client.send(b"acks=0", b"acks=1")
        await handler.until(2)
        handler.answers[1].send((b"ok",))
        handler.answers[0].skip()
        await client.expect(b"ok")

    run(main)


def test_answering_twice_is_a_broken_invariant(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler)
        client = await connect(server)
        client.send(b"a")
        await handler.until(1)
        handler.answers[0].send((b"a",))
        with pytest.raises(AssertionError, match="exactly once"):
            handler.answers[0].skip()
        await client.expect(b"a")

    run(main)


def test_answering_when_the_client_is_gone_is_harmless(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler)
        closed: list[Connection] = []
        client = await connect(server)
        client.send(b"a", b"b")
        await handler.until(2)
        handler.answers[0].connection.on_close(closed.append)
        client.transport.close()
        await until(lambda: server.connections == 0)
        handler.answers[1].send((b"late",))
        handler.answers[0].park()
        handler.answers[0].skip()
        assert closed == [handler.answers[0].connection]
        assert server.queue.open == 0
        assert server.traffic.closed == {CloseReason.CLIENT: 1}

    run(main)


@pytest.mark.parametrize("size", [0, -1, 1001, 2**31 - 1], ids=["zero", "negative", "too large", "2 GB"])
def test_a_request_size_out_of_bounds_closes_with_one_line(
    run: Run, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        caplog.clear()
        server = await start(echo, Limits(request_bytes_max=1000))
        client = await connect(server)
        client.send(bytes(1000))
        await client.expect(bytes(1000))
        client.transport.write(struct.pack(">i", size) + b"anything")
        await client.lost
        (line,) = caplog.messages
        assert f"request size {size}, allowed are 1 to 1000" in line
        assert client.transport.get_extra_info("sockname")[0] in line
        assert server.traffic.closed == {CloseReason.REQUEST_SIZE: 1}

    run(main)


def test_a_malformed_request_closes_its_connection_with_one_line(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def handle(request: memoryview, answer: Answer) -> None:
        if request.tobytes() == b"bad":
            raise MalformedMessage("an array of 2147483647 elements in 7 bytes")
        answer.send((request.tobytes(),))

    async def main() -> None:
        caplog.clear()
        server = await start(handle)
        client, other = await connect(server), await connect(server)
        client.send(b"good", b"bad", b"never read")
        await client.lost
        other.send(b"still here")
        await other.expect(b"still here")
        assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.WARNING, None)]
        assert "an array of 2147483647 elements in 7 bytes" in caplog.messages[0]
        assert server.traffic.requests == 3  # good, bad and the other's: what failed is counted as well
        assert server.traffic.closed == {CloseReason.MALFORMED: 1}

    run(main)


def test_a_failing_handler_costs_its_connection_and_nothing_else(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def handle(request: memoryview, answer: Answer) -> None:
        if request.tobytes() == b"bad":
            raise ZeroDivisionError
        answer.send((request.tobytes(),))

    async def main() -> None:
        caplog.clear()
        server = await start(handle)
        client, other = await connect(server), await connect(server)
        client.send(b"bad")
        await client.lost
        other.send(b"still here")
        await other.expect(b"still here")
        (record,) = caplog.records
        assert record.exc_info is not None
        assert record.exc_info[0] is ZeroDivisionError
        assert server.traffic.closed == {CloseReason.HANDLER_FAILED: 1}

    run(main)


def test_a_handler_may_close_after_its_answer(run: Run) -> None:
    def handle(request: memoryview, answer: Answer) -> None:
        answer.send((b"no",))
        answer.connection.close(CloseReason.AUTHENTICATION)

    async def main() -> None:
        server = await start(handle)
        client = await connect(server)
        client.send(b"password")
        await client.lost
        assert client.frames() == [b"no"]
        assert server.traffic.closed == {CloseReason.AUTHENTICATION: 1}

    run(main)


def test_handlers_see_who_asks(run: Run) -> None:
    seen: list[Connection] = []

    def handle(request: memoryview, answer: Answer) -> None:
        connection = answer.connection
        connection.session = request.tobytes() if connection.session is None else connection.session
        seen.append(connection)
        assert isinstance(connection.session, bytes)
        answer.send((connection.session,))

    async def main() -> None:
        seen.clear()
        server = await start(handle)
        client = await connect(server)
        client.send(b"me", b"again")
        await client.expect(b"me", b"me")
        connection = seen[0]
        assert connection.listener == "PLAINTEXT"
        assert (connection.peer_host, connection.peer_port) == client.transport.get_extra_info("sockname")
        assert connection.local_address == server.addresses["PLAINTEXT"]

    run(main)


def test_a_half_frame_is_kept_until_the_rest_comes(run: Run) -> None:
    async def main() -> None:
        server = await start(echo)
        client = await connect(server)
        whole = frame(b"x" * 100_000)
        for start_ in range(0, len(whole), 30_000):
            client.transport.write(whole[start_ : start_ + 30_000])
            await asyncio.sleep(0.01)
        await client.expect(b"x" * 100_000)

    run(main)
