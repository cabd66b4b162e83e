"""From an address to a connection that is ready: versions, authentication, everything that can go wrong."""

from __future__ import annotations

import asyncio

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConnectFailed
from moldau.net.answer import Answer
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.connect import connect
from moldau.protocol.api import ApiKey
from moldau.protocol.headers import decode_request_header
from moldau.protocol.messages.api_versions import ApiVersionsResponse
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.unit.net.fake_broker import FakeBroker, reply
from tests.unit.net.harness import Run, echo, run_on_uvloop, start


@pytest.mark.parametrize(
    ("broker_newest", "tried"), [(4, [4]), (3, [4, 3]), (1, [4, 1]), (0, [4, 0])], ids=["4", "3", "1", "0"]
)
def test_versions_are_negotiated_with_any_broker(run: Run, broker_newest: int, tried: list[int]) -> None:
    async def main() -> None:
        broker = FakeBroker({ApiKey.API_VERSIONS: (0, broker_newest), ApiKey.HEARTBEAT: (0, 2)})
        server = await start(broker)
        connection = await connect(*server.addresses["PLAINTEXT"])
        assert [header.api_version for header in broker.headers] == tried
        assert connection.version_of(HeartbeatRequest) == 2
        assert connection.versions is not None
        assert ApiKey.HEARTBEAT in connection.versions
        assert ApiKey.FETCH not in connection.versions
        connection.close()

    run(main)


def test_a_broker_that_names_no_versions_is_asked_in_version_0(run: Run) -> None:
    tried: list[int] = []

    def handle(frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        tried.append(header.api_version)
        code = ErrorCode.NONE if header.api_version == 0 else ErrorCode.UNSUPPORTED_VERSION
        reply(header, answer, ApiVersionsResponse(error_code=code), version=0)

    async def main() -> None:
        tried.clear()
        server = await start(handle)
        connection = await connect(*server.addresses["PLAINTEXT"])
        assert tried == [4, 3, 2, 1, 0]
        connection.close()

    run(main)


def test_a_broker_that_refuses_to_tell_is_an_error(run: Run) -> None:
    def handle(frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        reply(header, answer, ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))

    async def main() -> None:
        server = await start(handle)
        with pytest.raises(ApiError, match="error 31"):
            await connect(*server.addresses["PLAINTEXT"])

    run(main)


def test_without_negotiation_the_newest_of_ours_is_used(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        server = await start(broker)
        connection = await connect(*server.addresses["PLAINTEXT"], ClientOptions(negotiate=False))
        await connection.send(HeartbeatRequest())
        assert [header.api_version for header in broker.headers] == [4]
        connection.close()

    run(main)


def test_nobody_listening_is_connect_failed(run: Run) -> None:
    async def main() -> None:
        server = await start(echo)
        host, port = server.addresses["PLAINTEXT"]
        await server.drain(0)
        with pytest.raises(ConnectFailed, match=f"{host}:{port}: "):
            await connect(host, port)

    run(main)


def test_a_server_that_says_nothing_is_given_up_after_the_setup_time(run: Run) -> None:
    async def main() -> None:
        server = await start(lambda _frame, answer: answer.park())
        with pytest.raises(ConnectFailed, match="no connection within 100 ms"):
            await connect(*server.addresses["PLAINTEXT"], ClientOptions(setup_timeout_ms=100))

    run(main)


def test_a_server_that_is_no_broker_is_connect_failed(run: Run) -> None:
    async def main() -> None:
        server = await start(lambda _frame, answer: answer.send((b"HTTP/1.1 400 Bad Request",)))
        with pytest.raises(ConnectFailed, match="answered request"):
            await connect(*server.addresses["PLAINTEXT"])

    run(main)


def test_authentication_comes_before_the_first_request(run: Run) -> None:
    async def authenticate(connection: ClientConnection) -> None:
        assert connection.versions is not None
        await connection.send(HeartbeatRequest(group_id="credentials"))

    async def main() -> None:
        broker = FakeBroker()
        server = await start(broker)
        connection = await connect(*server.addresses["PLAINTEXT"], ClientOptions(authenticate=authenticate))
        assert broker.requests == [HeartbeatRequest(group_id="credentials")]
        assert await connection.request(HeartbeatRequest()) == HeartbeatResponse()
        connection.close()

    run(main)


def test_failed_authentication_closes_the_connection_and_is_told_as_it_is(run: Run) -> None:
    attempts: list[ClientConnection] = []

    async def authenticate(connection: ClientConnection) -> None:
        attempts.append(connection)
        raise ApiError(ErrorCode.SASL_AUTHENTICATION_FAILED, "wrong password")

    async def main() -> None:
        attempts.clear()
        server = await start(FakeBroker())
        with pytest.raises(ApiError, match="wrong password"):
            await connect(*server.addresses["PLAINTEXT"], ClientOptions(authenticate=authenticate))
        assert attempts[0].closed is not None

    run(main)


def test_socket_buffers_of_the_client_are_as_configured() -> None:
    async def main() -> None:
        server = await start(FakeBroker())
        options = ClientOptions(send_buffer_bytes=40_000, receive_buffer_bytes=60_000)
        connection = await connect(*server.addresses["PLAINTEXT"], options)
        connection.close()

    run_on_uvloop(main)


def test_another_makers_broker_understands_us() -> None:
    """librdkafka's mock cluster: an independent implementation of the broker's side."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored"})
    (broker,) = producer.list_topics(timeout=10).brokers.values()

    async def main() -> None:
        connection = await connect(broker.host, broker.port)
        metadata = await asyncio.gather(
            *(connection.request(MetadataRequest(topics=None), version) for version in range(1, 10))
        )
        for answer in metadata:
            assert isinstance(answer, MetadataResponse)
            assert [(each.host, each.port) for each in answer.brokers] == [(broker.host, broker.port)]
        connection.close()

    run_on_uvloop(main)
