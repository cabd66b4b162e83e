"""Regular expressions that cannot be turned against the broker: matching takes time in proportion to the text.

Kafka takes patterns from clients in the syntax of RE2 (KIP-848, KIP-1152). Python's own `re` searches by trial and
error, and a pattern such as `(a+)+b` stops a process for hours. Here a pattern becomes a machine with a bounded number
of states, all of which are followed at once.

What RE2 does not have (references to groups, looking ahead and behind) is refused, and so are word boundaries, Unicode
classes and flags other than `(?i)` and `(?s)` at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.base.pattern_machine import Fragment, PatternMachine, Test

REPEAT_MAX: Final = 1_000  # RE2's own limit
DEPTH_MAX: Final = 100

_DIGITS: Final = frozenset("0123456789")
_WORDS: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACES: Final = frozenset("\t\n\f\r ")
_CLASSES: Final = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


def compile_pattern(pattern: str) -> PatternMachine:
    """The machine of a pattern; `ValueError` says what is wrong with it."""
    machine = PatternMachine()
    machine.finish(_Parser(pattern, machine).parse())
    return machine


def _in_order(fragments: list[Fragment]) -> Fragment:
    def build(start: int) -> int:
        for fragment in fragments:
            start = fragment(start)
        return start

    return build


class _Parser:
    """By recursive descent: alternatives of sequences of repeated atoms."""

    def __init__(self, pattern: str, machine: PatternMachine) -> None:
        self._text = pattern
        self._at = 0
        self._machine = machine
        self._ignores_case = self._dot_is_all = False
        self._depth = 0

    def parse(self) -> Fragment:
        if self._text.startswith("(?") and (end := self._text.find(")")) > 0 and set(self._text[2:end]) <= set("is"):
            self._ignores_case = "i" in self._text[2:end]
            self._dot_is_all = "s" in self._text[2:end]
            self._at = end + 1
        fragment = self._alternatives()
        if self._at < len(self._text):
            raise ValueError("a ) closes nothing")
        return fragment

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self, needed_by: str) -> str:
        if self._at >= len(self._text):
            raise ValueError(f"it ends within {needed_by}")
        self._at += 1
        return self._text[self._at - 1]

    def _alternatives(self) -> Fragment:
        fragments = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            fragments.append(self._sequence())
        return fragments[0] if len(fragments) == 1 else self._machine.any_of(fragments)

    def _sequence(self) -> Fragment:
        fragments: list[Fragment] = []
        while self._peek() not in ("", "|", ")"):
            fragments.append(self._repetition(self._atom()))
        return _in_order(fragments)

    def _repetition(self, fragment: Fragment) -> Fragment:
        bounds = self._bounds()
        if bounds is None:
            return fragment
        if self._peek() == "?":
            self._at += 1  # as few as possible: which text matches is the same
        if self._peek() in ("*", "+", "?") or self._bounds() is not None:
            raise ValueError("a repetition is repeated")
        return self._machine.repeated(fragment, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            return None  # braces that are no repetition are themselves
        self._at = end + 1
        bounds = int(low), (int(high) if high else None) if comma else int(low)
        if max(bounds[0], bounds[1] or 0) > REPEAT_MAX or (bounds[1] is not None and bounds[1] < bounds[0]):
            raise ValueError(f"{{{low}{comma}{high}}} is no repetition of up to {REPEAT_MAX}")
        return bounds

    def _atom(self) -> Fragment:
        character = self._next("an atom")
        if character == "(":
            return self._group()
        if character == "[":
            return self._machine.one(self._class())
        if character == ".":
            return self._machine.one((lambda _: True) if self._dot_is_all else (lambda found: found != "\n"))
        if character == "^":
            return self._machine.at_begin
        if character == "$":
            return self._machine.at_end
        if character in "*+?":
            raise ValueError(f"there is nothing to repeat before {character}")
        if character != "\\":
            return self._machine.one(self._members({character}))
        if self._peek() == "A":
            self._at += 1
            return self._machine.at_begin
        if self._peek() == "z":
            self._at += 1
            return self._machine.at_end
        return self._machine.one(self._escaped_test())

    def _group(self) -> Fragment:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ValueError(f"its groups are nested more than {DEPTH_MAX} deep")
        if self._peek() == "?":
            self._at += 1
            kind = self._next("a group")
            if kind == "P":
                kind += self._next("a group")
            if kind in ("P<", "<") and self._peek() not in ("=", "!"):
                while self._next("the name of a group") != ">":
                    pass
            elif kind != ":":
                raise ValueError(f"groups of kind (?{kind} are not known")
        fragment = self._alternatives()
        if self._next("a group") != ")":
            raise ValueError("a ( is not closed")
        self._depth -= 1
        return fragment

    # -- single characters

    def _members(self, characters: Iterable[str], *, negated: bool = False) -> Test:
        members = frozenset(characters)
        if self._ignores_case:
            members |= {other for each in members for other in (each.lower(), each.upper())}
        return (lambda found: found not in members) if negated else (lambda found: found in members)

    def _escaped_test(self) -> Test:
        letter = self._peek()
        if letter.lower() in _CLASSES:
            self._at += 1
            return self._members(_CLASSES[letter.lower()], negated=letter.isupper())
        return self._members({self._escaped()})

    def _escaped(self) -> str:
        letter = self._next("an escape")
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "x":
            digits = self._next("\\x") + self._next("\\x")
            return chr(int(digits, 16))
        if letter.isalnum():
            raise ValueError(f"\\{letter} is not known")
        return letter

    def _class(self) -> Test:
        negated = self._peek() == "^"
        self._at += negated
        tests: list[Test] = []
        singles: set[str] = set()
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            self._class_item(tests, singles)
        self._at += 1
        tests.append(self._members(singles))
        if negated:
            return lambda found: not any(test(found) for test in tests)
        return lambda found: any(test(found) for test in tests)

    def _class_item(self, tests: list[Test], singles: set[str]) -> None:
        character = self._next("a class")
        if character == "\\":
            if self._peek().lower() in _CLASSES and self._peek():
                tests.append(self._escaped_test())
                return
            character = self._escaped()
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            singles.add(character)
            return
        self._at += 1
        last = self._next("a class")
        if last == "\\":
            last = self._escaped()
        if last < character:
            raise ValueError(f"{character}-{last} is no range")
        tests.append(self._range(character, last))

    def _range(self, first: str, last: str) -> Test:
        if self._ignores_case:
            return lambda found: first <= found.lower() <= last or first <= found.upper() <= last
        return lambda found: first <= found <= last
