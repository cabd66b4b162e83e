"""Sessions against a broker's end of them: what is fetched is what was wanted, with little said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.clients.consumer.fetching.session import FetchSession, Wanted
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse
from moldau.protocol.schema import ZERO_UUID

A, B = TopicPartition("a", 0), TopicPartition("b", 1)


def _wanted(offset: int) -> Wanted:
    return Wanted(ZERO_UUID, offset, 0, 100)


def _asked(session: FetchSession, **partitions: Wanted) -> FetchRequest:
    request = FetchRequest()
    session.ask(request, {A if name == "a" else B: wanted for name, wanted in partitions.items()})
    return request


def _sent(request: FetchRequest) -> dict[tuple[str, int], int]:
    return {(topic.topic, each.partition): each.fetch_offset for topic in request.topics for each in topic.partitions}


def test_a_session_says_everything_once_and_then_what_changed() -> None:
    session = FetchSession()
    first = _asked(session, a=_wanted(0), b=_wanted(0))
    assert (first.session_id, first.session_epoch, _sent(first)) == (0, 0, {A: 0, B: 0})
    assert session.answered(FetchResponse(session_id=9))
    second = _asked(session, a=_wanted(5), b=_wanted(0))
    assert (second.session_id, second.session_epoch, _sent(second)) == (9, 1, {A: 5})
    assert session.answered(FetchResponse(session_id=9))
    third = _asked(session, a=_wanted(5))
    assert (third.session_epoch, _sent(third)) == (2, {})
    assert [(topic.topic, topic.partitions) for topic in third.forgotten_topics_data] == [("b", [1])]


def test_a_broker_without_room_for_a_session_is_told_everything_each_time() -> None:
    session = FetchSession()
    for offset in (0, 1):
        request = _asked(session, a=_wanted(offset))
        assert (request.session_id, request.session_epoch, _sent(request)) == (0, 0, {A: offset})
        assert session.answered(FetchResponse(session_id=0))
    assert session.end() is None


def test_an_error_or_no_answer_begins_the_session_anew() -> None:
    session = FetchSession()
    _asked(session, a=_wanted(0))
    session.answered(FetchResponse(session_id=9))
    _asked(session, a=_wanted(1))
    session.failed()
    again = _asked(session, a=_wanted(1))
    assert (again.session_id, again.session_epoch, _sent(again)) == (9, 0, {A: 1})
    assert not session.answered(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    assert _asked(session, a=_wanted(1)).session_id == 0


def test_a_topic_made_anew_is_said_anew() -> None:
    session = FetchSession()
    _asked(session, a=_wanted(0))
    session.answered(FetchResponse(session_id=9))
    request = _asked(session, a=_wanted(0)._replace(topic_id=bytes(15) + b"\5"))
    assert (request.session_epoch, _sent(request)) == (0, {A: 0})


@given(st.lists(st.tuples(st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)), st.sampled_from("anf"))))
def test_the_broker_always_fetches_exactly_what_is_wanted(steps: list[tuple[dict[str, int], str]]) -> None:
    session = FetchSession()
    brokers: dict[tuple[str, int], int] = {}
    epoch = 0
    for wanted, outcome in steps:
        request = _asked(session, **{name: _wanted(offset) for name, offset in wanted.items()})
        if request.session_epoch == 0:
            brokers = {}
        else:
            assert request.session_epoch == epoch
        brokers.update(_sent(request))
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                del brokers[topic.topic, number]
        assert brokers == {(A if name == "a" else B): offset for name, offset in wanted.items()}
        epoch = request.session_epoch + 1
        if outcome == "a":
            session.answered(FetchResponse(session_id=9))
        elif outcome == "n":
            session.answered(FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH))
        else:
            session.failed()
