"""A copy in another directory follows its original also when that is cut (KIP-113)."""

from __future__ import annotations

from pathlib import Path

from moldau.replication.replica_moves import cut_to_agree
from moldau.storage.log import Log
from moldau.storage.log_truncation import truncate_to
from tests.unit.storage.log_workbench import Workbench, append


def copies(tmp_path: Path) -> tuple[Log, Log]:
    """A log with records of epochs 0 and 1, and a whole copy of it."""
    logs = [Workbench(tmp_path / name).open() for name in ("current", "future")]
    for log in logs:
        append(log, 10, epoch=0)
        append(log, 5, epoch=1)
    return logs[0], logs[1]


def test_a_copy_of_what_was_not_cut_stays(tmp_path: Path) -> None:
    current, future = copies(tmp_path)
    append(current, 3, epoch=2)
    cut_to_agree(future, current)
    assert future.log_end_offset == 15


def test_what_the_original_has_differently_is_dropped(tmp_path: Path) -> None:
    current, future = copies(tmp_path)
    truncate_to(current, 12)
    append(current, 20, epoch=2)
    cut_to_agree(future, current)
    assert future.log_end_offset == 12


def test_epochs_that_the_original_lost_are_dropped_one_after_the_other(tmp_path: Path) -> None:
    current, future = copies(tmp_path)
    append(future, 5, epoch=3)
    truncate_to(current, 8)
    append(current, 20, epoch=4)
    cut_to_agree(future, current)
    assert future.log_end_offset == 8


def test_an_empty_copy_has_nothing_to_drop(tmp_path: Path) -> None:
    current, _ = copies(tmp_path)
    empty = Workbench(tmp_path / "empty").open()
    cut_to_agree(empty, current)
    assert empty.log_end_offset == 0
