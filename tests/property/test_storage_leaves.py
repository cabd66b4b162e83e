"""Indexes, checkpoints and names against models that are too simple to be wrong."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import Path
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.storage.checkpoints import read_leader_epochs, read_offsets, write_leader_epochs, write_offsets
from moldau.storage.file_names import DirectoryState, PartitionDirectory, parse_partition_directory, partition_directory
from moldau.storage.files import CorruptFile
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.open_files import OpenFiles
from moldau.storage.time_index import TimeIndex
from moldau.storage.transaction_index import AbortedTransaction, TransactionIndex
from moldau.testing.disk import SimulatedDisk

BASE = 1000
MAX_BYTES = 480
PATH = Path("/file")


class Indexes(RuleBasedStateMachine):
    """Both indexes of a segment, with a list of entries as the model of each."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.open_files = OpenFiles(self.disk, limit=1)
        self.offsets: list[tuple[int, int]] = []
        self.times: list[tuple[int, int]] = []
        self.reopen()

    @rule()
    def reopen(self) -> None:
        """The process dies and another one opens the files, as they are."""
        self.disk.kill()
        self.open_files = OpenFiles(self.disk, limit=1)
        self.offset_index = OffsetIndex(self.open_files, Path("/0.index"), BASE, MAX_BYTES)
        self.time_index = TimeIndex(self.open_files, Path("/0.timeindex"), BASE, MAX_BYTES)

    @rule(offset_step=st.integers(1, 5), position_step=st.integers(1, 9), time_step=st.integers(0, 3))
    def append(self, offset_step: int, position_step: int, time_step: int) -> None:
        last_offset, last_position = self.offsets[-1] if self.offsets else (BASE, 0)
        offset, position = last_offset + offset_step, last_position + position_step
        assert self.offset_index.is_full == (len(self.offsets) == MAX_BYTES // 8)
        assert self.time_index.is_full == (len(self.times) >= MAX_BYTES // 12 - 1)
        if self.offset_index.is_full or self.time_index.is_full:
            return
        self.offset_index.append(offset, position)
        self.offsets.append((offset, position))
        timestamp = (self.times[-1][0] if self.times else 0) + time_step
        self.time_index.append(timestamp, offset)
        if not self.times or time_step:
            self.times.append((timestamp, offset))

    @rule(offset=st.integers(BASE - 3, BASE + 200))
    def truncate(self, offset: int) -> None:
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.offsets = [entry for entry in self.offsets if entry[0] < offset]
        self.times = [entry for entry in self.times if entry[1] < offset]

    @rule()
    def trim(self) -> None:
        self.offset_index.trim()
        self.time_index.trim()
        assert self.disk.size(self.offset_index.path) == len(self.offsets) * 8
        assert self.disk.size(self.time_index.path) == len(self.times) * 12

    @rule()
    def preallocate(self) -> None:
        self.offset_index.preallocate()
        assert self.disk.size(self.offset_index.path) == MAX_BYTES

    @rule()
    def reset(self) -> None:
        self.offset_index.reset()
        self.time_index.reset()
        self.offsets, self.times = [], []

    @rule(offset=st.integers(BASE - 3, BASE + 200))
    def look_up_offset(self, offset: int) -> None:
        slot = bisect_right(self.offsets, (offset, 1 << 40))
        assert self.offset_index.lookup(offset) == (self.offsets[slot - 1] if slot else (BASE, 0))
        assert self.offset_index.lookup_now(offset) == self.offset_index.lookup(offset)

    @rule(timestamp=st.integers(-1, 100))
    def look_up_time(self, timestamp: int) -> None:
        slot = bisect_right(self.times, (timestamp, 1 << 40))
        assert self.time_index.lookup(timestamp) == (self.times[slot - 1] if slot else (-1, BASE))

    @invariant()
    def the_ends_agree(self) -> None:
        assert self.offset_index.entries == len(self.offsets)
        assert self.offset_index.last_offset == (self.offsets[-1][0] if self.offsets else BASE)
        assert self.time_index.entries == len(self.times)
        assert self.time_index.last == (self.times[-1] if self.times else (-1, BASE))


TestIndexes = Indexes.TestCase
TestIndexes.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


@st.composite
def uneven_offsets(draw: st.DrawFn) -> list[int]:
    """Up to ten thousand ascending offsets in stretches of different density, so that guesses of a search go wrong."""
    offsets: list[int] = []
    last = 0
    for count, step in draw(st.lists(st.tuples(st.integers(1, 2500), st.integers(1, 50_000)), min_size=1, max_size=4)):
        offsets.extend(range(last + step, last + step * count + 1, step))
        last = offsets[-1]
    return offsets


@settings(max_examples=15, deadline=None)
@given(offsets=uneven_offsets(), data=st.data())
def test_a_search_in_a_trimmed_index_finds_what_a_search_in_memory_finds(
    offsets: list[int], data: st.DataObject
) -> None:
    open_files = OpenFiles(SimulatedDisk(), limit=1)
    index = OffsetIndex(open_files, PATH, 0, 1 << 20)
    times = TimeIndex(open_files, PATH.with_name("times"), 0, 1 << 20)
    for position, offset in enumerate(offsets, 1):
        index.append(offset, position)
        times.append(10**12 + offset, offset)
    index.trim()
    times.trim()
    targets = [*data.draw(st.lists(st.integers(0, offsets[-1] + 1), min_size=10, max_size=30)), *offsets[::400]]
    for target in targets:
        slot = bisect_right(offsets, target)
        assert index.lookup(target) == ((offsets[slot - 1], slot) if slot else (0, 0))
        assert times.lookup(10**12 + target) == ((10**12 + offsets[slot - 1], offsets[slot - 1]) if slot else (-1, 0))


@settings(max_examples=60, deadline=None)
@given(entries=st.integers(0, 1500), synced=st.booleans(), seed=st.integers(), target=st.integers(0, 4000))
def test_an_index_after_a_crash_is_used_or_refused_and_can_be_built_again(
    entries: int, synced: bool, seed: int, target: int
) -> None:
    disk = SimulatedDisk()
    index = OffsetIndex(OpenFiles(disk, limit=1), PATH, 0, 12_000)
    index.preallocate()
    disk.sync_directory(PATH.parent)
    for number in range(1, entries + 1):
        index.append(2 * number, number)
    index.trim()
    if synced:
        index.sync()
    disk.crash(Random(seed))
    index = OffsetIndex(OpenFiles(disk, limit=1), PATH, 0, 12_000)
    try:
        index.check()
        found = index.lookup(target)
    except CorruptFile:
        assert not synced
    else:
        assert found.offset <= target
        if synced:
            assert (index.entries, found.position) == (entries, min(target // 2, entries))
    index.reset()
    index.append(2, 1)
    assert index.lookup(target) == ((2, 1) if target >= 2 else (0, 0))


@st.composite
def aborted_transactions(draw: st.DrawFn) -> list[AbortedTransaction]:
    transactions, last_offset, stable_offset = [], -1, 0
    for producer_id, step, length, stable_step in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), max_size=300)
    ):
        last_offset += step
        stable_offset = min(last_offset + 1, stable_offset + stable_step)
        first_offset = max(0, last_offset - length)
        transactions.append(AbortedTransaction(producer_id, first_offset, last_offset, stable_offset))
    return transactions


@settings(max_examples=60, deadline=None)
@given(
    transactions=aborted_transactions(),
    fetch_offset=st.integers(0, 800),
    length=st.integers(0, 500),
    cut=st.integers(0, 900),
)
def test_collecting_aborted_transactions_is_reading_them_all(
    transactions: list[AbortedTransaction], fetch_offset: int, length: int, cut: int
) -> None:
    index = TransactionIndex(OpenFiles(SimulatedDisk(), limit=1), PATH, 0)
    for transaction in transactions:
        index.append(transaction)
    index.check()
    upper_bound = fetch_offset + length
    beyond = [
        transaction.last_stable_offset >= upper_bound and transaction.last_offset >= fetch_offset
        for transaction in transactions
    ]
    read = transactions[: beyond.index(True) + 1] if any(beyond) else transactions
    expected = [each for each in read if each.last_offset >= fetch_offset and each.first_offset < upper_bound]
    assert index.collect(fetch_offset, upper_bound) == (expected, any(beyond))
    index.truncate_to(cut)
    kept = bisect_left([transaction.last_offset for transaction in transactions], cut)
    assert index.all() == transactions[:kept]


TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True)
PARTITIONS = st.integers(0, 2**31 - 1)
OFFSETS = st.dictionaries(st.tuples(TOPICS, PARTITIONS), st.integers(0, 2**63 - 1), max_size=20)


@settings(max_examples=60, deadline=None)
@given(offsets=OFFSETS, cut=st.floats(0, 1, exclude_max=True))
def test_a_checkpoint_comes_back_whole_or_not_at_all(offsets: dict[tuple[str, int], int], cut: float) -> None:
    disk = SimulatedDisk()
    write_offsets(disk, PATH, offsets)
    assert read_offsets(disk, PATH) == offsets
    size = max(1, int(disk.size(PATH) * cut))
    disk.open(PATH).truncate(size)
    with pytest.raises(CorruptFile):
        read_offsets(disk, PATH)


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=60) | st.text("0123 \nta-", max_size=30).map(str.encode))
def test_any_bytes_are_a_checkpoint_or_a_clean_error(data: bytes) -> None:
    disk = SimulatedDisk()
    disk.open(PATH, create=True).append(data)
    try:
        offsets = read_offsets(disk, PATH)
    except CorruptFile:
        pass
    else:
        write_offsets(disk, PATH, offsets)
        assert read_offsets(disk, PATH) == offsets
    try:
        epochs = read_leader_epochs(disk, PATH)
    except CorruptFile:
        pass
    else:
        assert epochs == sorted(epochs)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), max_size=10))
def test_leader_epochs_come_back(epochs: dict[int, int]) -> None:
    entries = list(zip(sorted(epochs), sorted(epochs.values()), strict=True))
    disk = SimulatedDisk()
    write_leader_epochs(disk, PATH, entries)
    assert read_leader_epochs(disk, PATH) == entries


@given(TOPICS, PARTITIONS, st.sampled_from(DirectoryState), st.from_regex("[0-9a-f]{32}", fullmatch=True))
def test_a_partition_directory_is_read_back(topic: str, partition: int, state: DirectoryState, unique: str) -> None:
    name = partition_directory(topic, partition, state, unique)
    read = parse_partition_directory(name)
    assert (read.partition, read.state) == (partition, state)
    if state is DirectoryState.DELETE:
        assert len(name) <= 255
        assert topic.startswith(read.topic)
    else:
        assert read == PartitionDirectory(topic, partition, state)
