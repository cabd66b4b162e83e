"""Clients and a server under everything that networks, hosts and handlers do to them, two hundred times.

Invariants, checked in every run:
- a request is answered exactly once, with its own answer, or its connection is reported gone;
- answers of one connection come in the order of its requests;
- the server sees the requests of one connection in the order of sending, none twice, none left out;
- the limits hold at every moment, and when all is over nothing is counted or open any more.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections import defaultdict

import pytest

from moldau.base.errors import ConnectFailed, Disconnected
from moldau.net.answer import Answer
from moldau.net.channel import Channel
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.connection import Connection
from moldau.net.limits import Limits
from moldau.net.server import Listener, Server
from moldau.net.traffic import CloseReason
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import decode, encode_parts
from moldau.protocol.headers import RequestHeader, decode_request_header, encode_response_header
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.protocol.schema import Message
from moldau.testing.simulation import SimulatedNetwork, simulate

PORT = 9092
CLIENTS = 3
REQUESTS_PER_CLIENT = 40
LIMITS = Limits(
    queued_requests_max=4,
    open_requests_per_connection_max=5,
    write_buffer_high_bytes=2_000,
    write_buffer_low_bytes=500,
    connections_max=3,
    connection_idle_ms_max=60_000,
)
SPOKEN = [
    ApiVersion(api_key=ApiKey.PRODUCE, min_version=0, max_version=8),
    ApiVersion(api_key=ApiKey.SASL_AUTHENTICATE, min_version=0, max_version=2),
]


def numbered(number: int, drawn_from: random.Random) -> bytes:
    """A payload that carries a number, and is now and then longer than the buffer that connections share."""
    length = drawn_from.randint(0, 200_000) if drawn_from.random() < 0.04 else drawn_from.randint(0, 300)
    return struct.pack(">i", number) + bytes([number % 251]) * length


def number_in(payload: bytes) -> int:
    (number,) = struct.unpack_from(">i", payload)
    assert not bytes(payload[4:]).strip(bytes([number % 251])), "bytes of another message"
    return int(number)


def send(header: RequestHeader, answer: Answer, response: Message) -> None:
    start = encode_response_header(header.api_key, header.api_version, header.correlation_id)
    answer.send((start, *encode_parts(response, header.api_version)))


class Broker:
    """Answers a numbered request with its number, after none or some time; now and then does worse."""

    def __init__(self, network: SimulatedNetwork) -> None:
        self._loop = network.loop
        self._random = network.random
        self._waiting: list[tuple[RequestHeader, Answer, SaslAuthenticateResponse]] = []
        self.seen: dict[Connection, list[int]] = defaultdict(list)
        self.server = Server([Listener("PLAINTEXT", "broker", PORT)], self.handle, LIMITS)

    def handle(self, frame: memoryview, answer: Answer) -> None:
        assert self.server.queue.open < LIMITS.queued_requests_max
        header = decode_request_header(frame)
        if header.api_key == ApiKey.API_VERSIONS:
            send(header, answer, ApiVersionsResponse(api_keys=SPOKEN))
        elif header.api_key == ApiKey.PRODUCE:
            request = decode(ProduceRequest, header.api_version, frame, header.body)
            self.seen[answer.connection].append(request.timeout_ms)
            answer.skip()
        else:
            asked = decode(SaslAuthenticateRequest, header.api_version, frame, header.body)
            number = number_in(asked.auth_bytes)
            self.seen[answer.connection].append(number)
            payload = numbered(number, self._random)
            self._answer(header, answer, SaslAuthenticateResponse(auth_bytes=payload))

    def _answer(self, header: RequestHeader, answer: Answer, response: SaslAuthenticateResponse) -> None:
        chance = self._random.random()
        if chance < 0.4:
            send(header, answer, response)
            return
        if chance < 0.6:
            answer.park()
        self._waiting.append((header, answer, response))
        self._loop.call_later(self._random.uniform(0, 0.2), self._complete_one)
        if chance > 0.9:  # of any connection, this one among them
            self._complete_one()
        if chance > 0.98:
            answer.connection.close(CloseReason.AUTHENTICATION)
        elif chance > 0.97:
            raise ZeroDivisionError

    def _complete_one(self) -> None:
        if self._waiting:
            send(*self._waiting.pop(self._random.randrange(len(self._waiting))))


class Client:
    """Sends numbered requests through a channel and keeps account of what became of them."""

    def __init__(self, network: SimulatedNetwork, index: int) -> None:
        self._network = network
        self._index = index
        self.sent: dict[ClientConnection, list[int]] = defaultdict(list)
        self.answered: dict[ClientConnection, list[int]] = defaultdict(list)
        self.outcomes: dict[int, str] = {}
        self.waiting: list[asyncio.Future[SaslAuthenticateResponse]] = []

    async def run(self) -> None:
        drawn_from = self._network.random
        options = ClientOptions(request_timeout_ms=3_000, in_flight_max=8, drawn_from=drawn_from)
        channel = Channel("broker", PORT, options)
        for number in range(REQUESTS_PER_CLIENT):
            await self._one(channel, 1000 * self._index + number)
            if drawn_from.random() < 0.3:
                await asyncio.sleep(drawn_from.uniform(0, 0.3))
            if drawn_from.random() < 0.02 and channel.connected is not None:
                channel.connected.close("by the test")
        await asyncio.gather(*self.waiting, return_exceptions=True)
        channel.close()

    async def _one(self, channel: Channel, number: int) -> None:
        """Send one request as soon as there is a connection with room."""
        while True:
            try:
                connection = await channel.connection()
            except ConnectFailed:
                await asyncio.sleep(channel.retry_in_ms / 1000)
                continue
            if connection.can_send:
                break
            await asyncio.sleep(0.01)
        self.sent[connection].append(number)
        if self._network.random.random() < 0.1:
            connection.tell(ProduceRequest(acks=0, timeout_ms=number))
            self.outcomes[number] = "told"
            return
        answer = connection.send(SaslAuthenticateRequest(auth_bytes=numbered(number, self._network.random)))
        self.waiting.append(answer)
        answer.add_done_callback(lambda done: self._done(connection, number, done))

    def _done(self, connection: ClientConnection, number: int, done: asyncio.Future[SaslAuthenticateResponse]) -> None:
        assert number not in self.outcomes, "resolved twice"
        if (error := done.exception()) is not None:
            assert isinstance(error, Disconnected)
            assert connection.closed is not None
            self.outcomes[number] = "gone"
        else:
            assert number_in(done.result().auth_bytes) == number, "another request's answer"
            self.answered[connection].append(number)
            self.outcomes[number] = "answered"


async def misfortunes(network: SimulatedNetwork) -> None:
    """Cut off, stop and let go, at random, for a while."""
    drawn_from = network.random
    clients = [f"client-{index}" for index in range(CLIENTS)]
    for _ in range(12):
        await asyncio.sleep(drawn_from.uniform(0.05, 1.0))
        victim = drawn_from.choice(clients)
        match drawn_from.randrange(4):
            case 0:
                network.partition(["broker"], [victim])
            case 1:
                network.block(*drawn_from.sample(["broker", victim], 2))
            case 2:
                network.pause(drawn_from.choice(["broker", victim]))
            case 3:
                for transport in list(network.host("broker").transports)[:1]:
                    transport.abort()
        await asyncio.sleep(drawn_from.uniform(0.0, 4.0))
        network.heal()
        for name in ["broker", *clients]:
            network.resume(name)


def is_subsequence(part: list[int], whole: list[int]) -> bool:
    rest = iter(whole)
    return all(number in rest for number in part)


async def chaos(network: SimulatedNetwork) -> tuple[str, dict[str, int]]:
    network.host("broker")

    async def serve() -> Broker:
        broker = Broker(network)
        await broker.server.start()
        return broker

    broker = await network.host("broker").run(serve())
    clients = [Client(network, index) for index in range(CLIENTS)]
    running = [network.host(f"client-{client._index}").run(client.run()) for client in clients]
    faults = asyncio.ensure_future(misfortunes(network))
    await asyncio.gather(*running, faults)
    await network.host("broker").run(broker.server.drain(5_000))

    counts: dict[str, int] = defaultdict(int)
    for client in clients:
        assert len(client.outcomes) == REQUESTS_PER_CLIENT
        for outcome in client.outcomes.values():
            counts[outcome] += 1
        for connection, numbers in client.sent.items():
            assert numbers == sorted(numbers)
            assert is_subsequence(client.answered[connection], numbers)
    sent_together = [numbers for client in clients for numbers in client.sent.values()]
    for numbers in broker.seen.values():
        assert any(numbers == each[: len(numbers)] for each in sent_together), "left out, doubled or reordered"
    assert broker.server.queue.open == 0
    assert broker.server.connections == 0
    return network.trace.digest(), counts


SEEDS_PER_TEST = 10
SEEDS = [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(SEEDS_PER_TEST, 200, SEEDS_PER_TEST))]


@pytest.mark.parametrize("first_seed", SEEDS)
def test_every_request_is_answered_once_in_order_or_reported_gone(
    first_seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    totals: dict[str, int] = defaultdict(int)
    for seed in range(first_seed, first_seed + SEEDS_PER_TEST):
        _digest, counts = simulate(chaos, seed, time_limit_s=600)
        for outcome, count in counts.items():
            totals[outcome] += count
    assert sum(totals.values()) == SEEDS_PER_TEST * CLIENTS * REQUESTS_PER_CLIENT
    assert totals["answered"] > 0.5 * sum(totals.values())
    assert totals["gone"] > 0


@pytest.mark.slow
def test_chaos_is_the_same_under_the_same_seed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    for seed in (3, 4):
        first, second = (simulate(chaos, seed, time_limit_s=600) for _ in range(2))
        assert first == second
