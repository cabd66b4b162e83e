"""What happened in a simulated run, in order: the last lines to read, and a digest to compare runs by."""

from __future__ import annotations

import hashlib
from collections import deque

LINES_KEPT = 2000


class Trace:
    """Two runs with the same digest were the same run."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.count = 0

    def add(self, time_s: float, event: str) -> None:
        line = f"{time_s:.9f} {event}"
        self._digest.update(line.encode() + b"\n")
        self.lines.append(line)
        self.count += 1

    def digest(self) -> str:
        return self._digest.hexdigest()
