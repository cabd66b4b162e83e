"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from moldau.cli.terminal.tables import Column


class Status(Enum):
    GOOD = "ok"
    WARNING = "warning"
    BAD = "bad"


_STYLES = {Status.GOOD.value: "green", Status.WARNING.value: "yellow", Status.BAD.value: "bold red"}


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` was found in which `area`; `advice` is what to do about it, if anything."""

    area: str
    status: Status
    what: str
    advice: str = ""

    @property
    def row(self) -> dict[str, str | None]:
        return {"area": self.area, "status": self.status.value, "what": self.what, "advice": self.advice or None}


COLUMNS = (
    Column("status", "STATUS", style=lambda value: _STYLES.get(str(value), "")),
    Column("area", "AREA"),
    Column("what", "FOUND"),
    Column("advice", "WHAT TO DO", lambda value: str(value or "")),
)


def good(area: str, what: str) -> Finding:
    return Finding(area, Status.GOOD, what)


def warning(area: str, what: str, advice: str) -> Finding:
    return Finding(area, Status.WARNING, what, advice)


def bad(area: str, what: str, advice: str) -> Finding:
    return Finding(area, Status.BAD, what, advice)
