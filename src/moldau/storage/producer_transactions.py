"""The transactions of a partition that keep its last stable offset back.

An offset is unstable while its transaction is undecided, or decided by a marker that is not replicated yet. The last
stable offset is the first unstable one, or the high watermark; readers of committed data see what is below it.

    undecided     first offset → producer id; transactions start in offset order, so this order is theirs
    unreplicated  (last offset, first offset) of completed ones whose marker is at or above the high watermark;
                  markers come in offset order, so the front is the first to go

Only the smallest first offset among the unreplicated ones is ever asked for. One that ended earlier and started later
than another can therefore be forgotten when the other ends: what stays rises in both columns, and its front is the
smallest. So every operation takes constant time, however many transactions wait for replicas.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping


class PartitionTransactions:
    """What is open or waits for replication in one partition."""

    __slots__ = ("_undecided", "_unreplicated")

    def __init__(self) -> None:
        self._undecided: OrderedDict[int, int] = OrderedDict()  # its first key is at hand, a dict's is searched for
        self._unreplicated: deque[tuple[int, int]] = deque()

    @property
    def first_undecided_offset(self) -> int | None:
        return next(iter(self._undecided), None)

    @property
    def first_unstable_offset(self) -> int | None:
        undecided = next(iter(self._undecided), None)
        if not self._unreplicated:
            return undecided
        unreplicated = self._unreplicated[0][1]
        return unreplicated if undecided is None else min(undecided, unreplicated)

    @property
    def oldest_producer_id(self) -> int | None:
        """Whose transaction has been open the longest."""
        return next(iter(self._undecided.values()), None)

    def __iter__(self) -> Iterator[int]:
        """The first offsets of the undecided transactions, in order."""
        return iter(self._undecided)

    def start(self, transactions: Mapping[int, int]) -> None:
        """Transactions begin, in the order of their first offsets, after all that have begun."""
        self._undecided.update(transactions)

    def complete(self, first_offset: int, last_offset: int) -> None:
        """A marker at `last_offset` ends the transaction that began at `first_offset`."""
        del self._undecided[first_offset]
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[-1][1] > first_offset:
            unreplicated.pop()
        unreplicated.append((last_offset, first_offset))

    def replicated_below(self, offset: int) -> None:
        """Everything below an offset is replicated: the high watermark, or the start of the log."""
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][0] < offset:
            unreplicated.popleft()

    def clear(self) -> None:
        self._undecided.clear()
        self._unreplicated.clear()
