"""A member as a table: what each answer of a coordinator does to it."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.clients.consumer.group.membership import Membership, MemberState, Reaction
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse


def _member(group_instance_id: str | None = None) -> Membership:
    return Membership("g", group_instance_id, 45_000, 300_000)


def _stable(group_instance_id: str | None = None) -> Membership:
    member = _member(group_instance_id)
    member.join_request([("range", b"s")])
    member.joined(JoinGroupResponse(generation_id=5, member_id="m", leader="m", protocol_name="range"))
    member.sync_request({"m": b"a"})
    assert member.synced(SyncGroupResponse(assignment=b"a")) == b"a"
    return member


def test_the_first_join_has_an_empty_member_id_and_the_poll_interval_as_rebalance_timeout() -> None:
    request = _member().join_request([("range", b"s"), ("sticky", b"u")])
    assert (request.member_id, request.protocol_type) == ("", "consumer")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, 300_000)
    assert [each.name for each in request.protocols] == ["range", "sticky"]


def test_a_member_that_is_told_its_id_joins_again_with_it() -> None:
    member = _member()
    member.join_request([])
    assert member.refused(ErrorCode.MEMBER_ID_REQUIRED, -1, "m-1") is Reaction.TAKE_ID
    assert member.rejoin_needed
    assert member.join_request([]).member_id == "m-1"


def test_a_generation_is_joined_synced_and_kept() -> None:
    member = _stable()
    assert (member.state, member.rejoin_needed, member.beats) == (MemberState.STABLE, False, True)
    beat = member.heartbeat_request()
    assert (beat.generation_id, beat.member_id) == (5, "m")


def test_what_was_read_is_committed_as_who_read_it() -> None:
    member = _stable()
    assert member.metadata == ("g", -1, "", None)
    member.begins_to_read()
    assert member.metadata == ("g", 5, "m", None)
    member.refused(ErrorCode.UNKNOWN_MEMBER_ID, 5)
    assert member.generation_lost
    assert member.metadata == ("g", 5, "m", None), "so that the coordinator can refuse it"
    member.ends_reading()
    assert member.metadata == ("g", -1, "", None)


@pytest.mark.parametrize(
    ("code", "reaction", "member_id", "generation_id", "rejoin"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN, "m", 5, True),
        (ErrorCode.UNKNOWN_MEMBER_ID, Reaction.NEW_MEMBER, "", -1, True),
        (ErrorCode.ILLEGAL_GENERATION, Reaction.NEW_GENERATION, "m", -1, True),
        (ErrorCode.NOT_COORDINATOR, Reaction.COORDINATOR_LOST, "m", 5, False),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.RETRY, "m", 5, False),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Reaction.RAISE, "m", 5, False),
    ],
)
def test_errors_have_the_consequences_that_kafka_gives_them(
    code: ErrorCode, reaction: Reaction, member_id: str, generation_id: int, rejoin: bool
) -> None:
    member = _stable()
    assert member.refused(code, 5) is reaction
    assert (member.member_id, member.generation_id, member.rejoin_needed) == (member_id, generation_id, rejoin)


def test_an_answer_about_an_older_generation_changes_nothing() -> None:
    member = _stable()
    assert member.refused(ErrorCode.UNKNOWN_MEMBER_ID, 4) is Reaction.RETRY
    assert (member.state, member.member_id) == (MemberState.STABLE, "m")


def test_a_static_member_whose_place_is_taken_gives_up() -> None:
    member = _stable("i")
    assert member.refused(ErrorCode.FENCED_INSTANCE_ID, 5) is Reaction.GIVE_UP
    assert member.fatal is not None
    assert member.fatal.code is ErrorCode.FENCED_INSTANCE_ID


def test_leaving_is_said_in_the_version_of_the_broker() -> None:
    member = _stable()
    assert member.leave_request(2, "bye").member_id == "m"
    (leaver,) = member.leave_request(5, "bye").members
    assert (leaver.member_id, leaver.reason) == ("m", "bye")


def test_what_may_not_follow_is_refused() -> None:
    member = _member()
    with pytest.raises(AssertionError):
        member.synced(SyncGroupResponse())
