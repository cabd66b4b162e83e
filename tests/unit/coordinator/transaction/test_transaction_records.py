"""Records of `__transaction_state`, byte for byte as Kafka 3.9 writes them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.errors import MalformedMessage
from moldau.coordinator.transaction.states import TransactionState
from moldau.coordinator.transaction.transaction import NO_PARTITIONS, Transaction
from moldau.coordinator.transaction.transaction_records import (
    decode_transaction,
    encode_transaction,
    tombstone,
    transactional_id_of,
)

EMPTY = Transaction("tx", 1234, 5, 60_000, TransactionState.EMPTY, NO_PARTITIONS, started_ms=-1, updated_ms=77)


def string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def test_a_key_is_its_version_and_the_transactional_id() -> None:
    assert encode_transaction(EMPTY).key == struct.pack(">h", 0) + string("tx")
    assert tombstone("tx") == (struct.pack(">h", 0) + string("tx"), None)


def test_in_state_empty_there_is_no_list_of_partitions() -> None:
    value = struct.pack(">hqhibiqq", 0, 1234, 5, 60_000, 0, -1, 77, -1)
    assert encode_transaction(EMPTY).value == value


def test_partitions_are_grouped_by_topic() -> None:
    partitions = frozenset((("b", 1), ("a", 3), ("a", 0)))
    ongoing = Transaction("tx", 1234, 5, 60_000, TransactionState.ONGOING, partitions, started_ms=70, updated_ms=77)
    head = struct.pack(">hqhibi", 0, 1234, 5, 60_000, 1, 2)
    topics = string("a") + struct.pack(">iii", 2, 0, 3) + string("b") + struct.pack(">ii", 1, 1)
    assert encode_transaction(ongoing).value == head + topics + struct.pack(">qq", 77, 70)


def test_in_a_complete_state_the_list_is_empty_and_the_start_is_kept() -> None:
    done = Transaction("tx", 1, 0, 10, TransactionState.COMPLETE_COMMIT, NO_PARTITIONS, started_ms=70, updated_ms=77)
    assert encode_transaction(done).value == struct.pack(">hqhibiqq", 0, 1, 0, 10, 4, 0, 77, 70)


def test_a_key_of_another_type_is_nobodys() -> None:
    assert transactional_id_of(struct.pack(">h", 3) + b"anything") is None


def test_a_state_that_does_not_exist_makes_no_sense() -> None:
    with pytest.raises(MalformedMessage, match="has state 9"):
        decode_transaction("tx", struct.pack(">hqhibiqq", 0, 1234, 5, 60_000, 9, -1, 77, -1))


@settings(deadline=None)
@given(
    st.text(min_size=1, max_size=30),
    st.integers(0, 2**62),
    st.integers(0, 2**15 - 1),
    st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
    st.frozensets(st.tuples(st.text(max_size=5), st.integers(0, 100))),
    st.integers(0, 2**45),
)
def test_what_is_written_is_read(
    transactional_id: str,
    producer_id: int,
    epoch: int,
    state: TransactionState,
    partitions: frozenset[tuple[str, int]],
    now_ms: int,
) -> None:
    transaction = Transaction(transactional_id, producer_id, epoch, 1_000, state, partitions, now_ms, now_ms + 1)
    key, value = encode_transaction(transaction)
    assert value is not None
    assert transactional_id_of(key) == transactional_id
    assert decode_transaction(transactional_id, value) == transaction
