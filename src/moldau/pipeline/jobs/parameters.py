"""Parameters of a pipeline file: `${name}` in its texts, with defaults, set by `--set name=value`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from moldau.pipeline.jobs.definition import PipelineError

_PLACE: Final = re.compile(r"\$\{([^}]*)\}")
SPARK_PREFIX: Final = "spark."


@dataclass(frozen=True, slots=True)
class Parameter:
    """Without a default it has to be given."""

    name: str
    default: str | None = None
    about: str = ""


def pairs(given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` as given on the command line."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise PipelineError(f"--set {each}: write --set NAME=VALUE")
        found[name.strip()] = value
    return found


def spark_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Those of the given that are settings of Spark."""
    return {name: value for name, value in given.items() if name.startswith(SPARK_PREFIX)}


def resolve(parameters: Sequence[Parameter], given: Mapping[str, str], place: str) -> dict[str, str]:
    """The value of each parameter."""
    named = {name: value for name, value in given.items() if not name.startswith(SPARK_PREFIX)}
    known = {each.name for each in parameters}
    for name in named:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise PipelineError(
                f"--set {name}: {place} has no such parameter; it has: {listed}. "
                f"Settings of Spark begin with {SPARK_PREFIX}"
            )
    values: dict[str, str] = {}
    for each in parameters:
        value = named.get(each.name, each.default)
        if value is None:
            about = f" ({each.about})" if each.about else ""
            raise PipelineError(f"{place} needs the parameter {each.name}{about}: add --set {each.name}=VALUE")
        values[each.name] = value
    return values


def substitute(value: object, values: Mapping[str, str], place: str) -> object:
    """The same document with the parameters' values in its texts."""
    if isinstance(value, str):
        return _PLACE.sub(lambda found: _value_of(found[1], values, place), value)
    if isinstance(value, Mapping):
        return {name: substitute(each, values, f"{place} {name}") for name, each in value.items()}
    if isinstance(value, list):
        return [substitute(each, values, place) for each in value]
    return value


def _value_of(names: str, values: Mapping[str, str], place: str) -> str:
    """The value of a parameter, or of the first of `a|b` that is not empty."""
    for name in names.split("|"):
        if name not in values:
            listed = ", ".join(sorted(values)) or "none"
            raise PipelineError(f"{place}: ${{{name}}} is no parameter; under [parameters] there are: {listed}")
    return next((values[name] for name in names.split("|") if values[name]), "")
