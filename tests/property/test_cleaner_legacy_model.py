"""Random logs of all three formats, cleaned, against a list of all messages ever written."""

from __future__ import annotations

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.legacy import build_message_set
from moldau.records.record import NO_TIMESTAMP, Record
from tests.unit.records.record_strategies import LEGACY_CODECS
from tests.unit.storage.compacted_log import CompactedLog


def encoded(records: list[Record], magic: int, codec: CompressionType) -> bytes:
    if magic < 2:
        return build_message_set(records, magic, codec)
    return build_batch(records, codec, base_offset=records[0].offset, leader_epoch=0)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), sets=st.integers(1, 25))
def test_the_last_message_of_each_key_stays_in_its_format(seed: int, sets: int) -> None:
    random = Random(seed)
    log = CompactedLog()
    written: list[tuple[int, Record]] = []
    for _ in range(sets):
        magic, codec, first = random.randrange(3), random.choice(LEGACY_CODECS), len(written)
        records = [
            Record(first + index, random.randrange(10**12), b"k%d" % random.randrange(12), b"%d" % (first + index))
            for index in range(random.randint(1, 5))
        ]
        log.put(encoded(records, magic, codec))
        written += [(magic, record if magic else record._replace(timestamp=NO_TIMESTAMP)) for record in records]
        if random.random() < 0.3:
            log.roll()
        if random.random() < 0.2:
            log.clean()
    log.roll()
    log.clean()
    log.check_files()
    newest = {record.key: record.offset for _, record in written}
    expected = [(magic, record) for magic, record in written if newest[record.key] == record.offset]
    assert [(stored.magic, record) for stored in log.stored() for record in stored.records] == expected
    log.reopen()
    log.check_files()
    assert log.log.log_end_offset == len(written)
    assert [(stored.magic, record) for stored in log.stored() for record in stored.records] == expected
