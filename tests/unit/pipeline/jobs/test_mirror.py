"""Mirrors: what is mirrored, and how offsets are translated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.pipeline.jobs.definition import PipelineError
from moldau.pipeline.jobs.mirror.group_offsets import only_forward, translated
from moldau.pipeline.jobs.mirror.settings import mirror_settings
from moldau.pipeline.jobs.mirror.sync_points import PAIRS_MAX, SyncFile, SyncPoints

SOURCE = {"bootstrap.servers": "one:9092", "group.id": "mm", "key.deserializer": "x", "client.id": "c"}
TARGET = {"bootstrap.servers": "two:9092", "acks": "1"}
ORDERS = TopicPartition("orders", 0)


def test_settings_become_options_of_a_source_and_a_sink() -> None:
    settings = mirror_settings(SOURCE, TARGET, "orders, pay.*")
    assert settings.source_options() == {
        "kafka.bootstrap.servers": "one:9092",
        "kafka.client.id": "c",
        "kafka.group.id": "mm",
        "kafka.isolation.level": "read_committed",
        "includeHeaders": "true",
    }
    assert settings.sink_options() == {"kafka.bootstrap.servers": "two:9092"}
    wanted = [
        name for name in ("orders", "payments", "order", "my-orders", "__consumer_offsets") if settings.wants(name)
    ]
    assert wanted == ["orders", "payments"]


@pytest.mark.parametrize(
    ("source", "target", "pattern", "told"),
    [
        ({}, TARGET, "a", "--consumer.config has no bootstrap.servers"),
        (SOURCE, {}, "a", "--producer.config has no bootstrap.servers"),
        (SOURCE, SOURCE, "a", "cannot be mirrored into itself"),
        (SOURCE, TARGET, "a(", "--include 'a(' is no regular expression"),
        (SOURCE | {"auto.offset.reset": "none"}, TARGET, "a", "auto.offset.reset is 'none'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    source: dict[str, str], target: dict[str, str], pattern: str, told: str
) -> None:
    with pytest.raises(PipelineError) as raised:
        mirror_settings(source, target, pattern)
    assert told in str(raised.value)


def test_an_offset_is_translated_by_the_pair_at_or_before_it() -> None:
    points = SyncPoints()
    for pair in ((10, 0), (20, 11), (20, 99), (50, 42)):
        points.add(ORDERS, *pair)
    offsets = (9, 10, 19, 20, 49, 50, 1000)
    assert [points.translate(ORDERS, offset) for offset in offsets] == [None, 0, 0, 11, 11, 42, 42]
    assert points.translate(TopicPartition("orders", 1), 20) is None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5)), min_size=1, max_size=1000), st.data())
def test_a_group_never_misses_a_record(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    """Each batch has some records and some markers; records keep their order and get the target's next offsets."""
    points = SyncPoints()
    targets: list[int] = []
    points.add(ORDERS, 0, 0)
    end = 0
    for records, markers in steps:
        targets += range(end, end + records)  # the offset at the target of each at the source
        end += records + markers
        points.add(ORDERS, len(targets), end)
    assert len(points) <= PAIRS_MAX
    committed = data.draw(st.integers(0, len(targets) - 1))
    there = points.translate(ORDERS, committed)
    assert there is not None
    assert there <= targets[committed]
    assert points.translate(ORDERS, len(targets)) == end


def test_sync_points_survive_a_restart_and_a_broken_file(tmp_path: Path) -> None:
    points = SyncPoints()
    points.add(ORDERS, 5, 6)
    file = SyncFile(tmp_path / "checkpoint" / "points.json")
    assert len(file.load()) == 0
    file.save(points)
    assert file.load().translate(ORDERS, 5) == 6
    (tmp_path / "checkpoint" / "points.json").write_text('[["orders"')
    assert len(file.load()) == 0


def test_offsets_of_a_group_go_forward_only() -> None:
    points = SyncPoints()
    points.add(ORDERS, 5, 6)
    other = TopicPartition("other", 0)
    wanted = translated({ORDERS: OffsetAndMetadata(7, "note"), other: OffsetAndMetadata(1)}, points)
    assert wanted == {ORDERS: OffsetAndMetadata(6, "note")}
    assert only_forward(wanted, {}) == wanted
    assert only_forward(wanted, {ORDERS: OffsetAndMetadata(5)}) == wanted
    assert only_forward(wanted, {ORDERS: OffsetAndMetadata(6)}) == {}
