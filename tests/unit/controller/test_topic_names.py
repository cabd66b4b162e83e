"""Names a topic may have."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.controller.topic_names import NameCollisions, check_topic_name, problem_of_topic_name


@pytest.mark.parametrize("name", ["a", "Orders-2.retry_1", "x" * 249, "...", "-"])
def test_a_legal_name(name: str) -> None:
    assert problem_of_topic_name(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("größe", "characters other than"),
        ("a/b", "characters other than"),
        ("a\n", "characters other than"),
        ("a\u0661", "characters other than"),
    ],
)
def test_an_illegal_name_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_topic_name(name)
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused.value.message.startswith("Topic name is invalid: ")
    assert why in refused.value.message


def test_names_collide_where_only_dots_and_underscores_differ() -> None:
    names = NameCollisions(["a.b", "c-d"])
    with pytest.raises(ApiError, match=r"Topic 'a_b' collides with existing topics: a\.b"):
        names.check("a_b")
    names.check("c.d")
    names.check("ab")
    names.add("c.d")
    with pytest.raises(ApiError, match="collides"):
        names.check("c_d")
