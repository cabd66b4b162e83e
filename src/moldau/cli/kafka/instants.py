"""Moments on the command line: a date with a time, or how long ago."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from moldau.base.clock import SystemClock
from moldau.cli.kafka.failures import WrongUsage

_DURATION = re.compile(
    r"(?P<sign>-?)P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d*)?)S)?)?",
    re.IGNORECASE,
)


def instant_ms(text: str) -> int:
    """`2017-08-04T14:30:00.000`, in UTC unless it says otherwise, as Kafka has it."""
    form = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(Z|[+-]\d\d(?::?\d\d)?)?", text)
    if form is None:
        raise WrongUsage(f"'{text}' is not a time: write YYYY-MM-DDTHH:mm:SS.sss, and perhaps a zone, as in +02:00")
    try:
        return round(datetime.fromisoformat(form[1] + (form[2] or "Z")).timestamp() * 1000)
    except ValueError as error:
        raise WrongUsage(f"'{text}' is not a time: {error}") from error


def ago_ms(text: str) -> int:
    """`P1DT2H` ago."""
    form = _DURATION.fullmatch(text)
    given = {} if form is None else form.groupdict()
    parts = {name: float(each) for name, each in given.items() if each and name != "sign"}
    if form is None or not parts:
        raise WrongUsage(f"'{text}' is not a duration: write PnDTnHnMnS, as in PT30M or P1DT12H")
    milliseconds = round(timedelta(**parts) / timedelta(milliseconds=1))
    return SystemClock().now_ms() + (milliseconds if form["sign"] else -milliseconds)
