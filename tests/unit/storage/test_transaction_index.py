"""The transaction index of a segment: which aborted transactions a reader of committed data must leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.storage.files import CorruptFile
from moldau.storage.open_files import OpenFiles
from moldau.storage.transaction_index import AbortedTransaction, TransactionIndex
from moldau.testing.disk import SimulatedDisk

LOGS = Path("/logs")
PATH = LOGS / "00000000000000000013.txnindex"

# What Kafka wrote: producer 1 aborted 12..15 and 20..23.
KAFKA_BYTES = bytes.fromhex(
    "0000 0000000000000001 000000000000000c 000000000000000f 0000000000000010"
    "0000 0000000000000001 0000000000000014 0000000000000017 0000000000000018"
)
KAFKA_TRANSACTIONS = [AbortedTransaction(1, 12, 15, 16), AbortedTransaction(1, 20, 23, 24)]


@pytest.fixture
def open_files() -> OpenFiles:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    return OpenFiles(disk, limit=10)


@pytest.fixture
def index(open_files: OpenFiles) -> TransactionIndex:
    return TransactionIndex(open_files, PATH, 13)


def put(open_files: OpenFiles, data: bytes) -> None:
    open_files.files.open(PATH, create=True).append(data)


def test_entries_are_kafkas(open_files: OpenFiles, index: TransactionIndex) -> None:
    for transaction in KAFKA_TRANSACTIONS:
        index.append(transaction)
    index.sync()
    assert open_files.files.read_bytes(PATH) == KAFKA_BYTES
    assert index.all() == KAFKA_TRANSACTIONS


def test_kafkas_entries_are_read(open_files: OpenFiles, index: TransactionIndex) -> None:
    put(open_files, KAFKA_BYTES)
    assert index.entries == 2
    assert index.all() == KAFKA_TRANSACTIONS
    index.check()


def test_a_segment_without_aborted_transactions_has_no_file(open_files: OpenFiles, index: TransactionIndex) -> None:
    assert (index.entries, index.all(), index.collect(0, 100)) == (0, [], ([], False))
    index.truncate_to(5)
    index.reset()
    index.sync()
    index.check()
    assert open_files.files.names(LOGS) == []


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound_offset", "found", "complete"),
    [
        (0, 12, [], True),
        (0, 13, [0], True),
        (0, 17, [0], True),
        (0, 20, [0], True),
        (0, 21, [0, 1], True),
        (15, 16, [0], True),
        (16, 20, [], True),
        (16, 24, [1], True),
        (16, 25, [1], False),
        (23, 99, [1], False),
        (24, 99, [], False),
    ],
)
def test_collecting_finds_what_overlaps_and_says_when_it_is_done(
    open_files: OpenFiles,
    index: TransactionIndex,
    fetch_offset: int,
    upper_bound_offset: int,
    found: list[int],
    complete: bool,
) -> None:
    put(open_files, KAFKA_BYTES)
    expected = [KAFKA_TRANSACTIONS[number] for number in found]
    assert index.collect(fetch_offset, upper_bound_offset) == (expected, complete)


@pytest.mark.parametrize(("offset", "kept"), [(15, 0), (16, 1), (23, 1), (24, 2)])
def test_truncation_removes_transactions_whose_marker_goes(
    open_files: OpenFiles, index: TransactionIndex, offset: int, kept: int
) -> None:
    put(open_files, KAFKA_BYTES)
    index.truncate_to(offset)
    assert index.all() == KAFKA_TRANSACTIONS[:kept]
    assert open_files.files.size(PATH) == 34 * kept
    index.append(AbortedTransaction(2, 40, 41, 42))
    assert index.all() == [*KAFKA_TRANSACTIONS[:kept], AbortedTransaction(2, 40, 41, 42)]


def test_markers_come_in_the_order_of_the_log(index: TransactionIndex) -> None:
    index.append(KAFKA_TRANSACTIONS[1])
    with pytest.raises(AssertionError):
        index.append(KAFKA_TRANSACTIONS[0])


@pytest.mark.parametrize(
    "data",
    [
        KAFKA_BYTES[:-1],
        KAFKA_BYTES[:10],
        KAFKA_BYTES[34:] + KAFKA_BYTES[:34],
        b"\0\1" + KAFKA_BYTES[2:],
        KAFKA_BYTES + bytes(34),
        KAFKA_BYTES[:18] + bytes(8) + KAFKA_BYTES[26:],
    ],
)
def test_an_index_that_cannot_be_right_is_found_out_and_reset(
    open_files: OpenFiles, index: TransactionIndex, data: bytes
) -> None:
    put(open_files, data)
    with pytest.raises(CorruptFile, match="txnindex: "):
        index.check()
    index.reset()
    index.check()
    for transaction in KAFKA_TRANSACTIONS:
        index.append(transaction)
    assert open_files.files.read_bytes(PATH) == KAFKA_BYTES


def test_an_index_cut_under_its_reader_is_found_out(open_files: OpenFiles, index: TransactionIndex) -> None:
    put(open_files, KAFKA_BYTES)
    assert index.entries == 2
    open_files.files.open(PATH).truncate(40)
    with pytest.raises(CorruptFile, match="ends before entry"):
        index.collect(0, 100)


def test_many_entries_are_searched_and_not_read_through(open_files: OpenFiles, index: TransactionIndex) -> None:
    transactions = [AbortedTransaction(n % 7, 20 * n, 20 * n + 5, 20 * n + 6) for n in range(1, 1000)]
    for transaction in transactions:
        index.append(transaction)
    assert index.all() == transactions
    assert index.collect(19_000, 19_100) == (transactions[949:954], True)
    open_files.clear()
    assert TransactionIndex(open_files, PATH, 0).collect(19_900, 99_000) == (transactions[994:], False)
