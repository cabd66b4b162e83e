"""Where to read a partition that has no position: `auto.offset.reset`.

`by_duration:P1DT2H` (KIP-1106) begins with the first record that is not older than that.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from moldau.base.errors import ConfigError

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2

_DURATION = re.compile(
    r"P(?=.)(?:(?P<days>\d+)D)?(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)
_MS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


class ResetPolicy(NamedTuple):
    """A fixed timestamp to look up, a distance from now, or neither: then a missing position is an error."""

    timestamp: int | None = None
    duration_ms: int | None = None

    def timestamp_at(self, now_ms: int) -> int | None:
        """The timestamp to ask for: -1 is the end of the log, -2 its beginning."""
        return self.timestamp if self.duration_ms is None else now_ms - self.duration_ms


EARLIEST = ResetPolicy(EARLIEST_TIMESTAMP)
LATEST = ResetPolicy(LATEST_TIMESTAMP)
NONE = ResetPolicy()


def reset_policy(text: str) -> ResetPolicy:
    """What a setting means."""
    name, _, duration = text.strip().partition(":")
    named = {"earliest": EARLIEST, "latest": LATEST, "none": NONE}.get(name.lower())
    if named is not None and not duration:
        return named
    match = _DURATION.fullmatch(duration)
    if name.lower() != "by_duration" or match is None:
        raise ConfigError(
            f"Invalid value {text} for configuration auto.offset.reset: "
            "expected earliest, latest, none or by_duration:<ISO 8601 duration>"
        )
    return ResetPolicy(duration_ms=round(sum(float(match[unit] or 0) * ms for unit, ms in _MS.items())))
