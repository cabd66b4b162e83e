"""Whether a log agrees with its model, and its files with each other."""

from __future__ import annotations

from moldau.records.walk import batches
from moldau.storage.log import Log
from moldau.storage.log_reading import aborted_transactions, find_largest_timestamp, find_slice, find_timestamp
from moldau.storage.segment import Segment
from tests.property.log_model import LogModel

BATCHES_SEARCHED_MAX = 12


def check_all(log: Log, model: LogModel) -> None:
    check_offsets(log, model)
    check_batches(log, model)
    check_producers(log, model)
    for segment in log.segments:
        check_indexes(segment)
    check_searches(log, model)


def check_offsets(log: Log, model: LogModel) -> None:
    ours = (log.log_start_offset, log.high_watermark, log.log_end_offset)
    assert ours == (model.start, model.high_watermark, model.end)
    assert model.last_stable_offset <= log.last_stable_offset <= model.last_stable_offset_max
    assert log.leader_epochs.entries == model.epochs
    assert log.recovery_point <= log.log_end_offset


def check_epochs(log: Log, model: LogModel) -> None:
    """After a restart: every batch is of the epoch that is noted for it; epochs without records may be there or not.

    Records that were deleted can be back, if the log start offset was not checkpointed; their epochs need not be.
    """
    start = max(model.start, model.deleted)
    for batch in model.from_offset(start):
        assert log.leader_epochs.epoch_for_offset(max(start, batch.base_offset)) == batch.epoch, (
            log.leader_epochs.entries,
            batch,
            model.epochs,
        )


def check_batches(log: Log, model: LogModel) -> None:
    """Every byte, as a consumer that starts at the beginning reads them."""
    expected = b"".join(batch.data for batch in model.from_offset(model.start) if batch.last_offset < model.end)
    assert contents(log, model.start) == expected


def contents(log: Log, offset: int) -> bytes:
    read = bytearray()
    while piece := find_slice(log, offset, log.log_end_offset, 1 << 20):
        data = piece.read()
        read += data
        offset = max(batch.next_offset for batch in batches(data))
    return bytes(read)


def check_read(log: Log, model: LogModel, offset: int, bound: int, bytes_max: int) -> None:
    """One read: from the right batch on, whole batches first, at least one, none that reaches the bound."""
    allowed = [batch for batch in model.from_offset(offset) if batch.last_offset < min(bound, model.end)]
    piece = find_slice(log, offset, bound, bytes_max)
    if not allowed or offset >= bound:
        assert piece is None
        return
    assert piece is not None
    data = piece.read()
    whole = b"".join(batch.data for batch in allowed)
    assert whole.startswith(data)
    assert len(data) >= len(allowed[0].data)
    assert len(data) <= max(bytes_max, len(allowed[0].data))
    next_base = log.segments.next_base(piece.segment)
    in_segment = sum(len(b.data) for b in allowed if next_base is None or b.base_offset < next_base)
    assert len(data) == min(in_segment, max(bytes_max, len(allowed[0].data)))


def check_producers(log: Log, model: LogModel) -> None:
    """The same as a replay of all batches gives; retention may have taken the batches but not the producers."""
    expected = model.producers
    assert log.producer_state.producers.keys() == expected.keys()
    for producer_id, entry in log.producer_state.producers.items():
        one = expected[producer_id]
        ours = (entry.producer_epoch, entry.last_sequence, entry.last_data_offset)
        assert ours == (one.epoch, one.last_sequence, one.last_offset)
        # Of a batch that was cleaned, the record with the largest timestamp may be gone.
        assert entry.last_timestamp == one.timestamp or (model.cleaned and entry.last_timestamp < one.timestamp)
        assert entry.transaction_first_offset == one.transaction_first_offset


def check_indexes(segment: Segment) -> None:
    """What the indexes say is true of the file, and every search finds what looking at all of the file finds."""
    found = list(segment.scan())
    by_offset = {batch.last_offset: batch for batch in found}
    for batch in found[:: max(1, len(found) // BATCHES_SEARCHED_MAX)]:
        for offset in {batch.base_offset, batch.last_offset}:
            assert segment.locate(offset) == batch
        entry = segment.offset_index.lookup(batch.last_offset)
        assert entry.position == 0 or by_offset[entry.offset].position == entry.position
        entry_of_time = segment.time_index.lookup(batch.max_timestamp)
        if entry_of_time.timestamp >= 0:
            assert by_offset[entry_of_time.offset].max_timestamp == entry_of_time.timestamp
    assert segment.largest_timestamp.timestamp == max((batch.max_timestamp for batch in found), default=-1)


def check_searches(log: Log, model: LogModel) -> None:
    timestamps = sorted({record.timestamp for record in model.records})
    for timestamp in [0, *timestamps[:: max(1, len(timestamps) // BATCHES_SEARCHED_MAX)], 1 << 60]:
        found = find_timestamp(log, timestamp)
        assert (found and found[:2]) == model.first_since(timestamp)
    largest = find_largest_timestamp(log)
    if timestamps and largest is None:
        assert any(not batch.records for batch in model.batches), "only an emptied batch may have a later timestamp"
    elif timestamps and largest is not None:
        assert largest.timestamp >= timestamps[-1]  # a deleted record of a segment that is still there may be later
    bound = model.last_stable_offset
    for offset in {model.start, (model.start + bound) // 2}:
        ours = [
            (one.producer_id, one.first_offset, one.last_offset) for one in aborted_transactions(log, offset, bound)
        ]
        expected = model.aborted(offset, bound)
        assert ours == [one for one in expected if one in ours], "in the order of their markers"
        for missing in set(expected).difference(ours):  # which a cleaning may have left nothing of
            assert not any(
                batch.producer.producer_id == missing[0]
                and missing[1] <= batch.base_offset < missing[2]
                and batch.records
                for batch in model.batches
            )
