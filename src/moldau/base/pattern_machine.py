"""A machine that reads text character by character, following all of its possible states at once.

It is built of fragments, each of which adds states after a given one (Thompson's construction). Which set of states a
character leads to from another is found out when it is first needed and remembered up to a bound, so that after a few
texts a character costs one look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

STATES_MAX: Final = 5_000
REMEMBERED_MAX: Final = 20_000

Test = Callable[[str], bool]
"""Whether a character is one of those that are meant."""
Fragment = Callable[[int], int]
"""Adds states after the given one; the last of them."""


class PatternMachine:
    """Begins in state 0; `ValueError` if it becomes too large."""

    def __init__(self) -> None:
        self._edges: list[list[tuple[Test, int]]] = [[]]
        self._empty: list[list[int]] = [[]]
        self._only_at_begin: set[tuple[int, int]] = set()
        self._only_at_end: set[tuple[int, int]] = set()
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._moves: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def finish(self, fragment: Fragment) -> None:
        """This is all of it."""
        self._last = fragment(0)
        self._first = self._closure((0,), self._only_at_begin)
        self._first_and_last = self._closure((0,), self._only_at_begin | self._only_at_end)

    def matches(self, text: str) -> bool:
        """Whether the whole text is what the pattern says."""
        if not text:
            return self._last in self._first_and_last
        current, moves = self._first, self._moves
        for character in text:
            found = moves.get((current, character))
            current = self._move(current, character) if found is None else found
            if not current:
                return False
        return self._last in current or self._last in self._closure(current, self._only_at_end)

    # -- following states

    def _move(self, states: frozenset[int], character: str) -> frozenset[int]:
        reached = {target for state in states for test, target in self._edges[state] if test(character)}
        closure = self._closure(reached, frozenset())
        if len(self._moves) >= REMEMBERED_MAX:
            self._moves.clear()
            self._sets.clear()
        # Equal sets become one object, which is then found again without comparing them.
        closure = self._sets.setdefault(closure, closure)
        self._moves[states, character] = closure
        return closure

    def _closure(self, states: Iterable[int], allowed: Iterable[tuple[int, int]]) -> frozenset[int]:
        """All states that are reached without a character."""
        asserted: dict[int, list[int]] = {}
        for state, target in allowed:
            asserted.setdefault(state, []).append(target)
        found, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            for target in (*self._empty[state], *asserted.get(state, ())):
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    # -- building

    def new_state(self) -> int:
        if len(self._edges) >= STATES_MAX:
            raise ValueError(f"it needs more than {STATES_MAX} states")
        self._edges.append([])
        self._empty.append([])
        return len(self._edges) - 1

    def one(self, test: Test) -> Fragment:
        def build(start: int) -> int:
            end = self.new_state()
            self._edges[start].append((test, end))
            return end

        return build

    def at_begin(self, start: int) -> int:
        end = self.new_state()
        self._only_at_begin.add((start, end))
        return end

    def at_end(self, start: int) -> int:
        end = self.new_state()
        self._only_at_end.add((start, end))
        return end

    def any_of(self, fragments: list[Fragment]) -> Fragment:
        def build(start: int) -> int:
            end = self.new_state()
            for fragment in fragments:
                first = self.new_state()
                self._empty[start].append(first)
                self._empty[fragment(first)].append(end)
            return end

        return build

    def repeated(self, fragment: Fragment, low: int, high: int | None) -> Fragment:
        def build(start: int) -> int:
            for _ in range(low):
                start = fragment(start)
            if high is None:
                loop, end = self.new_state(), self.new_state()
                self._empty[start].append(loop)
                self._empty[fragment(loop)].append(loop)
                self._empty[loop].append(end)
                return end
            end = self.new_state()
            for _ in range(high - low):
                self._empty[start].append(end)
                start = fragment(start)
            self._empty[start].append(end)
            return end

        return build
