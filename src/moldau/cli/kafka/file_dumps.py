"""Lines about the files of a log, in the form of Kafka's DumpLogSegments."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.cli.kafka.failures import text_of
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import MAGIC_V2, RecordBatch, add_to_sequence
from moldau.records.control import control_record_type, read_end_transaction_marker
from moldau.records.legacy import LegacyEntry
from moldau.records.reader import read_batch
from moldau.records.record import Record, TimestampType
from moldau.records.walk import Span, spans
from moldau.storage.producer_snapshot import decode_snapshot

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_TRANSACTION_ENTRY = Struct(">hqqqq")
_TIMESTAMPS = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}

Show = Callable[[Record], tuple[str | None, str | None]]


class Mismatch(NamedTuple):
    """Two numbers in a file that do not belong together; `form` says how."""

    form: str
    first: int
    second: int


class Dump:
    """Prints files, and collects what is wrong with them."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._problems: dict[str, list[Mismatch]] = {}
        self._prints_data = bool(
            options.print_data_log
            or options.offsets_decoder
            or options.transaction_log_decoder
            or options.key_decoder_class
            or options.value_decoder_class
        )
        self._is_deep = self._prints_data or options.deep_iteration
        self._show = _shower(options)

    def file(self, path: Path) -> None:
        dumps = {
            ".log": self._log,
            ".index": self._offset_index,
            ".timeindex": self._time_index,
            ".txnindex": self._transaction_index,
            ".snapshot": self._snapshot,
        }
        dump = dumps.get(path.suffix)
        if dump is None:
            print(f"Ignoring unknown file {path}", file=sys.stderr)
        else:
            dump(path)

    def report_problems(self) -> bool:
        """Tell of everything that did not fit; whether there was anything."""
        for title, mismatches in self._problems.items():
            print(title, file=sys.stderr)
            for form, first, second in mismatches:
                print(f"  {form.format(first, second)}", file=sys.stderr)
        return bool(self._problems)

    def _note(self, title: str, form: str, first: int, second: int) -> None:
        self._problems.setdefault(title, []).append(Mismatch(form, first, second))

    # -- segments

    def _log(self, path: Path) -> None:
        print(f"Log starting offset: {int(path.stem)}")
        data = path.read_bytes()
        limit = self._options.max_bytes
        end = 0
        last = -1
        for span in self._whole(data if limit is None else data[:limit], path):
            end = span.position + span.size_bytes
            for record in self._entry(data, span):
                if last >= 0 and record.offset != last + 1:
                    self._note(f"Non-consecutive offsets in {path}", "{} is followed by {}", last, record.offset)
                last = record.offset
        if end < len(data) and limit is None:
            print(f"Found {len(data) - end} invalid bytes at the end of {path.name}")

    def _whole(self, data: bytes, path: Path) -> Iterator[Span]:
        try:
            yield from spans(data)
        except CorruptRecord as error:
            print(f"{path}: {text_of(error)}", file=sys.stderr)

    def _entry(self, data: bytes, span: Span) -> list[Record]:
        """Print a batch, or an entry of an old message set; its records if they matter."""
        if span.magic < MAGIC_V2:
            return self._old_entry(data, span)
        batch = RecordBatch(data, span.position)
        valid = _is_valid(batch)
        horizon = (
            "OptionalLong.empty" if batch.delete_horizon_ms is None else f"OptionalLong[{batch.delete_horizon_ms}]"
        )
        print(
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count} "
            f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} producerId: {batch.producer_id} "
            f"producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.leader_epoch} "
            f"isTransactional: {_said(batch.is_transactional)} isControl: {_said(batch.is_control)} "
            f"deleteHorizonMs: {horizon} position: {span.position} "
            f"{_TIMESTAMPS[batch.timestamp_type]}: {batch.max_timestamp} size: {batch.size_bytes} magic: {batch.magic} "
            f"compresscodec: {batch.compression_type.name.lower()} crc: {batch.crc} isvalid: {_said(valid)}"
        )
        if not self._is_deep or not valid:
            return []
        records = read_batch(batch)
        for record in records:
            self._record(batch, record)
        return records

    def _record(self, batch: RecordBatch, record: Record) -> None:
        parts = ["|"]
        if not self._options.skip_record_metadata:
            sequence = batch.base_sequence
            if sequence >= 0:
                sequence = add_to_sequence(sequence, record.offset - batch.base_offset)
            parts.append(
                f"offset: {record.offset} {_TIMESTAMPS[batch.timestamp_type]}: {record.timestamp} "
                f"keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} "
                f"headerKeys: [{','.join(name for name, _ in record.headers)}]"
            )
            if batch.is_control:
                marker = read_end_transaction_marker(record)
                if marker is None:
                    parts.append(f"controlType: {control_record_type(record).name}")
                else:
                    parts.append(f"endTxnMarker: {marker.type.name} coordinatorEpoch: {marker.coordinator_epoch}")
        if self._prints_data and not batch.is_control:
            key, value = self._show(record)
            parts += [f"key: {key}"] if key is not None else []
            parts += [f"payload: {value}"] if value is not None else []
        print(" ".join(parts))

    def _old_entry(self, data: bytes, span: Span) -> list[Record]:
        try:
            entry = LegacyEntry(data, span)
        except CorruptRecord as error:
            print(f"position: {span.position} size: {span.size_bytes} magic: {span.magic} isvalid: false ({error})")
            return []
        crc = int.from_bytes(data[span.position + 12 : span.position + 16], "big")
        print(
            f"offset: {entry.offset} position: {span.position} {_TIMESTAMPS[entry.timestamp_type]}: {entry.timestamp} "
            f"size: {span.size_bytes} magic: {span.magic} compresscodec: {entry.compression_type.name.lower()} "
            f"crc: {crc} isvalid: true"
        )
        records = entry.records() if self._is_deep else []
        for record in records:
            line = f"| offset: {record.offset} {_TIMESTAMPS[entry.timestamp_type]}: {record.timestamp} "
            line += f"keySize: {_size(record.key)} valueSize: {_size(record.value)}"
            if self._prints_data:
                key, value = self._show(record)
                line += ("" if key is None else f" key: {key}") + ("" if value is None else f" payload: {value}")
            print(line)
        return records

    # -- indexes

    def _offset_index(self, path: Path) -> None:
        base, data = int(path.stem), path.read_bytes()
        log = path.with_suffix(".log").read_bytes() if path.with_suffix(".log").exists() else b""
        entries = _entries(_OFFSET_ENTRY, data, offset_field=0)
        if not entries:
            print(f"{path} is empty.")
            return
        if self._options.index_sanity_check:
            print(f"{path} {_sanity(data, _OFFSET_ENTRY)}")
            return
        for relative, position in entries:
            found = next(iter(spans(log, position)), None) if position < len(log) else None
            last = -1 if found is None else _last_offset(log, found)
            if last != base + relative:
                self._note(f"Mismatches in :{path}", "Index offset: {}, log offset: {}", base + relative, last)
            if not self._options.verify_index_only:
                print(f"offset: {base + relative} position: {position}")

    def _time_index(self, path: Path) -> None:
        base, data = int(path.stem), path.read_bytes()
        if self._options.index_sanity_check:
            print(f"{path} {_sanity(data, _TIME_ENTRY)}")
            return
        before = -1
        for timestamp, relative in _entries(_TIME_ENTRY, data, offset_field=1):
            if timestamp <= before:
                self._note(
                    f"Found out of order timestamp in :{path}",
                    "Index timestamp: {}, Previously indexed timestamp: {}",
                    timestamp,
                    before,
                )
            if not self._options.verify_index_only:
                print(f"timestamp: {timestamp} offset: {base + relative}")
            before = timestamp

    def _transaction_index(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data[: len(data) - len(data) % _TRANSACTION_ENTRY.size]
        for version, producer_id, first, last, stable in _TRANSACTION_ENTRY.iter_unpack(whole):
            print(
                f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
                f"lastStableOffset: {stable}"
            )

    def _snapshot(self, path: Path) -> None:
        for producer_id, entry in decode_snapshot(path.read_bytes()).items():
            first = entry.transaction_first_offset
            open_since = f"OptionalLong[{first}]" if first >= 0 else "OptionalLong.empty"
            line = f"producerId: {producer_id} producerEpoch: {entry.producer_epoch} "
            line += f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {open_since} "
            line += f"lastTimestamp: {entry.last_timestamp} "
            if (batch := entry.last_batch) is not None:
                line += f"firstSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
                line += (
                    f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
                )
            print(line)


def _entries(form: Struct, data: bytes, *, offset_field: int) -> list[tuple[int, ...]]:
    """The entries of an index file, which may have room for more behind them, full of zeros."""
    found: list[tuple[int, ...]] = []
    for entry in form.iter_unpack(data[: len(data) - len(data) % form.size]):
        if entry[offset_field] == 0 and (found or not any(entry)):
            break
        found.append(entry)
    return found


def _sanity(data: bytes, form: Struct) -> str:
    return "passed sanity check." if len(data) % form.size == 0 else "is corrupt: its size is no multiple of an entry's"


def _last_offset(log: bytes, span: Span) -> int:
    if span.magic == MAGIC_V2:
        return RecordBatch(log, span.position).last_offset
    return int.from_bytes(log[span.position : span.position + 8], "big", signed=True)


def _is_valid(batch: RecordBatch) -> bool:
    try:
        batch.check()
    except CorruptRecord:
        return False
    return True


def _said(value: bool) -> str:
    return str(value).lower()


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _shower(options: Namespace) -> Show:
    """How keys and values are printed."""
    if options.offsets_decoder or options.transaction_log_decoder:
        return _stored(options.offsets_decoder)
    from moldau.base.config.class_names import load_class
    from moldau.clients.serialization import DESERIALIZERS

    def decoder(name: str, given: str | None) -> Callable[[bytes], str]:
        if not given or given.endswith("StringDecoder"):
            return lambda data: data.decode(errors="replace")
        made = load_class(name, given, DESERIALIZERS)()
        deserialize: Callable[[str, bytes], object] = getattr(made, "deserialize")  # noqa: B009  # of any class
        return lambda data: str(deserialize("", data))

    of_key = decoder("key-decoder-class", options.key_decoder_class)
    of_value = decoder("value-decoder-class", options.value_decoder_class)
    return lambda record: (
        None if record.key is None else of_key(record.key),
        None if record.value is None else of_value(record.value),
    )


def _stored(offsets: bool) -> Show:
    from moldau.cli.kafka import stored_formatters

    def show(record: Record) -> tuple[str | None, str | None]:
        as_read = ConsumerRecord("", 0, *record[:2], TimestampType.CREATE_TIME, record.key, record.value)
        formatters: list[type[stored_formatters.StoredFormatter]] = [stored_formatters.TransactionLogMessageFormatter]
        if offsets:
            formatters = [
                stored_formatters.OffsetsMessageFormatter,
                stored_formatters.GroupMetadataMessageFormatter,
            ]
        for formatter in formatters:
            key, value = formatter({}).parts(as_read)
            if key is not None:
                return key, value
        return None, None

    return show
