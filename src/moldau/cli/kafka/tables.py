"""Columns as Kafka's tools print them: left-aligned, each with a smallest width, one space or a tab between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MISSING = "-"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], widths: Sequence[int], separator: str = " ") -> str:
    """A header and rows; a width is that of the widest cell at least if negative, and fixed if positive, 0 is none."""
    lines = [[shown(cell) for cell in row] for row in [header, *rows]]
    columns = list(zip(*lines, strict=True))
    fitted = [
        max(-width, *map(len, column)) if width < 0 else width for width, column in zip(widths, columns, strict=True)
    ]
    return "\n".join(
        separator.join(f"{cell:<{width}}" for cell, width in zip(line, fitted, strict=True)) for line in lines
    )


def shown(cell: object) -> str:
    return MISSING if cell is None else str(cell)
