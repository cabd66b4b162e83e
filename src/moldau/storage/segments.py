"""The segments of a log in the order of their offsets."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator

from moldau.storage.segment import Segment


class Segments:
    """Found by offset; the last one is the active one. A copy of the list is a snapshot that nobody changes."""

    active: Segment

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._bases: list[int] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def add(self, segment: Segment) -> None:
        assert segment.base_offset not in self._bases, segment
        insort(self._segments, segment, key=lambda other: other.base_offset)
        insort(self._bases, segment.base_offset)
        self.active = self._segments[-1]

    def remove(self, segment: Segment) -> None:
        self._segments.remove(segment)
        self._bases.remove(segment.base_offset)
        if self._segments:
            self.active = self._segments[-1]

    def replace(self, segments: Iterable[Segment], replacement: Segment) -> None:
        """Put one segment in the place of others."""
        gone = set(segments)
        kept = [segment for segment in self._segments if segment not in gone]
        insort(kept, replacement, key=lambda other: other.base_offset)
        self._segments, self._bases = kept, [segment.base_offset for segment in kept]
        self.active = kept[-1]

    def floor(self, offset: int) -> Segment | None:
        """The segment that an offset is or would be in."""
        index = bisect_right(self._bases, offset)
        return self._segments[index - 1] if index else None

    def from_offset(self, offset: int) -> list[Segment]:
        """The segments from the one that an offset is in."""
        return self._segments[max(0, bisect_right(self._bases, offset) - 1) :]

    def before(self, offset: int) -> list[Segment]:
        """The segments before the one that an offset is in."""
        return self._segments[: max(0, bisect_right(self._bases, offset) - 1)]

    def above(self, base_offset: int) -> list[Segment]:
        """The segments whose base offset is greater than an offset."""
        return self._segments[bisect_right(self._bases, base_offset) :]

    def next_base(self, segment: Segment) -> int | None:
        """Where the next segment begins; None for the active one."""
        index = bisect_right(self._bases, segment.base_offset)
        return self._bases[index] if index < len(self._bases) else None
