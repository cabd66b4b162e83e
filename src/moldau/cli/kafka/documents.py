"""JSON documents that tools are given: partitions, with something about each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moldau.cli.kafka.failures import ToolFailed


def read_document(path: str) -> dict[str, Any]:
    """A JSON object in a file."""
    return parse_document(Path(path).read_text(), path)


def parse_document(text: str, source: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ToolFailed(f"{source} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ToolFailed(f'{source} is not a JSON object, as in {{"partitions":[…]}}')
    return document


def rows_of(document: dict[str, Any], source: str, name: str, **fields: type) -> list[dict[str, Any]]:
    """The objects in a list of the document, each with these fields at least."""
    rows = document.get(name)
    if not isinstance(rows, list):
        raise ToolFailed(f'{source} is missing "{name}" field, or it is no list')
    for row in rows:
        for field, kind in fields.items():
            if not isinstance(row, dict) or not isinstance(row.get(field), kind):
                raise ToolFailed(f'{source}: each of "{name}" needs "{field}", which is missing or wrong in {row}')
    return rows
