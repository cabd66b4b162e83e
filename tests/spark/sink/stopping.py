"""`format("moldau-stopping")`: the same sink, which dies at a step that its options name, once.

Spark's Python processes import this module, so what is patched here is patched where it runs: in the process that
plans, in those of the tasks, in the one that commits.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamWriter
from pyspark.sql.types import StructType

from moldau.pipeline.datasource import MoldauDataSource
from moldau.pipeline.options import Options
from moldau.pipeline.sink.decision_log import DecisionLog
from moldau.pipeline.sink.driver_side import DriverSide
from moldau.pipeline.sink.effects import Effect
from moldau.pipeline.sink.values import Transaction
from moldau.pipeline.sink.writers import MoldauStreamWriter, TaskMessage

FORMAT = "moldau-stopping"
STEPS = (
    "before TakeTerm",
    "after TakeTerm",
    "after ReadLog",
    "a task before it tells",
    "before Decide",
    "in Decide",
    "after Decide",
    "in EndAll",
    "after EndAll",
    "after MarkDone",
)


@dataclass(frozen=True)
class Stop:
    """Where to die, whom to take along (0: nobody, else a process group), and the file that says that it was done."""

    step: str
    group: int
    file: str

    @classmethod
    def of(cls, options: Options) -> Stop:
        return cls(options.text("stopAt", ""), int(options.text("stopGroup", "0")), options.text("stopFile", ""))

    def here(self, step: str) -> None:
        if step == self.step and not Path(self.file).exists():
            self._die()

    def _die(self) -> NoReturn:
        Path(self.file).write_text(self.step)
        if self.group:
            os.killpg(self.group, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("dead")


_stop = Stop("", 0, "")
_perform = DriverSide.perform
_end_all = DriverSide._end_all
_append = DecisionLog.append


async def _stopping_perform(side: DriverSide, effect: Effect) -> Any:
    name = type(effect).__name__
    _stop.here(f"before {name}")
    answer = await _perform(side, effect)
    _stop.here(f"after {name}")
    return answer


async def _stopping_end_all(side: DriverSide, transactions: Sequence[Transaction], commit: bool) -> list[Transaction]:
    await _end_all(side, transactions[:1], commit)
    _stop.here("in EndAll")
    return await _end_all(side, transactions, commit)


async def _stopping_append(log: DecisionLog, key: bytes, value: bytes | None, **how: Any) -> None:
    await _append(log, key, value, **how)
    if how.get("transactional_id") is not None:
        _stop.here("in Decide")


def _install(stop: Stop) -> None:
    global _stop
    _stop = stop
    for owner, name, stopping in (
        (DriverSide, "perform", _stopping_perform),
        (DriverSide, "_end_all", _stopping_end_all),
        (DecisionLog, "append", _stopping_append),
    ):
        setattr(owner, name, stopping)


class StoppingWriter(MoldauStreamWriter):
    def __init__(self, options: Options, schema: StructType) -> None:
        self._stop = Stop.of(options)
        super().__init__(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        message = super().write(iterator)
        self._stop.here("a task before it tells")
        return message


class StoppingDataSource(MoldauDataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        _install(Stop.of(self._options))
        return StoppingWriter(self._options, schema)
