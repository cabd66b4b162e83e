"""The network in memory: streams that keep their bytes, and everything that can befall them."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from moldau.testing.simulation import NetworkConditions, SimulatedNetwork, simulate
from moldau.testing.simulation.loop import START_S

PORT = 9092


class Peer(asyncio.Protocol):
    """Keeps what it gets; `keep_open` after the other side's end."""

    transport: asyncio.Transport

    def __init__(self, *, keep_open: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.received = bytearray()
        self.keep_open = keep_open
        self.paused = False
        self.ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[Exception | None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert data
        self.received += data

    def eof_received(self) -> bool:
        self.ended.set_result(None)
        return self.keep_open

    def may_write(self) -> bool:
        return not self.paused

    def pause_writing(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_writing(self) -> None:
        assert self.paused
        self.paused = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)


async def pair(network: SimulatedNetwork, *, keep_open: bool = False) -> tuple[Peer, Peer]:
    """A connection from host "a" to host "b": its two ends."""
    accepted: asyncio.Future[Peer] = asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()

    def accept() -> Peer:
        peer = Peer(keep_open=keep_open)
        if not accepted.done():
            accepted.set_result(peer)
        return peer

    async def listen() -> None:
        await loop.create_server(accept, "b", PORT)

    async def connect() -> Peer:
        _transport, peer = await loop.create_connection(lambda: Peer(keep_open=keep_open), "b", PORT)
        return peer

    await network.host("b").run(listen())
    return await network.host("a").run(connect()), await accepted


SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_arrive_in_order_and_the_close_after_them(seed: int) -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        sent = network.random.randbytes(200_000)
        position = 0
        while position < len(sent):
            length = network.random.randint(1, 30_000)
            one.transport.writelines([sent[position : position + length // 2], b""])
            one.transport.write(memoryview(sent)[position + length // 2 : position + length])
            position += length
            await asyncio.sleep(0.0005)
        other.transport.write(b"and back")
        await asyncio.sleep(5)
        assert bytes(one.received) == b"and back"
        one.transport.close()
        await other.lost
        assert bytes(other.received) == sent
        assert one.lost.result() is None
        assert other.lost.result() is None

    simulate(main, seed)


def test_who_does_not_read_stops_who_writes() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        other.transport.pause_reading()
        one.transport.set_write_buffer_limits(10_000, 1_000)
        written = 0
        while one.may_write():
            one.transport.write(bytes(1_000))
            written += 1_000
            await asyncio.sleep(0.01)
        await asyncio.sleep(60)
        assert other.received == b""
        assert written <= network.conditions.window_bytes[1] + 12_000
        other.transport.resume_reading()
        await asyncio.sleep(60)
        assert one.may_write()
        assert one.transport.get_write_buffer_size() == 0
        assert len(other.received) == written

    for seed in SEEDS:
        simulate(main, seed)


def test_bytes_changed_before_they_leave_leave_changed() -> None:
    """As on a real socket, which is how the simulation finds who does that."""

    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        data = bytearray(b"before")
        one.transport.write(data)
        data[:] = b"after!"
        await asyncio.sleep(1)
        assert other.received == b"after!"

    simulate(main, 0)


def test_an_end_of_one_direction_leaves_the_other_open() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network, keep_open=True)
        one.transport.write(b"question")
        one.transport.write_eof()
        await other.ended
        assert other.received == b"question"
        other.transport.write(b"answer")
        other.transport.close()
        await one.ended
        assert one.received == b"answer"
        one.transport.close()
        assert await one.lost is None

    simulate(main, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_abort_is_a_reset_for_the_other_side(seed: int) -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        one.transport.write(b"x" * 100_000)
        await asyncio.sleep(0.002)
        one.transport.abort()
        assert isinstance(await other.lost, ConnectionResetError)
        assert await one.lost is None
        assert len(other.received) <= 100_000

    simulate(main, seed)


def test_a_reset_may_destroy_what_has_arrived_and_was_not_read() -> None:
    async def main(network: SimulatedNetwork) -> int:
        one, other = await pair(network)
        other.transport.pause_reading()
        one.transport.write(b"x" * 100)
        await asyncio.sleep(1)
        one.transport.abort()
        await asyncio.sleep(1)
        other.transport.resume_reading()
        await other.lost
        return len(other.received)

    assert {simulate(main, seed) for seed in SEEDS} == {0, 100}


def test_writing_to_who_has_closed_is_a_reset() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network, keep_open=True)
        other.transport.close()
        await one.ended
        one.transport.write(b"are you there?")
        assert isinstance(await one.lost, ConnectionResetError)

    simulate(main, 0)


def test_a_reset_is_not_noticed_by_who_does_not_read() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        other.transport.pause_reading()
        one.transport.abort()
        await asyncio.sleep(1000)
        assert not other.lost.done()
        other.transport.write(b"still there?")
        assert isinstance(await other.lost, BrokenPipeError)

    simulate(main, 0)


def test_connections_that_the_network_forgets_are_broken_for_both_sides() -> None:
    async def main(network: SimulatedNetwork) -> None:
        ours, theirs = await pair(network)
        network.reset_connections("a", "c")
        await asyncio.sleep(1)
        assert not ours.lost.done()
        network.reset_connections("a", "b")
        assert isinstance(await ours.lost, ConnectionResetError)
        assert isinstance(await theirs.lost, ConnectionResetError)

    simulate(main, 1)


def test_a_partition_holds_bytes_back_until_it_heals() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        network.partition(["a"], ["b"])
        one.transport.write(b"patience")
        one.transport.close()
        await asyncio.sleep(3000)
        assert other.received == b""
        network.heal()
        await other.lost
        assert other.received == b"patience"

    simulate(main, 0)


def test_a_reset_in_a_partition_leaves_the_other_side_half_open() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        network.partition(["a"], ["b"])
        one.transport.abort()
        network.heal()
        await asyncio.sleep(3000)
        assert not other.lost.done()
        other.transport.write(b"still there?")
        assert isinstance(await other.lost, ConnectionResetError)

    simulate(main, 0)


def test_a_block_has_a_direction() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        network.block("a", "b")
        one.transport.write(b"lost for now")
        other.transport.write(b"through")
        await asyncio.sleep(10)
        assert (bytes(one.received), bytes(other.received)) == (b"through", b"")
        network.unblock("a", "b")
        await asyncio.sleep(10)
        assert other.received == b"lost for now"

    simulate(main, 0)


def test_a_crash_is_found_out_by_writing_to_the_host_once_it_is_back() -> None:
    async def main(network: SimulatedNetwork) -> None:
        one, other = await pair(network)
        network.crash("b")
        one.transport.write(b"hello?")
        await asyncio.sleep(1000)
        assert not one.lost.done()
        network.host("b")  # up again, and knows nothing of the connection
        one.transport.write(b"hello?")
        assert isinstance(await one.lost, ConnectionResetError)
        assert not other.lost.done()
        assert other.received == b""

    simulate(main, 0)


def test_a_paused_host_does_nothing_and_then_catches_up() -> None:
    async def main(network: SimulatedNetwork) -> None:
        ticks: list[float] = []
        loop = asyncio.get_running_loop()

        async def tick() -> None:
            while True:
                await asyncio.sleep(1)
                ticks.append(loop.time())

        one, other = await pair(network)
        network.host("b").run(tick())
        await asyncio.sleep(2.5)
        network.pause("b")
        one.transport.write(b"anybody?")
        _transport, _peer = await loop.create_connection(Peer, "b", PORT)  # its kernel accepts
        await asyncio.sleep(100)
        assert len(ticks) == 2
        assert other.received == b""
        network.resume("b")
        await asyncio.sleep(1.5)
        assert other.received == b"anybody?"
        assert ticks[2] - ticks[1] > 99

    simulate(main, 0)


def test_connecting_fails_as_it_does_in_life() -> None:
    async def main(network: SimulatedNetwork) -> None:
        loop = asyncio.get_running_loop()
        network.host("b")
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Peer, "b", PORT)
        with pytest.raises(socket.gaierror):
            await loop.create_connection(Peer, "nowhere", PORT)
        network.crash("b")
        began = loop.time()
        with pytest.raises(TimeoutError) as raised:
            await loop.create_connection(Peer, "b", PORT)
        assert raised.value.errno == errno.ETIMEDOUT
        assert loop.time() - began == pytest.approx(127)

    simulate(main, 0)


def test_a_connection_nobody_waits_for_any_more_is_reset() -> None:
    async def main(network: SimulatedNetwork) -> None:
        loop = asyncio.get_running_loop()
        accepted: list[Peer] = []

        def accept() -> Peer:
            accepted.append(Peer())
            return accepted[-1]

        async def listen() -> None:
            await loop.create_server(accept, None, PORT)

        await network.host("b").run(listen())
        for give_up_s in (0.0, 0.0005, 0.001, 0.002, 0.003):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(give_up_s):
                    await loop.create_connection(Peer, "b", PORT)
        await asyncio.sleep(10)
        assert accepted
        assert all(peer.lost.done() for peer in accepted)

    simulate(main, 0, conditions=NetworkConditions(latency_s=(0.001, 0.002), slow_share=0.0))


def test_a_port_is_bound_once_and_only_on_ones_own_host() -> None:
    async def main(network: SimulatedNetwork) -> None:
        loop = asyncio.get_running_loop()
        network.host("b")
        server = await loop.create_server(Peer, "localhost", PORT)
        with pytest.raises(OSError, match="in use"):
            await loop.create_server(Peer, None, PORT)
        with pytest.raises(OSError, match="not an address of localhost"):
            await loop.create_server(Peer, "b", PORT)
        server.close()
        await server.wait_closed()
        again = await loop.create_server(Peer, None, PORT)
        free = await loop.create_server(Peer, None, 0)
        assert again.sockets[0].getsockname() == ("localhost", PORT)
        assert free.sockets[0].getsockname()[1] not in (0, PORT)

    simulate(main, 0)


def test_asyncio_streams_run_on_it() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
            await writer.drain()
        writer.close()

    async def main(network: SimulatedNetwork) -> None:
        await asyncio.start_server(echo, "localhost", PORT)
        reader, writer = await asyncio.open_connection("localhost", PORT)
        for number in range(50):
            writer.write(b"line %d\n" % number)
        writer.write_eof()
        assert await reader.read() == b"".join(b"LINE %d\n" % number for number in range(50))
        writer.close()
        await writer.wait_closed()

    for seed in SEEDS:
        simulate(main, seed)


def digest_of_a_run(seed: int) -> tuple[str, float]:
    async def main(network: SimulatedNetwork) -> tuple[str, float]:
        one, other = await pair(network)
        for number in range(20):
            one.transport.write(bytes(network.random.randint(1, 20_000)))
            if number == 7:
                network.partition(["a"], ["b"])
            if number == 9:
                network.heal()
            await asyncio.sleep(0.001)
        one.transport.close()
        await other.lost
        assert network.trace.count > 20
        return network.trace.digest(), network.loop.time() - START_S

    return simulate(main, seed)


def test_the_same_seed_is_the_same_run_to_the_last_event() -> None:
    runs = {seed: digest_of_a_run(seed) for seed in SEEDS}
    assert runs == {seed: digest_of_a_run(seed) for seed in SEEDS}
    assert len(set(runs.values())) == len(SEEDS)
