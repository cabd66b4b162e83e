"""Patterns that match as Python's do, and in time however they are written."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.linear_pattern import compile_pattern

ATOMS = st.sampled_from(
    ["a", "b", "-", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\w", r"\.", "^", "$", "[]a]", "[a-]", r"[\d_]"]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda pattern: f"({pattern})"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.lists(st.text("abc-.1_", max_size=6), max_size=6))
def test_it_matches_what_python_matches(pattern: str, texts: list[str]) -> None:
    machine = compile_pattern(pattern)
    for text in texts:
        assert machine.matches(text) == (re.fullmatch(pattern.replace("$", r"\Z"), text) is not None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("(?i)App-[a-c]", "aPP-B", True),
        ("(?s)a.b", "a\nb", True),
        ("a.b", "a\nb", False),
        (r"\Aab\z", "ab", True),
        (r"\x41\t", "A\t", True),
        ("(?P<name>a)(?<other>b)", "ab", True),
        ("a{,2}", "a{,2}", True),
        ("", "", True),
        ("", "a", False),
        (r"[\]x]+", "]x", True),
    ],
)
def test_examples(pattern: str, text: str, matches: bool) -> None:
    assert compile_pattern(pattern).matches(text) is matches


NOT_CLOSED = ["(", ")", "a)", "[", "[a", "\\", r"\x4", "(?P<n"]
NOT_KNOWN = [r"(a)\1", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"\b", r"\pL", "(?m)a"]
NOT_REPEATED = ["*a", "a**", "a+{2}", "a{1001}", "a{2,1}", "[c-a]"]
TOO_LARGE = ["(" * 200 + ")" * 200, "((a{100}){100}){100}"]


@pytest.mark.parametrize("pattern", [*NOT_CLOSED, *NOT_KNOWN, *NOT_REPEATED, *TOO_LARGE])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(a*)*(a*)*b", ".*.*.*.*.*=.*", "(a?){30}a{30}b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    started = time.perf_counter()
    assert not compile_pattern(pattern).matches("a" * 10_000)
    assert time.perf_counter() - started < 5
