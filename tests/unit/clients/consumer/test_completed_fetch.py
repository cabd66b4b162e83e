"""What a fetch brought: which records are shown, where the position goes, what corruption does."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.errors import CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.fetching.column_decoding import decode_together
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import RecordDecoder, decode_one_by_one
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import AbortedTransaction
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.legacy import build_message_set
from moldau.records.record import Headers, TimestampType

PARTITION = TopicPartition("t", 0)
NO_HEADERS: Headers = ()


def _batch(first: int, values: list[bytes], **options: object) -> bytes:
    records = [(first + index, 1_000 + index, b"k", value, NO_HEADERS) for index, value in enumerate(values)]
    return build_batch(records, base_offset=first, **options)  # type: ignore[arg-type]


def _marker(offset: int, producer_id: int, kind: ControlRecordType) -> bytes:
    return build_end_transaction_marker(EndTransactionMarker(kind, 0), producer_id, 0, 1_000, base_offset=offset)


def _fetch(
    data: bytes, offset: int = 0, aborted: list[AbortedTransaction] | None = None, *, check_crcs: bool = True
) -> CompletedFetch:
    decoder = RecordDecoder()
    return CompletedFetch(PARTITION, 1, offset, memoryview(data), aborted, check_crcs=check_crcs, decoder=decoder)


def test_records_are_given_out_in_pieces_and_the_position_follows() -> None:
    fetch = _fetch(_batch(0, [b"a", b"b"], leader_epoch=3) + _batch(2, [b"c"], leader_epoch=4))
    assert [record.value for record in fetch.take(2)] == [b"a", b"b"]
    assert (fetch.next_offset, fetch.leader_epoch, fetch.exhausted) == (2, 3, False)
    (record,) = fetch.take(10)
    assert record == ("t", 0, 2, 1_000, TimestampType.CREATE_TIME, b"k", b"c", (), 4)
    assert (fetch.next_offset, fetch.leader_epoch, fetch.exhausted) == (3, 4, True)
    assert fetch.take(10) == []


def test_records_before_the_position_are_passed_by() -> None:
    fetch = _fetch(_batch(10, [b"a", b"b", b"c"]), offset=12)
    assert [record.offset for record in fetch.take(10)] == [12]


def test_control_records_are_never_shown_and_the_position_goes_past_them() -> None:
    fetch = _fetch(_batch(0, [b"a"]) + _marker(1, 7, ControlRecordType.COMMIT))
    assert [record.offset for record in fetch.take(10)] == [0]
    assert fetch.next_offset == 2


def test_read_committed_leaves_out_aborted_transactions_only() -> None:
    mine, other = Producer(7, 0, 0), Producer(8, 0, 0)
    data = b"".join(
        [
            _batch(0, [b"aborted"], producer=mine, transactional=True),
            _batch(1, [b"plain"]),
            _batch(2, [b"committed"], producer=other, transactional=True),
            _batch(3, [b"aborted"], producer=mine, transactional=True),
            _marker(4, 7, ControlRecordType.ABORT),
            _batch(5, [b"again"], producer=mine, transactional=True),
            _marker(6, 8, ControlRecordType.COMMIT),
            _marker(7, 7, ControlRecordType.COMMIT),
        ]
    )
    aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    fetch = _fetch(data, aborted=aborted)
    assert [record.value for record in fetch.take(10)] == [b"plain", b"committed", b"again"]
    assert fetch.next_offset == 8
    assert len(_fetch(data).take(10)) == 5  # read_uncommitted


def test_a_fetch_of_nothing_to_show_moves_the_position() -> None:
    fetch = _fetch(_marker(5, 7, ControlRecordType.COMMIT), offset=5)
    assert fetch.take(10) == []
    assert (fetch.next_offset, fetch.exhausted) == (6, True)


def test_a_batch_cut_off_at_the_end_is_left_for_the_next_fetch() -> None:
    fetch = _fetch(_batch(0, [b"a"]) + _batch(1, [b"b"])[:-1])
    assert [record.offset for record in fetch.take(10)] == [0]
    assert fetch.end_offset == 1


def test_what_comes_before_a_corrupt_batch_is_given_out_first_and_then_each_call_raises() -> None:
    corrupt = bytearray(_batch(1, [b"b"]))
    corrupt[-2] ^= 1
    fetch = _fetch(_batch(0, [b"a"]) + bytes(corrupt))
    assert [record.offset for record in fetch.take(10)] == [0]
    for _ in range(2):
        with pytest.raises(CorruptRecord, match=r"t-0 at offset 1.*seek past it"):
            fetch.take(10)


def test_records_that_lie_are_found_without_checksums_too() -> None:
    corrupt = bytearray(_batch(1, [b"b"]))
    corrupt[61] = 90  # the length of the record
    fetch = _fetch(_batch(0, [b"a"]) + bytes(corrupt), check_crcs=False)
    assert [record.offset for record in fetch.take(10)] == [0]
    for _ in range(2):
        with pytest.raises(CorruptRecord):
            fetch.take(10)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_from_before_kafka_0_11_are_read(magic: int) -> None:
    records = [(offset, 5_000, b"k", b"v%d" % offset, NO_HEADERS) for offset in range(3)]
    fetch = _fetch(bytes(build_message_set(records, magic, CompressionType.GZIP)), offset=1)
    assert [(record.offset, record.value) for record in fetch.take(10)] == [(1, b"v1"), (2, b"v2")]
    assert fetch.end_offset == 3


values = st.none() | st.binary(max_size=200)
rows = st.lists(st.tuples(st.integers(0, 9), values, values), min_size=1, max_size=6)
headers = st.just(()) | st.tuples(st.tuples(st.text(max_size=3), values))


@given(st.lists(rows, min_size=1, max_size=4), headers, st.booleans())
@settings(max_examples=60)
def test_decoding_together_gives_what_decoding_one_by_one_gives(
    batches: list[list[tuple[int, bytes | None, bytes | None]]], header: Headers, appended: bool
) -> None:
    data = []
    offset = 0
    for number, its_rows in enumerate(batches):
        records = []
        for gap, key, value in its_rows:
            offset += gap
            records.append((offset, 1_000 - gap, key, value, header))
            offset += 1
        encoded = bytearray(build_batch(records, base_offset=records[0][0], leader_epoch=number - 1))
        if appended and number % 2:
            RecordBatch(encoded).set_log_append_time(77)
        data.append(RecordBatch(encoded))
    one_by_one = decode_one_by_one("t", 1, data)
    together = decode_together("t", 1, data)
    if header:
        assert together is None
    else:
        assert together is not None
        assert len(together) == len(one_by_one)
        cut = len(together) // 2
        assert [*together[:cut], *together[cut:]] == one_by_one


@pytest.mark.parametrize("sizes", [[10] * 300, [100] * 300, [9_000] * 70, [10, 11] * 100, [100] * 64 + [101] * 64])
def test_records_of_the_same_size_are_found_together(sizes: list[int]) -> None:
    data = bytearray(_batch(0, [bytes(size) for size in sizes]))
    batch = RecordBatch(data)
    assert _together(batch) == decode_one_by_one("t", 1, [batch])
    data[-1 - sum(sizes[-5:])] ^= 0xFF  # somewhere in the middle of the last records: a length or a value
    try:
        wrong = _together(RecordBatch(data))
    except CorruptRecord:
        return
    assert wrong == decode_one_by_one("t", 1, [RecordBatch(data)])


def _together(batch: RecordBatch) -> list[ConsumerRecord]:
    decoded = decode_together("t", 1, [batch])
    assert decoded is not None
    return decoded[:]


def test_a_fetch_of_many_records_begins_in_the_middle_of_a_batch() -> None:
    fetch = _fetch(_batch(0, [b"%d" % number for number in range(1_000)]), offset=901)
    taken = [record.value for _ in range(3) for record in fetch.take(40)]
    assert taken == [b"%d" % number for number in range(901, 1_000)]
    assert (fetch.next_offset, fetch.exhausted) == (1_000, True)


def test_polls_of_some_hundred_records_do_not_wake_the_collector() -> None:
    fetch = _fetch(_batch(0, [b"v"] * 4_000))
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    for _ in range(10):
        assert len(fetch.take(400)) == 400
    assert gc.get_stats()[0]["collections"] == before
