"""Kafka's own DumpLogSegments reads what our cleaner left of messages of magic 0 and 1."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moldau.records.legacy import build_message_set
from moldau.records.record import Record
from moldau.storage.disk_files import DiskFiles
from tests.compat.jvm_kafka import dump_log_segments
from tests.unit.records.record_strategies import LEGACY_CODECS
from tests.unit.storage.compacted_log import CompactedLog

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_what_stays_of_old_messages_is_read(tmp_path: Path) -> None:
    log = CompactedLog(DiskFiles(), base=tmp_path / "data")
    offset = 0
    for magic in (0, 1):
        for codec in LEGACY_CODECS:
            name = f"{magic}-{codec.name}".encode()
            records = [
                Record(offset + index, 1_000 + index, name + b"-%d" % (index % 3), b"value") for index in range(5)
            ]
            log.put(build_message_set(records, magic, codec))
            offset += len(records)
    log.append((b"new", b"value"))
    log.roll()
    log.clean()
    first = log.log.segments.first
    paths = [first.path, first.offset_index.path, first.time_index.path]
    text = dump_log_segments(paths, "--deep-iteration", "--print-data-log")
    assert not re.search(r"isvalid: false|mismatch|out of order|not found|error|exception", text, re.IGNORECASE)
    found = re.findall(r"^\| offset: (\d+) .* key: (\S+) payload: (\S+)$", text, re.MULTILINE)
    assert found == [(str(at), (key or b"").decode(), (value or b"").decode()) for at, key, value in log.records()]
    assert len(found) == 3 * 2 * len(LEGACY_CODECS) + 1
    formats = set(re.findall(r" magic: (\d) compresscodec: (\w+) ", text))
    assert formats == {(magic, codec.name.lower()) for magic in "01" for codec in LEGACY_CODECS} | {("2", "none")}
