"""What a coordinator asks of its own broker is done without a request, and answered as one is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from moldau.base.supervision import Supervisor
from moldau.cluster.metadata_cache import MetadataCache
from moldau.coordinator.transaction.broker_links import BrokerLinks, Serve
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from moldau.protocol.schema import Message

ME, OTHER = 1, 2


class Nobody:
    """Metadata in which no broker can be reached."""

    def endpoint(self, _broker_id: int, _listener: str) -> None:
        return None


def links(serve: Serve) -> BrokerLinks:
    metadata = cast(MetadataCache, Nobody())
    supervisor = Supervisor(lambda name, error: pytest.fail(f"{name}: {error}"))
    here: dict[type[Message], Serve] = {WriteTxnMarkersRequest: serve}
    return BrokerLinks(metadata, "PLAINTEXT", ClientOptions(), supervisor, broker_id=ME, here=here)


def sent(serve: Serve, broker_id: int = ME, *, closed: bool = False) -> tuple[list[Any], list[Any]]:
    """What was heard when `send` returned, and what in the end."""

    async def run() -> tuple[list[Any], list[Any]]:
        heard: list[Any] = []
        made = links(serve)
        made.send(broker_id, WriteTxnMarkersRequest(), heard.append)
        if closed:
            made.close()
        at_once = [*heard]
        for _ in range(3):
            await asyncio.sleep(0)
        return at_once, heard

    return asyncio.run(run())


def test_the_own_broker_is_asked_in_a_later_turn() -> None:
    response = WriteTxnMarkersResponse()
    asked = []

    def serve(request: Any, answer: Callable[[Any], None]) -> None:
        asked.append(request)
        answer(response)

    assert sent(serve) == ([], [response])
    assert asked == [WriteTxnMarkersRequest()]


def test_others_are_not_served_here() -> None:
    def serve(_request: Any, _answer: Callable[[Any], None]) -> None:
        pytest.fail("it was meant for another broker")

    assert sent(serve, OTHER) == ([], [None])


@pytest.mark.parametrize("answers_first", [False, True])
def test_a_failure_is_an_answer_that_nobody_knows_and_there_is_one_answer(answers_first: bool) -> None:
    response = WriteTxnMarkersResponse()

    def serve(_request: Any, answer: Callable[[Any], None]) -> None:
        if answers_first:
            answer(response)
        raise RuntimeError("the handler is broken")

    assert sent(serve) == ([], [response if answers_first else None])


def test_nothing_is_done_once_it_is_closed() -> None:
    def serve(_request: Any, _answer: Callable[[Any], None]) -> None:
        pytest.fail("the broker has stopped")

    assert sent(serve, closed=True) == ([], [])
