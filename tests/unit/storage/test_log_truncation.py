"""Cutting a log at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.records.batch import Producer
from moldau.storage.log_truncation import truncate_fully_and_start_at, truncate_to
from tests.unit.storage.log_workbench import Workbench, append, batch, read_all


@pytest.mark.parametrize("offset", [0, 1, 24, 25, 26, 60, 99, 100])
def test_what_is_before_the_cut_stays(tmp_path: Path, offset: int) -> None:
    bench = Workbench(tmp_path, segment_bytes=4000, index_interval_bytes=300)
    log = bench.open()
    append(log, 50, epoch=1)
    append(log, 50, epoch=2)
    assert truncate_to(log, offset) == (offset < 100)
    assert (log.log_end_offset, log.high_watermark) == (offset, offset)
    assert [record.offset for record in read_all(log)] == list(range(offset))
    assert log.leader_epochs.entries == [(1, 0), (2, 50)][: (offset > 0) + (offset > 50)]
    append(log, 30, epoch=3)
    assert [record.offset for record in read_all(log)] == list(range(offset + 30))
    again = bench.open()
    assert [record.offset for record in read_all(again)] == list(range(offset + 30))


def test_a_cut_inside_a_batch_takes_the_batch_away(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    append(log, 3)
    log.append_as_leader(batch(b"a", b"b", b"c"), 0)
    assert truncate_to(log, 4)
    assert log.log_end_offset == 3


def test_producers_are_what_they_were_then(tmp_path: Path) -> None:
    log = Workbench(tmp_path, segment_bytes=500).open()
    for sequence in range(20):
        log.append_as_leader(batch(b"%d" % sequence, producer=Producer(4, 0, sequence)), 0)
    truncate_to(log, 7)
    assert log.producer_state.producers[4].last_sequence == 6
    assert log.append_as_leader(batch(b"again", producer=Producer(4, 0, 7)), 0).first_offset == 7


def test_everything_can_be_dropped_for_a_new_start(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=2000)
    log = bench.open()
    append(log, 40, epoch=5)
    truncate_fully_and_start_at(log, 1000)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (1000, 1000, 1000)
    assert log.leader_epochs.entries == []
    append(log, 5, epoch=6)
    assert [record.offset for record in read_all(log)] == list(range(1000, 1005))
    log.close()
    assert [record.offset for record in read_all(bench.open(clean=True))] == list(range(1000, 1005))


def test_files_of_removed_segments_go_after_the_delay(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=2000, file_delete_delay_ms=1000)
    log = bench.open()
    append(log, 40)
    truncate_to(log, 3)
    assert any(name.endswith(".log.deleted") for name in bench.names)
    assert log.remove_due_files(bench.clock.now_ms() + 999) == 0
    assert log.remove_due_files(bench.clock.now_ms() + 1000) > 0
    assert not any(name.endswith(".deleted") for name in bench.names)
