"""How long to wait before trying again: longer each time, and never at the same moment as everybody else.

Kafka's formula (KIP-144, KIP-580): initial × 2^attempts × a random factor of 0.8 to 1.2, at most the maximum.
The defaults are those of `reconnect.backoff.ms`; a retry has `retry.backoff.ms`, a connection's set-up time
`socket.connection.setup.timeout.ms` (KIP-601).
"""

from __future__ import annotations

import math
import random

MULTIPLIER = 2
JITTER = 0.2


class Backoff:
    """Stateless: the caller counts its attempts, and starts again from zero after a success."""

    __slots__ = ("_exponent_max", "_initial_ms", "_max_ms", "_random")

    def __init__(
        self, initial_ms: float = 50, max_ms: float = 1000, *, drawn_from: random.Random | None = None
    ) -> None:
        self._initial_ms = min(initial_ms, max_ms)
        self._max_ms = max_ms
        self._random = drawn_from or random.Random()
        # From this exponent on only the jitter changes anything; 0 means a constant without any.
        self._exponent_max = math.log(max_ms / max(initial_ms, 1), MULTIPLIER) if max_ms > initial_ms else 0.0

    def delay_ms(self, attempts: int) -> float:
        """The wait after `attempts` failures in a row that came before this one."""
        if not self._exponent_max:
            return self._initial_ms
        delay_ms = self._initial_ms * math.pow(MULTIPLIER, min(attempts, self._exponent_max))
        return min(delay_ms * self._random.uniform(1 - JITTER, 1 + JITTER), self._max_ms)
