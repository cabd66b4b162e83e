"""Requests and answers of a client's connection: pipelining, versions, deadlines, what breaks it."""

from __future__ import annotations

import asyncio
import struct

import pytest

from moldau.base.errors import Disconnected, RequestTimedOut, UnsupportedVersion
from moldau.net.answer import Answer
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.connect import connect
from moldau.protocol.api import ApiKey
from moldau.protocol.headers import RequestHeader
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.unit.net.fake_broker import FakeBroker, reply
from tests.unit.net.harness import Run, run_simulated, settle, start, until


async def connected(broker: FakeBroker, options: ClientOptions | None = None) -> ClientConnection:
    server = await start(broker)
    return await connect(*server.addresses["PLAINTEXT"], options)


def test_an_answer_is_the_response_message_in_the_newest_common_version(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        connection = await connected(broker, ClientOptions(client_id="tester"))
        response = await connection.send(HeartbeatRequest(group_id="g", member_id="m"))
        assert response == HeartbeatResponse()
        header = broker.headers[-1]
        assert (header.api_key, header.api_version, header.client_id) == (ApiKey.HEARTBEAT, 3, "tester")
        await connection.send(HeartbeatRequest(group_id="g", member_id="m"), version=1)
        assert broker.headers[-1].api_version == 1
        connection.close()

    run(main)


def test_requests_are_pipelined_and_their_answers_told_apart(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        connection = await connected(broker)
        asked = [connection.send(HeartbeatRequest(generation_id=number)) for number in range(20)]
        await until(lambda: len(broker.kept) == 20)
        assert connection.in_flight == 20
        for number, (header, answer) in reversed(list(enumerate(broker.kept))):
            reply(header, answer, HeartbeatResponse(throttle_time_ms=number))
        answers = await asyncio.gather(*asked)
        assert [response.throttle_time_ms for response in answers] == list(range(20))
        connection.close()

    run(main)


def test_what_the_broker_does_not_speak_is_refused_before_anything_is_sent(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker({ApiKey.API_VERSIONS: (0, 4), ApiKey.HEARTBEAT: (5, 7)})
        connection = await connected(broker)
        with pytest.raises(UnsupportedVersion, match="does not support CreateTopics"):
            connection.send(CreateTopicsRequest())
        with pytest.raises(UnsupportedVersion, match="speaks Heartbeat 5-7 and this client 0-4"):
            connection.send(HeartbeatRequest())
        assert len(broker.headers) == 1
        connection.close()

    run(main)


def test_a_request_without_answer_leaves_the_order_alone(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()

        def produce(header: RequestHeader, answer: Answer) -> None:
            answer.skip()

        broker.on[ApiKey.PRODUCE] = produce
        connection = await connected(broker)
        for _ in range(3):
            connection.tell(ProduceRequest(acks=0))
            assert await connection.send(HeartbeatRequest()) == HeartbeatResponse()
        assert len(broker.requests) == 6
        connection.close()

    run(main)


def generations(broker: FakeBroker) -> list[int]:
    return [request.generation_id for request in broker.requests if isinstance(request, HeartbeatRequest)]


def test_request_waits_for_room_in_flight(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        connection = await connected(broker, ClientOptions(in_flight_max=2))
        tasks = [
            asyncio.ensure_future(connection.request(HeartbeatRequest(generation_id=number))) for number in range(7)
        ]
        await until(lambda: len(broker.kept) == 2)
        await settle()
        assert len(broker.kept) == 2
        assert not connection.can_send
        with pytest.raises(AssertionError, match="can_send"):
            connection.send(HeartbeatRequest())
        given_up = next(number for number in range(7) if number not in generations(broker))
        tasks[given_up].cancel()
        for done in range(6):
            await until(lambda done=done: len(broker.kept) > done)  # type: ignore[misc]
            header, answer = broker.kept[done]
            reply(header, answer, HeartbeatResponse())
        await asyncio.wait(tasks)
        assert [task.cancelled() for task in tasks] == [number == given_up for number in range(7)]
        assert sorted([*generations(broker), given_up]) == list(range(7))
        connection.close()

    run(main)


def test_a_broker_that_does_not_read_holds_up_request(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        server = await start(broker)
        connection = await connect(*server.addresses["PLAINTEXT"])
        stuck = next(iter(server.admission.admitted))
        stuck.pause_writing()  # as if the client did not read: so the server does not read either
        records = PartitionProduceData(index=0, records=bytes(3_000_000))
        large = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[records])])
        asked = [connection.send(large)]
        while connection.can_send:
            asked.append(connection.send(large))
        waiting = asyncio.ensure_future(connection.request(HeartbeatRequest()))
        await settle()
        assert not waiting.done()
        stuck.resume_writing()
        await until(lambda: len(broker.kept) == len(asked) + 1)
        for header, answer in broker.kept:
            reply(header, answer, ProduceResponse() if header.api_key == ApiKey.PRODUCE else HeartbeatResponse())
        assert await waiting == HeartbeatResponse()
        connection.close()

    run(main)


def test_a_late_answer_fails_its_request_and_ends_the_connection(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        connection = await connected(broker)
        loop = asyncio.get_running_loop()
        ended: list[ClientConnection] = []
        connection.on_close(ended.append)
        asked_at = loop.time()
        patient = connection.send(HeartbeatRequest())
        hasty = connection.send(HeartbeatRequest(), timeout_ms=50)
        with pytest.raises(RequestTimedOut, match="did not answer Heartbeat in time"):
            await hasty
        assert 0.0499 < loop.time() - asked_at < 5.0
        with pytest.raises(Disconnected) as raised:
            await patient
        assert not isinstance(raised.value, RequestTimedOut)
        with pytest.raises(Disconnected):
            connection.send(HeartbeatRequest())
        assert ended == [connection]
        connection.on_close(ended.append)
        assert ended == [connection, connection]

    run(main)


def test_the_timer_goes_on_to_the_next_deadline(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        connection = await connected(broker)
        first = connection.send(HeartbeatRequest(), timeout_ms=400)
        second = connection.send(HeartbeatRequest(), timeout_ms=500)
        await until(lambda: broker.kept)
        reply(*broker.kept[0], HeartbeatResponse())
        assert await first == HeartbeatResponse()
        with pytest.raises(RequestTimedOut):
            await second

    run(main)


def test_who_cannot_send_after_all_lets_the_next_one_go(run: Run) -> None:
    async def main() -> None:
        connection = await connected(FakeBroker())
        connection.pause_writing()
        impossible = asyncio.ensure_future(connection.request(CreateTopicsRequest()))
        possible = [asyncio.ensure_future(connection.request(HeartbeatRequest())) for _ in range(3)]
        await settle()
        connection.resume_writing()
        with pytest.raises(UnsupportedVersion):
            await impossible
        assert await asyncio.gather(*possible) == [HeartbeatResponse()] * 3
        connection.close()

    run(main)


def test_no_room_for_too_long_is_a_timeout(run: Run) -> None:
    async def main() -> None:
        connection = await connected(FakeBroker())
        connection.pause_writing()
        with pytest.raises(RequestTimedOut, match="took no more requests for 50 ms"):
            await connection.request(HeartbeatRequest(), timeout_ms=50)
        assert connection.closed is not None

    run(main)


def test_an_answer_in_time_keeps_the_timer_quiet() -> None:
    async def main() -> None:
        connection = await connected(FakeBroker(), ClientOptions(request_timeout_ms=3_000))
        for _ in range(20):
            await connection.send(HeartbeatRequest())
            await asyncio.sleep(1)
        assert connection.closed is None
        connection.close()

    run_simulated(main)


def test_a_caller_that_gives_up_does_not_disturb_the_others(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        connection = await connected(broker)
        given_up, kept = connection.send(HeartbeatRequest()), connection.send(HeartbeatRequest())
        await until(lambda: len(broker.kept) == 2)
        given_up.cancel()
        for number, (header, answer) in enumerate(broker.kept):
            reply(header, answer, HeartbeatResponse(throttle_time_ms=number))
        assert (await kept).throttle_time_ms == 1
        connection.close()

    run(main)


HEADER = struct.Struct(">i")


@pytest.mark.parametrize(
    ("answer_bytes", "text"),
    [
        (HEADER.pack(77) + bytes(6), "answered request 77 instead of 2"),
        (HEADER.pack(2) + bytes(3), "malformed answer"),
        (b"\0", "announced an answer of 1 bytes"),
    ],
    ids=["another request", "too short", "no header"],
)
def test_a_broken_answer_ends_the_connection(run: Run, answer_bytes: bytes, text: str) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on[ApiKey.HEARTBEAT] = lambda _header, answer: answer.send((answer_bytes,))
        connection = await connected(broker)
        with pytest.raises(Disconnected, match=text):
            await connection.send(HeartbeatRequest())

    run(main)


def test_an_answer_that_nobody_asked_for_ends_the_connection(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on[ApiKey.PRODUCE] = lambda header, answer: reply(header, answer, ProduceResponse())
        connection = await connected(broker)
        connection.tell(ProduceRequest(acks=0))
        await until(lambda: connection.closed is not None)
        assert "nobody waits for" in str(connection.closed)

    run(main)


def test_a_disconnect_fails_everything_in_flight(run: Run) -> None:
    async def main() -> None:
        broker = FakeBroker()
        broker.on.clear()
        server = await start(broker)
        connection = await connect(*server.addresses["PLAINTEXT"], ClientOptions(in_flight_max=3))
        asked = [asyncio.ensure_future(connection.request(HeartbeatRequest())) for _ in range(5)]
        await until(lambda: len(broker.kept) == 3)
        await server.drain(0)
        for outcome in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(outcome, Disconnected)
        assert connection.in_flight == 0

    run(main)


def test_records_of_an_answer_stay_what_they_were(run: Run) -> None:
    """The views in a response are its own: later answers do not overwrite them."""

    async def main() -> None:
        broker = FakeBroker()
        sizes = [10, 100_000, 2_000, 900_000, 40_000, 5]

        def fetch(header: RequestHeader, answer: Answer) -> None:
            number = len(broker.requests) - 1
            data = PartitionData(records=bytes([number]) * sizes[number])
            topics = [FetchableTopicResponse(topic="t", partitions=[data])]
            reply(header, answer, FetchResponse(responses=topics))

        broker.on[ApiKey.FETCH] = fetch
        connection = await connected(broker)
        answers = await asyncio.gather(*(connection.send(FetchRequest()) for _ in sizes))
        records = [answer.responses[0].partitions[0].records for answer in answers]
        assert [bytes(each) for each in records] == [bytes([number]) * size for number, size in enumerate(sizes)]
        connection.close()

    run(main)
