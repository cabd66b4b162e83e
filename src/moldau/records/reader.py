"""The records of a v2 batch, one by one and strictly.

    length: varint of what follows | attributes: 1 byte, unused | timestamp delta: varlong | offset delta: varint |
    key length: varint, -1 null | key | value length: varint, -1 null | value |
    header count: varint | per header: key length, key, value length (-1 null), value

Positions only move forward and each record must end exactly where its length says, so a length that lies is found at
the end of its record at the latest. Reading past the data is `IndexError` in Python, never foreign memory, and is
turned into `CorruptRecord` in one place.

The loop is the price of every record that a consumer sees. So its varints of one and two bytes are written out, and a
call is left for longer ones: with a call for those of two bytes as well, the loop takes 40 % longer.
"""

from __future__ import annotations

from moldau.base.errors import CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, RecordBatch
from moldau.records.compression import COMPRESSION_MASK, DECOMPRESSED_BYTES_MAX, compression_type_of, decompress
from moldau.records.record import HEADER_KEY_ERRORS, Headers, Record
from moldau.records.varint import VARLONG_BYTES_MAX, decode_varint, finish_varint, wrap_int64

RECORD_BYTES_MIN = 7
_SAFE_TIMESTAMP_BITS = 62  # a base and a delta of no more bits than this have a sum of at most 63
_new_tuple = tuple.__new__


def read_batch(batch: RecordBatch, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> list[Record]:
    """All records of a batch whose header has been checked; the checksum is not computed here."""
    log_append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None
    return read_section(
        decompress_section(batch, limit_bytes),
        batch.count,
        batch.base_offset,
        batch.last_offset_delta,
        batch.base_timestamp,
        log_append_time,
    )


def decompress_section(batch: RecordBatch, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The records of a batch as bytes; a batch that compaction emptied has none, whatever its codec."""
    section = unfolded(batch.records_section, batch.attributes, batch.count, limit_bytes)
    return section if isinstance(section, bytes) else bytes(section)


def unfolded(section: memoryview, attributes: int, count: int, limit_bytes: int) -> bytes | memoryview:
    """The same, but a view where nothing had to be decompressed: for who copies it anyway, or need not."""
    if not section and not count:
        return b""
    if attributes & COMPRESSION_MASK or len(section) > limit_bytes:
        return decompress(compression_type_of(attributes), section, limit_bytes)
    return section


def read_section(
    data: bytes,
    count: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    log_append_time: int | None = None,
) -> list[Record]:
    """Exactly `count` records that fill `data`; a log append time is then the time of each."""
    if not 0 <= count <= len(data) // RECORD_BYTES_MIN:
        raise CorruptRecord(f"{count} records cannot be in {len(data)} bytes")
    records: list[Record] = []
    try:
        records, end = _read_records(data, count, base_offset, last_offset_delta, base_timestamp)
    except IndexError:
        end = len(data) + 1
    if end > len(data):
        raise CorruptRecord(f"the {count} records go on after their {len(data)} bytes")
    if end < len(data):
        raise CorruptRecord(f"{len(data) - end} bytes follow the last of {count} records")
    if log_append_time is not None:
        return [record._replace(timestamp=log_append_time) for record in records]
    return records


def _read_records(  # noqa: C901 - one loop with its varints written out, see above
    data: bytes, count: int, base_offset: int, last_offset_delta: int, base_timestamp: int
) -> tuple[list[Record], int]:
    records: list[Record] = []
    position = 0
    signs = 0  # zigzag makes negative numbers odd: one bit tells of all that must not be negative
    far = abs(base_timestamp)
    for _ in range(count):
        number = data[position]
        position += 1
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number)
            else:
                number += (byte << 7) - 128
                position += 1
        signs |= number
        end = position + (number >> 1)
        number = data[position + 1]  # after the attributes
        position += 2
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number, VARLONG_BYTES_MAX)
                far |= number >> 1
            else:
                number += (byte << 7) - 128
                position += 1
        timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
        number = data[position]
        position += 1
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number)
            else:
                number += (byte << 7) - 128
                position += 1
        signs |= number
        offset_delta = number >> 1
        key = value = None
        number = data[position]
        position += 1
        if number != 1:
            if number > 127:
                number, position = finish_varint(data, position, number)
            signs |= number
            key = data[position : (position := position + (number >> 1))]
        number = data[position]
        position += 1
        if number != 1:
            if number > 127:
                if (byte := data[position]) > 127:
                    number, position = finish_varint(data, position, number)
                else:
                    number += (byte << 7) - 128
                    position += 1
            signs |= number
            value = data[position : (position := position + (number >> 1))]
        headers: Headers = ()
        if data[position]:
            headers, position = _read_headers(data, position, end)
        else:
            position += 1
        if position != end or offset_delta > last_offset_delta or signs & 1:
            raise CorruptRecord(_record_problem(len(records), position, end, offset_delta, last_offset_delta))
        records.append(_new_tuple(Record, (base_offset + offset_delta, timestamp, key, value, headers)))
    if far >> _SAFE_TIMESTAMP_BITS:
        records = [record._replace(timestamp=wrap_int64(record.timestamp)) for record in records]
    return records, position


def _record_problem(index: int, position: int, end: int, offset_delta: int, last_offset_delta: int) -> str:
    if position != end:
        return f"record {index} of the batch says that it ends at byte {end}, and ends at {position}"
    if offset_delta > last_offset_delta:
        return f"record {index} of the batch has offset delta {offset_delta}, the last is {last_offset_delta}"
    return f"record {index} of the batch has a negative length or offset delta"


def _read_headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    """The headers whose count is at `position`; at least two bytes each, so the record bounds their number."""
    count, position = decode_varint(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise CorruptRecord(f"{count} headers cannot be in {end - position} bytes")
    headers = []
    signs = 0
    for _ in range(count):
        number = data[position]
        position += 1
        if number > 127:
            number, position = finish_varint(data, position, number)
        signs |= number
        key = data[position : (position := position + (number >> 1))].decode("utf-8", HEADER_KEY_ERRORS)
        number = data[position]
        position += 1
        value = None
        if number != 1:
            if number > 127:
                number, position = finish_varint(data, position, number)
            signs |= number
            value = data[position : (position := position + (number >> 1))]
        headers.append((key, value))
    if signs & 1:
        raise CorruptRecord("a header has a negative length")
    return tuple(headers), position
