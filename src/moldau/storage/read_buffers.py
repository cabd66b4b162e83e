"""Memory for large reads, used again once nobody looks at it any more.

New memory is filled with zeros before it is read into, and its pages are touched for the first time; a profile of large
fetches saw a twentieth of the broker's time in that. Whoever was given a view need not give it back: a
buffer is free when no view of it is left, which a bytearray tells by allowing its length to change.
"""

from __future__ import annotations

from collections import deque

SMALL_BYTES_MAX = 64 * 1024  # not worth the looking
KEPT_MAX = 8
KEPT_BYTES_MAX = 4 * 1024 * 1024  # of one buffer


class ReadBuffers:
    """A few buffers, the longest unused first; safe to use in any thread."""

    def __init__(self) -> None:
        self._kept: deque[bytearray] = deque(maxlen=KEPT_MAX)

    def take(self, size: int) -> memoryview:
        """`size` bytes, whatever is in them."""
        if not SMALL_BYTES_MAX < size <= KEPT_BYTES_MAX:
            return memoryview(bytearray(size))
        for _ in range(len(self._kept)):
            try:
                buffer = self._kept.popleft()
            except IndexError:
                break  # other threads have them all
            view = memoryview(buffer)[:size] if len(buffer) >= size and is_free(buffer) else None
            self._kept.append(buffer)  # with a view of it, if it is taken
            if view is not None:
                return view
        buffer = bytearray(1 << (size - 1).bit_length())
        view = memoryview(buffer)[:size]
        self._kept.append(buffer)
        return view


def is_free(buffer: bytearray) -> bool:
    """Whether no view of a buffer is left."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True
