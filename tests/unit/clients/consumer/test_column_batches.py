"""A fetch as columns holds what it holds as records, whether its batches are looked at together or one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.clients.consumer.column_batches import ColumnBatch, column_batch
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import RecordDecoder
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import AbortedTransaction
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.legacy import build_message_set
from moldau.records.record import Headers

PARTITION = TopicPartition("t", 3)
MINE = Producer(7, 0, 0)


def _batch(
    first: int, values: list[bytes | None], codec: CompressionType = CompressionType.NONE, **options: object
) -> bytes:
    headers: Headers = ()
    records = [(first + index, 1_000 + index, None, value, headers) for index, value in enumerate(values)]
    return build_batch(records, codec, base_offset=first, **options)  # type: ignore[arg-type]


def _marker(offset: int, kind: ControlRecordType) -> bytes:
    return build_end_transaction_marker(EndTransactionMarker(kind, 0), MINE.producer_id, 0, 1_000, base_offset=offset)


def _fetch(
    data: bytes, offset: int = 0, aborted: list[AbortedTransaction] | None = None, *, check_crcs: bool = True
) -> CompletedFetch:
    view = memoryview(bytearray(data))
    return CompletedFetch(PARTITION, 1, offset, view, aborted, check_crcs=check_crcs, decoder=RecordDecoder())


def _rows(batch: ColumnBatch | None) -> list[tuple[int, bytes | None]]:
    assert batch is not None
    assert (batch.topic, batch.partition) == PARTITION
    return list(zip(batch.columns["offset"].to_pylist(), batch.columns["value"].to_pylist(), strict=True))


# Records of one size, of which many are found at once, and others; from small batches to those of several sizes of
# offset deltas.
equal = st.builds(
    lambda size, count: [bytes(size)] * count, st.sampled_from([0, 1, 12, 13, 60, 700]), st.integers(1, 140)
)
mixed = st.lists(st.none() | st.binary(max_size=90), min_size=1, max_size=9)
batches = st.lists(
    st.tuples(equal | mixed, st.sampled_from([CompressionType.NONE] * 3 + [CompressionType.GZIP])),
    min_size=1,
    max_size=6,
)


@given(batches, st.integers(0, 20), st.integers(0, 5))
@settings(max_examples=150)
def test_columns_hold_what_records_hold(
    parts: list[tuple[list[bytes | None], CompressionType]], cut_off: int, before: int
) -> None:
    data, offset = b"", 0
    for values, codec in parts:
        data += _batch(offset, values, codec)
        offset += len(values)
    data += _batch(offset, [b"cut off"])[:cut_off]  # what a fetch ends with; also what makes copies unnecessary
    expected, columns = _fetch(data, before), _fetch(data, before)
    records = [(record.offset, record.value) for record in expected.take(100_000)]
    while not expected.exhausted:
        records += [(record.offset, record.value) for record in expected.take(100_000)]
    batch = column_batch(columns)
    assert (_rows(batch) if batch else []) == records
    assert (columns.next_offset, columns.exhausted) == (offset, True)


def test_the_leader_epoch_is_that_of_the_last_batch() -> None:
    fetch = _fetch(_batch(0, [b"a"], leader_epoch=3) + _batch(1, [b"b"], leader_epoch=4))
    assert _rows(column_batch(fetch)) == [(0, b"a"), (1, b"b")]
    assert fetch.leader_epoch == 4


@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_markers_and_aborted_records_are_not_shown(kind: ControlRecordType) -> None:
    is_aborted = kind is ControlRecordType.ABORT
    data = _batch(0, [b"mine"], producer=MINE, transactional=True) + _batch(1, [b"other"]) + _marker(2, kind)
    aborted = [AbortedTransaction(producer_id=MINE.producer_id, first_offset=0)] if is_aborted else []
    fetch = _fetch(data, aborted=aborted)
    shown = [(1, b"other")] if is_aborted else [(0, b"mine"), (1, b"other")]
    assert _rows(column_batch(fetch)) == shown
    assert fetch.next_offset == 3
    assert column_batch(_fetch(_marker(0, kind))) is None


def test_what_comes_before_a_corrupt_batch_is_given_out_first() -> None:
    corrupt = bytearray(_batch(1, [b"b"]))
    corrupt[-2] ^= 1
    data = _batch(0, [b"a"]) + bytes(corrupt)
    fetch = _fetch(data)
    assert _rows(column_batch(fetch)) == [(0, b"a")]
    assert fetch.next_offset == 1
    with pytest.raises(CorruptRecord, match=r"t-3 at offset 1.*seek past it"):
        column_batch(fetch)
    assert _rows(column_batch(_fetch(data, check_crcs=False)))[0] == (0, b"a")


@pytest.mark.parametrize(
    ("at", "value", "check_crcs"),
    [
        (0, 0xFF, True),
        (23, 0xFF, True),
        (23, 0xFF, False),
        (60, 9, True),
        (60, 9, False),
        (16, 1, True),
        (16, 1, False),
    ],
)
def test_headers_that_lie_are_corrupt(at: int, value: int, check_crcs: bool) -> None:
    data = bytearray(_batch(0, [b"a"]) + _batch(1, [b"b"]))
    data[at] = value  # base offset, which no checksum covers; last offset delta; count; magic
    with pytest.raises(ApiError):
        column_batch(_fetch(bytes(data), check_crcs=check_crcs))


def test_old_formats_are_for_records() -> None:
    old = bytes(build_message_set([(0, 5_000, None, b"v", ())], 1))
    with pytest.raises(ApiError) as raised:
        column_batch(_fetch(old))
    assert raised.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    both = _fetch(_batch(0, [b"new"]) + bytes(build_message_set([(1, 5_000, None, b"old", ())], 1)))
    assert _rows(column_batch(both)) == [(0, b"new")]
    assert both.next_offset == 1
