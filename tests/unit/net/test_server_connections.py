"""Who may connect and who has to go: totals, addresses, the waiting room, idleness."""

from __future__ import annotations

import asyncio

import pytest

from moldau.net.limits import UNLIMITED, Limits
from moldau.net.server import Listener, Server
from moldau.net.traffic import CloseReason
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.unit.net.harness import Collector, Run, connect, echo, settle, start, started, until


def test_beyond_max_connections_newcomers_wait_unread_then_are_refused(run: Run) -> None:
    async def main() -> None:
        server = await start(echo, Limits(connections_max=2, listen_backlog_size=1))
        first, _second = await connect(server), await connect(server)
        await until(lambda: server.connections == 2)
        waiting = await connect(server)
        waiting.send(b"let me in")
        await until(lambda: len(server.admission.waiting) == 1)
        refused = await connect(server)
        await refused.lost
        await settle()
        assert waiting.frames() == []
        first.transport.close()
        await waiting.expect(b"let me in")
        assert server.connections == 2
        assert server.traffic.closed == {CloseReason.TOO_MANY: 1, CloseReason.CLIENT: 1}

    run(main)


def test_a_flood_in_the_waiting_room_is_not_read(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(connections_max=0))
        many, one = await connect(server), await connect(server)
        many.send(*[bytes(10_000)] * 500)
        one.send(bytes(5_000_000))
        await settle()
        assert handler.requests == []
        assert many.transport.get_write_buffer_size() > 0
        assert one.transport.get_write_buffer_size() > 0
        server.change_limits(Limits())
        await handler.until(100)

    run(main)


def test_connections_of_one_address_are_bounded_at_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        caplog.clear()
        server = await start(echo, Limits(connections_per_ip_max=2))
        kept = [await connect(server) for _ in range(2)]
        for _ in range(3):
            refused = await connect(server)
            await refused.lost
        with caplog.at_level("INFO"):
            assert server.traffic.closed == {CloseReason.TOO_MANY_OF_IP: 3}
        kept[0].transport.close()
        await until(lambda: server.connections == 1)
        client = await connect(server)
        client.send(b"in")
        await client.expect(b"in")

    with caplog.at_level("INFO", logger="moldau.net"):
        run(main)
    assert 1 <= len(caplog.messages) <= 2
    assert "allowed: 2" in caplog.messages[0]


def test_an_address_may_have_a_limit_of_its_own(run: Run) -> None:
    async def main() -> None:
        overrides = {"127.0.0.1": 1, "localhost": 1}
        server = await start(echo, Limits(connections_per_ip_overrides=overrides))
        await connect(server)
        refused = await connect(server)
        await refused.lost

    run(main)


def two_listeners(limits: Limits, clients_max: int = UNLIMITED) -> Server:
    listeners = [
        Listener("CLIENT", "127.0.0.1", 0, connections_max=clients_max),
        Listener("BROKER", "127.0.0.1", 0),
    ]
    return Server(listeners, echo, limits, inter_broker_listener="BROKER")


def test_brokers_get_in_at_the_cost_of_the_least_recently_used_client(run: Run) -> None:
    async def main() -> None:
        server = await started(two_listeners(Limits(connections_max=2)))
        idle, busy = await connect(server, "CLIENT"), await connect(server, "CLIENT")
        await until(lambda: server.connections == 2)
        await settle()
        busy.send(b"busy")
        await busy.expect(b"busy")
        broker = await connect(server, "BROKER")
        broker.send(b"fetch")
        await broker.expect(b"fetch")
        await idle.lost
        second_broker = await connect(server, "BROKER")
        await busy.lost
        third_broker = await connect(server, "BROKER")  # nobody is left to make room; it gets in
        for each in (second_broker, third_broker):
            each.send(b"fetch")
            await each.expect(b"fetch")
        assert server.traffic.closed == {CloseReason.MADE_ROOM: 2}

    run(main)


def test_a_listener_may_have_a_limit_of_its_own(run: Run) -> None:
    async def main() -> None:
        server = await started(two_listeners(Limits(), clients_max=1))
        first = await connect(server, "CLIENT")
        await until(lambda: server.connections == 1)
        second = await connect(server, "CLIENT")
        second.send(b"me too")
        await settle()
        assert second.frames() == []
        broker = await connect(server, "BROKER")
        broker.send(b"fetch")
        await broker.expect(b"fetch")
        first.transport.close()
        await second.expect(b"me too")

    run(main)


def test_a_lower_max_connections_takes_effect_at_once(run: Run) -> None:
    async def main() -> None:
        server = await start(echo)
        clients = [await connect(server) for _ in range(4)]
        await until(lambda: server.connections == 4)
        server.change_limits(Limits(connections_max=1))
        await until(lambda: sum(client.lost.done() for client in clients) == 3)
        assert server.connections == 1

    run(main)


def test_idle_connections_are_closed_after_ten_minutes_of_virtual_time() -> None:
    async def main(network: SimulatedNetwork) -> None:
        handler = Collector()
        server = await started(Server([Listener("PLAINTEXT", "", 0)], handler, Limits(connections_max=3)))
        loop = asyncio.get_running_loop()
        silent, chatty, polling, waiting = [await connect(server) for _ in range(4)]
        polling.send(b"long poll")
        for _ in range(14):
            await asyncio.sleep(50.0)
            chatty.send(b"heartbeat")
        lost_after_s = loop.time() - 1000.0
        assert silent.lost.done()
        assert waiting.lost.done() or waiting in (silent, chatty, polling)
        assert not chatty.lost.done()
        assert not polling.lost.done()
        assert lost_after_s == pytest.approx(700, abs=1)
        assert server.traffic.closed[CloseReason.IDLE] >= 1
        # Once answered, the long poll is as idle as any.
        for answer in handler.answers:
            answer.send((b"ok",))
        answered_at = loop.time()
        await polling.lost
        assert loop.time() - answered_at == pytest.approx(600, abs=10)
        await server.drain(1000)

    for seed in range(3):
        simulate(main, seed)


def test_a_client_that_never_takes_its_last_answers_is_broken_off() -> None:
    async def main(network: SimulatedNetwork) -> None:
        handler = Collector()
        server = await started(Server([Listener("PLAINTEXT", "", 0)], handler))
        client = await connect(server)
        client.transport.pause_reading()
        client.send(b"fetch")
        await handler.until(1)
        handler.answers[0].send((bytes(1_000_000),))
        await asyncio.sleep(1.0)
        handler.answers[0].connection.close(CloseReason.AUTHENTICATION)
        await asyncio.sleep(20.0)
        assert server.connections == 1
        await asyncio.sleep(20.0)
        assert server.connections == 0
        await server.drain(1000)

    simulate(main, 1)


def test_a_client_that_takes_its_answer_slowly_is_not_idle() -> None:
    async def main(network: SimulatedNetwork) -> None:
        server = Server([Listener("PLAINTEXT", "", 0)], lambda _frame, answer: answer.send((bytes(3_000_000),)))
        await server.start()
        client = await connect(server)
        client.send(b"fetch")
        for _ in range(20):
            client.transport.resume_reading()
            await asyncio.sleep(0.01)
            client.transport.pause_reading()
            await asyncio.sleep(200)
        assert not client.lost.done()
        assert 0 < len(client.received) < 3_000_000
        await asyncio.sleep(700)
        assert server.traffic.closed == {CloseReason.IDLE: 1}
        await server.drain(0)

    simulate(main, 1, time_limit_s=6000)


def test_who_is_gone_does_not_stand_in_line_for_the_queue() -> None:
    async def main(network: SimulatedNetwork) -> None:
        handler = Collector()
        server = Server([Listener("PLAINTEXT", "", 0)], handler, Limits(queued_requests_max=1))
        await server.start()
        holder = await connect(server)
        holder.send(b"takes the only place")
        await handler.until(1)
        for _ in range(5):
            client = await connect(server)
            client.send(b"waits")
            await asyncio.sleep(1)
            client.transport.close()
        assert len(server.queue._line) == 5
        await asyncio.sleep(700)  # they were not read, so they are found out as idle
        assert len(server.queue._line) == 0
        assert server.connections == 1
        await server.drain(0)

    simulate(main, 1)
