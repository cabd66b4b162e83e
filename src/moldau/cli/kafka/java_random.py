"""java.util.Random, as far as payloads need it: what Kafka's tools send is the same in every run, and so is ours."""

from __future__ import annotations

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1
_LETTERS = 26
_INT_MAX = (1 << 31) - 1


class JavaRandom:
    """The linear congruential generator that Java documents."""

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ _MULTIPLIER) & _MASK

    def next_int(self, bound: int) -> int:
        """The next number below a bound that is no power of two."""
        while True:
            self._seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
            bits = self._seed >> 17
            found = bits % bound
            if bits - found + bound - 1 <= _INT_MAX:
                return found


def capitals(size: int, seed: int = 0) -> bytes:
    """A payload of so many capital letters."""
    random = JavaRandom(seed)
    return bytes(65 + random.next_int(_LETTERS) for _ in range(size))
