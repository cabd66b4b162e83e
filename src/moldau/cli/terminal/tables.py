"""Rows as a table on a terminal, as plain columns in a pipe, or as JSON.

A row is a mapping with values as they are, so that JSON has numbers and lists; columns choose some of them, and say
how they are shown.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, object]

MISSING = "-"
BETWEEN = "  "
UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def plain(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(printable, map(str, value))) or MISSING
    return printable(str(value))


def printable(text: str) -> str:
    """A text without what would steer a terminal: names of groups and clients may be anything."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def count(value: object) -> str:
    """A number by thousands; a rate with a digit behind the point while it is small."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else plain(value)


def size(value: object) -> str:
    """Bytes as people say them."""
    if not isinstance(value, int | float):
        return plain(value)
    left, unit = float(value), 0
    while left >= 1024 and unit < len(UNITS) - 1:
        left, unit = left / 1024, unit + 1
    return f"{left:.0f} {UNITS[unit]}" if unit == 0 or left >= 100 else f"{left:.1f} {UNITS[unit]}"


@dataclass(frozen=True, slots=True)
class Column:
    """One value of each row; `style` names a colour for it, or none."""

    key: str
    title: str
    shown: Callable[[object], str] = plain
    style: Callable[[object], str] | None = None

    @property
    def is_number(self) -> bool:
        return self.shown in (count, size)


def alarming(limit: float = 0) -> Callable[[object], str]:
    """A style: red above the limit."""
    return lambda value: "bold red" if isinstance(value, int | float) and value > limit else ""


def is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_rows(rows: Sequence[Row], columns: Sequence[Column], *, as_json: bool = False, title: str = "") -> None:
    """Print rows in the way that suits who reads them."""
    if as_json:
        print_json(list(rows))
    elif is_terminal():
        from rich.console import Console

        Console().print(rich_table(rows, columns, title))
    else:
        if title:
            print(title)
        print(plain_table(rows, columns))


def plain_table(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    lines = [[column.title for column in columns]]
    lines += [[column.shown(row.get(column.key)) for column in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        BETWEEN.join(
            f"{cell:>{width}}" if column.is_number else f"{cell:<{width}}"
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )


def rich_table(rows: Sequence[Row], columns: Sequence[Column], title: str = "") -> Table:
    """The same for a terminal. What comes from a cluster is text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.is_number else "left", overflow="fold")
    for row in rows:
        values = [(column, row.get(column.key)) for column in columns]
        table.add_row(
            *(Text(column.shown(value), style=column.style(value) if column.style else "") for column, value in values)
        )
    return table
