"""A way to one address that outlives its connections."""

from __future__ import annotations

import asyncio
import random

import pytest

from moldau.base.errors import ConnectFailed, Disconnected
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.net.server import Listener, Server
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.produce import ProduceRequest
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.unit.net.fake_broker import FakeBroker
from tests.unit.net.harness import Run, start, started, until


def test_the_connection_is_made_on_demand_and_shared(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        server = await start(broker)
        channel = Channel(*server.addresses["PLAINTEXT"])
        answers = await asyncio.gather(*(channel.request(HeartbeatRequest()) for _ in range(10)))
        assert answers == [HeartbeatResponse()] * 10
        assert server.traffic.connections_accepted == 1
        assert channel.connected is not None
        channel.close()
        with pytest.raises(ConnectFailed, match="closed"):
            await channel.connection()

    run(main)


def test_a_lost_connection_is_made_again_after_the_backoff_and_fails_fast_before(run: Run) -> None:
    async def main() -> None:
        server = await start(FakeBroker())
        address = server.addresses["PLAINTEXT"]
        options = ClientOptions(reconnect_backoff_ms=400, reconnect_backoff_max_ms=10_000)
        channel = Channel(*address, options)
        await channel.connection()
        await server.drain(0)
        await until(lambda: channel.connected is None)
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        with pytest.raises(ConnectFailed, match=r"the next attempt to connect is in \d+ ms"):
            await channel.request(HeartbeatRequest())
        assert loop.time() - asked_at < 0.3
        assert channel.retry_in_ms <= 480
        await started(Server([Listener("PLAINTEXT", *address)], FakeBroker()))
        await asyncio.sleep(channel.retry_in_ms / 1000)
        assert await channel.request(HeartbeatRequest()) == HeartbeatResponse()
        channel.close()

    run(main)


def test_backoff_grows_with_every_failure_and_starts_over_after_success() -> None:
    async def main(network: SimulatedNetwork) -> None:
        network.host("broker")
        channel = Channel("broker", 9092, ClientOptions(drawn_from=random.Random(1)))
        waits_ms = []
        for _ in range(8):
            with pytest.raises(ConnectFailed, match="refused"):
                await channel.connection()
            waits_ms.append(channel.retry_in_ms)
            await asyncio.sleep(channel.retry_in_ms / 1000)
        for wait_ms, expected_ms in zip(waits_ms, [50, 100, 200, 400, 800, 1000, 1000, 1000], strict=True):
            assert 0.8 * expected_ms - 1e-6 <= wait_ms <= min(1000, 1.2 * expected_ms) + 1e-6
        assert len(set(waits_ms)) > 4
        server = Server([Listener("PLAINTEXT", "broker", 9092)], FakeBroker())
        await network.host("broker").run(server.start())
        connection = await channel.connection()
        connection.close("by the test")
        assert channel.retry_in_ms <= 60
        await server.drain(0)
        channel.close()

    simulate(main, 5)


def test_everybody_waits_for_the_same_attempt_and_one_may_give_up(run: Run) -> None:
    async def main() -> None:
        server = await start(FakeBroker())
        channel = Channel(*server.addresses["PLAINTEXT"])
        tasks = [asyncio.ensure_future(channel.connection()) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.wait(tasks)
        assert tasks[0].cancelled()
        assert {task.result() for task in tasks[1:]} == {channel.connected}
        assert server.traffic.connections_accepted == 1
        channel.close()

    run(main)


def test_closing_during_an_attempt_tells_who_waits(run: Run) -> None:
    async def main() -> None:
        server = await start(lambda _frame, answer: answer.park())
        channel = Channel(*server.addresses["PLAINTEXT"])
        waiting = asyncio.ensure_future(channel.connection())
        await until(lambda: server.traffic.requests == 1)
        channel.close()
        with pytest.raises(ConnectFailed, match="closed"):
            await waiting

    run(main)


def test_requests_in_flight_fail_when_the_channel_closes(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        server = await start(broker)
        channel = Channel(*server.addresses["PLAINTEXT"])
        waiting = asyncio.ensure_future(channel.request(HeartbeatRequest()))
        await until(lambda: broker.kept)
        channel.close()
        with pytest.raises(Disconnected):
            await waiting

    run(main)


def test_a_connection_idle_for_too_long_is_replaced_before_it_is_used() -> None:
    async def main(network: SimulatedNetwork) -> None:
        server = Server([Listener("PLAINTEXT", "", 9092)], FakeBroker())
        await server.start()
        channel = Channel("localhost", 9092)
        first = await channel.connection()
        await asyncio.sleep(539)
        assert await channel.connection() is first
        assert await channel.request(HeartbeatRequest()) == HeartbeatResponse()
        await asyncio.sleep(541)
        second = await channel.connection()
        assert second is not first
        assert first.closed is not None
        assert channel.retry_in_ms == 0
        channel.close()
        await server.drain(1000)

    simulate(main, 2)


def test_a_connection_that_only_tells_is_not_idle() -> None:
    async def main(network: SimulatedNetwork) -> None:
        server = Server([Listener("PLAINTEXT", "", 9092)], FakeBroker())
        await server.start()
        channel = Channel("localhost", 9092)
        first = await channel.connection()
        for _ in range(10):
            await asyncio.sleep(300)
            (await channel.connection()).tell(ProduceRequest(acks=0))
        assert channel.connected is first
        channel.close()
        await server.drain(0)

    simulate(main, 2)
