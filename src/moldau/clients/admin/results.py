"""What became of each item of a call that had several.

A call about several topics, groups or partitions is carried out for each of them, whatever becomes of the others. At
its end it raises the first failure, unless it was called with `raise_errors=False`; then

    results = admin.create_topics([NewTopic("a"), NewTopic("b")], raise_errors=False)
    results["a"]                # the value of this item, or its error is raised
    results.errors              # {"b": ApiError(...)}
    results.succeeded           # {"a": CreatedTopic(...)}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from moldau.base.errors import ApiError, MoldauError
from moldau.clients.errors import check

Item = TypeVar("Item")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)


class Results(Mapping[Item, Value_co]):
    """Items in the order of the call; `results[item]` is its value or raises its error."""

    __slots__ = ("_outcomes",)

    def __init__(self, outcomes: Mapping[Item, Value_co | MoldauError]) -> None:
        self._outcomes = dict(outcomes)

    def __getitem__(self, item: Item) -> Value_co:
        outcome = self._outcomes[item]
        if isinstance(outcome, MoldauError):
            raise outcome
        return outcome

    def __iter__(self) -> Iterator[Item]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __repr__(self) -> str:
        return f"Results({self._outcomes!r})"

    @property
    def errors(self) -> dict[Item, MoldauError]:
        return {item: outcome for item, outcome in self._outcomes.items() if isinstance(outcome, MoldauError)}

    @property
    def succeeded(self) -> dict[Item, Value_co]:
        return {item: outcome for item, outcome in self._outcomes.items() if not isinstance(outcome, MoldauError)}

    def raise_first(self) -> None:
        """Raise the first failure, if there is one."""
        for error in self.errors.values():
            raise error


def outcome(value: Value, error_code: int, message: str | None = None, *, of: object = None) -> Value | ApiError:
    """A value, or the error that an answer carries in its place; `of` is what it is about if it does not say."""
    try:
        check(error_code, message or (None if of is None else str(of)))
    except ApiError as error:
        return error
    return value
