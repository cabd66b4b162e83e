"""Reading a table of a TOML document: every key is taken once, with its type, and what is left over is refused."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from moldau.pipeline.jobs.definition import PipelineError

_WORDS: Final[dict[type, str]] = {str: "a text", bool: "true or false", int: "a whole number", dict: "a table"}


class Table:
    """One table of a document, `place` being where it is for a person: `[source.orders]`."""

    def __init__(self, place: str, values: object) -> None:
        if not isinstance(values, dict):
            raise PipelineError(f"{place} has to be a table, not {values!r}")
        self.place = place
        self._values: dict[str, Any] = dict(values)
        self._asked: list[str] = []

    def text(self, name: str, default: str | None = None) -> str | None:
        value: str | None = self._take(name, str, default)
        return value

    def needed_text(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise PipelineError(f"{self.place} lacks {name}: write {name} = …")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self._take(name, bool, default))

    def number(self, name: str) -> int | None:
        value: int | None = self._take(name, int, None)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """One text, or a list of them."""
        value = self._any(name, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise PipelineError(f"{self.place}: {name} is {value!r}, but has to be a text or a list of texts")
        return tuple(found)

    def moment(self, name: str) -> str | datetime | None:
        """A word, or a time: one of TOML's, or an ISO text; without a zone it is UTC."""
        value = self._any(name, None)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                return str(value)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if value is not None:
            raise PipelineError(f"{self.place}: {name} is {value!r}, but has to be a word or a time")
        return None

    def table(self, name: str) -> Table | None:
        value = self._any(name, None)
        return None if value is None else Table(f"{self.place} {name}", value)

    def tables(self, name: str) -> list[Table]:
        """Those written as `[[name]]`."""
        values = self._any(name, [])
        if not isinstance(values, list):
            raise PipelineError(f"{self.place}: write [[{name}]] with two brackets; there may be several")
        return [Table(f"{self.place} [[{name}]] {number}", each) for number, each in enumerate(values, 1)]

    def tables_by_name(self, name: str) -> dict[str, Table]:
        """Those written as `[name.one]`."""
        values = self._any(name, {})
        if not isinstance(values, dict):
            raise PipelineError(f"{self.place}: write [{name}.NAME] with one pair of brackets, and a name for each")
        return {each: Table(f"{self.place} [{name}.{each}]", value) for each, value in values.items()}

    def text_or_table(self, name: str) -> str | Table | None:
        value = self._any(name, None)
        return value if isinstance(value, str) or value is None else Table(f"{self.place} {name}", value)

    def options(self, name: str) -> dict[str, str]:
        """A table of settings; `a.b = 1` without quotes, which TOML reads as tables in tables, is the setting a.b."""
        table = self.table(name)
        return {} if table is None else flat(table.place, table._values)

    def end(self) -> None:
        """Refuse what nobody asked for."""
        for name in self._values:
            near = difflib.get_close_matches(name, self._asked, 1)
            hint = f"did you mean {near[0]}?" if near else f"it can have: {', '.join(sorted(self._asked))}"
            raise PipelineError(f"{self.place} has no {name!r}; {hint}")

    def _take(self, name: str, kind: type, default: Any) -> Any:
        value = self._any(name, default)
        if value is not None and type(value) is not kind:
            raise PipelineError(f"{self.place}: {name} is {value!r}, but has to be {_WORDS[kind]}")
        return value

    def _any(self, name: str, default: Any) -> Any:
        self._asked.append(name)
        return self._values.pop(name, default)


def flat(place: str, values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Settings as texts, by full names."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flat(place, value, f"{prefix}{name}.")
        elif isinstance(value, bool):
            found[f"{prefix}{name}"] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[f"{prefix}{name}"] = str(value)
        else:
            raise PipelineError(f"{place}: {prefix}{name} is {value!r}, but has to be a text, a number, true or false")
    return found
