"""The controller's requests over a network that breaks: in order, one at a time, until they are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from moldau.base.supervision import Supervisor
from moldau.cluster.znodes.brokers import Endpoint
from moldau.controller import broker_channels
from moldau.controller.broker_channels import NetworkBrokerChannels
from moldau.net.answer import Answer
from moldau.net.client_options import ClientOptions
from moldau.net.server import Listener, Server
from moldau.net.traffic import CloseReason
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_request_header, encode_response_header
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from moldau.testing.simulation import SimulatedNetwork, simulate

PORT = 9092
VERSION = 8


class Broker:
    """Answers UpdateMetadata, whose controller epoch numbers the requests of a test; can be told to hang up."""

    def __init__(self, versions: tuple[int, int] = (0, VERSION)) -> None:
        self.versions = versions
        self.heard: list[int] = []
        self.in_flight = 0
        self.hang_up_next = 0
        self.answers_after_s = 0.0

    def handle(self, frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        if header.api_key == 18:
            low, high = self.versions
            keys = [ApiVersion(api_key=6, min_version=low, max_version=high), ApiVersion(api_key=18, max_version=4)]
            body = encode(ApiVersionsResponse(api_keys=keys), header.api_version)
            answer.send([encode_response_header(18, header.api_version, header.correlation_id) + body])
            return
        self.in_flight += 1
        assert self.in_flight == 1, "one request at a time"
        request = decode(UpdateMetadataRequest, header.api_version, frame, header.body)
        if self.hang_up_next:
            self.hang_up_next -= 1
            self.in_flight -= 1
            answer.connection.abort(CloseReason.RESET)
            return
        self.heard.append(request.controller_epoch)
        body = encode(UpdateMetadataResponse(), header.api_version)
        reply = encode_response_header(6, header.api_version, header.correlation_id) + body
        asyncio.get_running_loop().call_later(self.answers_after_s, self._reply, answer, reply)

    def _reply(self, answer: Answer, reply: bytes) -> None:
        self.in_flight -= 1
        answer.send([reply])


class Setting:
    def __init__(self, network: SimulatedNetwork) -> None:
        self.network = network
        self.failures: list[BaseException] = []
        self.supervisor = Supervisor(lambda _name, failure: self.failures.append(failure))
        self.channels = NetworkBrokerChannels(self.supervisor, ClientOptions(request_timeout_ms=2_000))
        self.answered: list[int] = []
        self.presence: list[str] = []
        self.channels.on_gone = lambda broker_id: self.presence.append(f"{broker_id} is gone")
        self.channels.on_back = lambda broker_id: self.presence.append(f"{broker_id} is back")

    async def listen(self, broker: Broker, host: str = "broker") -> None:
        async def serve() -> None:
            await Server([Listener("PLAINTEXT", host, PORT)], broker.handle).start()

        await self.network.host(host).run(serve())

    def open(self, host: str = "broker") -> None:
        self.channels.open(1, Endpoint("PLAINTEXT", host, PORT, "PLAINTEXT"))

    def send(self, *numbers: int) -> list[bool]:
        return [
            self.channels.send(1, UpdateMetadataRequest(controller_epoch=number), partial(self._answered, number))
            for number in numbers
        ]

    def _answered(self, number: int, _answer: UpdateMetadataResponse) -> None:
        self.answered.append(number)


def run(scenario: Callable[[Setting], Awaitable[None]]) -> None:
    async def main(network: SimulatedNetwork) -> None:
        setting = Setting(network)
        await setting.network.host("controller").run(scenario(setting))  # type: ignore[arg-type]
        setting.channels.close_all()
        await setting.supervisor.stop(1_000)
        assert setting.failures == []

    simulate(main, 1)


def test_requests_arrive_in_order_one_at_a_time() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        broker.answers_after_s = 0.2
        await setting.listen(broker)
        setting.open()
        setting.send(1, 2, 3)
        await asyncio.sleep(5)
        assert broker.heard == setting.answered == [1, 2, 3]

    run(scenario)


def test_a_request_is_sent_again_when_the_connection_breaks() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        broker.hang_up_next = 3
        await setting.listen(broker)
        setting.open()
        setting.send(1, 2)
        await asyncio.sleep(10)
        assert broker.heard == setting.answered == [1, 2]

    run(scenario)


def test_a_request_waits_for_a_broker_that_does_not_listen_yet() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        setting.network.host("broker")
        setting.open()
        setting.send(1)
        await asyncio.sleep(5)
        await setting.listen(broker)
        await asyncio.sleep(5)
        assert broker.heard == [1]

    run(scenario)


def test_a_process_that_ended_is_missed_at_once_and_its_return_is_noticed() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        await setting.listen(broker)
        setting.open()
        setting.send(1)
        await asyncio.sleep(5)
        setting.network.kill("broker")
        await asyncio.sleep(0.5)
        assert setting.presence == ["1 is gone"]
        setting.send(2)
        await asyncio.sleep(5)
        assert setting.presence == ["1 is gone"], "once is enough"
        await setting.listen(broker)
        await asyncio.sleep(5)
        assert setting.presence == ["1 is gone", "1 is back"]
        assert broker.heard == [1, 2]

    run(scenario)


def test_a_machine_that_is_silent_and_a_broken_connection_prove_nothing() -> None:
    async def scenario(setting: Setting) -> None:
        await setting.listen(Broker())
        setting.open()
        setting.send(1)
        await asyncio.sleep(5)
        setting.network.reset_connections("controller", "broker")
        await asyncio.sleep(5)
        setting.network.crash("broker")
        setting.send(2)
        await asyncio.sleep(60)
        assert setting.presence == []

    run(scenario)


def test_a_broker_that_was_never_reached_may_be_about_to_listen() -> None:
    async def scenario(setting: Setting) -> None:
        setting.network.host("broker")
        setting.open()
        setting.send(1)
        await asyncio.sleep(5)
        assert setting.presence == []

    run(scenario)


def test_an_answer_that_does_not_come_in_time_is_asked_for_again() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        broker.hang_up_next = 0
        broker.answers_after_s = 1_000
        await setting.listen(broker)
        setting.open()
        setting.send(1)
        await asyncio.sleep(1.5)
        assert (broker.heard, setting.answered) == ([1], [])
        broker.answers_after_s = 0
        broker.in_flight = 0
        await asyncio.sleep(5)
        assert (broker.heard, setting.answered) == ([1, 1], [1])

    run(scenario)


def test_what_waits_is_forgotten_when_the_broker_is_gone() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        setting.network.host("broker")
        setting.open()
        setting.send(1)
        setting.channels.close(1)
        assert setting.send(2) == [True]
        await setting.listen(broker)
        setting.open()
        setting.send(3)
        await asyncio.sleep(5)
        assert broker.heard == [3]

    run(scenario)


def test_a_broker_that_moves_gets_what_it_was_not_told_at_its_new_place() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker()
        setting.network.host("broker")
        await setting.listen(broker, "elsewhere")
        setting.open()
        setting.send(1, 2)
        await asyncio.sleep(1)
        setting.open("elsewhere")
        await asyncio.sleep(5)
        assert broker.heard == [1, 2]

    run(scenario)


def test_a_broker_that_speaks_no_common_version_is_left_out_with_a_line_in_the_log() -> None:
    async def scenario(setting: Setting) -> None:
        broker = Broker(versions=(99, 99))
        await setting.listen(broker)
        setting.open()
        setting.send(1)
        await asyncio.sleep(5)
        assert (broker.heard, setting.answered) == ([], [])
        assert setting.supervisor.running == ["controller to broker 1"]

    run(scenario)


def test_the_queue_is_bounded_and_emptied_when_it_is_full() -> None:
    async def scenario(setting: Setting) -> None:
        setting.network.host("broker")
        setting.open()
        results = setting.send(*range(broker_channels.QUEUED_REQUESTS_MAX + 2))
        assert results == [True] * broker_channels.QUEUED_REQUESTS_MAX + [False, True]

    run(scenario)
