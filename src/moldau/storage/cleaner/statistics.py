"""What a cleaning did, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(slots=True)
class CleaningStatistics:
    """Counted while it runs; the map is what was read to learn the last offset of each key."""

    first_dirty_offset: int = 0
    end_offset: int = 0
    map_bytes_read: int = 0
    map_records_read: int = 0
    bytes_read: int = 0
    records_read: int = 0
    bytes_written: int = 0
    records_written: int = 0
    invalid_records: int = 0
    segments_before: int = 0
    segments_after: int = 0
    map_utilization: float = 0.0
    map_ms: float = 0.0
    elapsed_ms: float = 0.0

    def __str__(self) -> str:
        copy_ms = self.elapsed_ms - self.map_ms
        return (
            f"dirty part [{self.first_dirty_offset}, {self.end_offset}); "
            f"indexed {_rate(self.map_bytes_read, self.map_ms)}, map {self.map_utilization:.1%} full; "
            f"copied {_rate(self.bytes_read, copy_ms)}; "
            f"{self.segments_before} segments with {self.records_read:,} records became {self.segments_after} with "
            f"{self.records_written:,}; "
            f"{_reduction(self.bytes_read, self.bytes_written):.1%} smaller, "
            f"{_reduction(self.records_read, self.records_written):.1%} fewer records"
            + (f"; {self.invalid_records:,} records had no key" if self.invalid_records else "")
        )


def _rate(size_bytes: int, duration_ms: float) -> str:
    rate = size_bytes / _MIB / (duration_ms / 1000.0) if duration_ms else 0.0
    return f"{size_bytes / _MIB:,.1f} MB in {duration_ms / 1000.0:,.1f} s ({rate:,.1f} MB/s)"


def _reduction(before: int, after: int) -> float:
    return 1.0 - after / before if before else 0.0
