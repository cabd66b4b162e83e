"""A transaction as a record of `__transaction_state`, byte for byte as Kafka 3.9 writes it: value version 0."""

from __future__ import annotations

from moldau.base.errors import MalformedMessage
from moldau.coordinator.runtime.result import StoredRecord
from moldau.coordinator.transaction.states import TransactionState
from moldau.coordinator.transaction.transaction import Transaction
from moldau.protocol.stored import decode_key, decode_versioned, encode_key, encode_versioned, leading_number
from moldau.protocol.stored.transaction_log import PartitionsSchema, TransactionLogKey, TransactionLogValue
from moldau.storage.log_directory import TopicPartition

VALUE_VERSION = 0


def encode_transaction(transaction: Transaction) -> StoredRecord:
    """The record that makes it so. In state EMPTY there is no list of partitions at all."""
    is_empty = transaction.state is TransactionState.EMPTY
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if is_empty else _by_topic(transaction.partitions),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    return StoredRecord(_key(transaction.transactional_id), encode_versioned(value, VALUE_VERSION))


def tombstone(transactional_id: str) -> StoredRecord:
    """The record that makes it forgotten."""
    return StoredRecord(_key(transactional_id), None)


def transactional_id_of(key: bytes) -> str | None:
    """The transactional id in a key; None if the record is of a type that is not known."""
    if leading_number(key) != TransactionLogKey.KEY:
        return None
    return decode_key(TransactionLogKey, key).transactional_id


def decode_transaction(transactional_id: str, value: bytes) -> Transaction:
    stored = decode_versioned(TransactionLogValue, value)
    try:
        state = TransactionState(stored.transaction_status)
    except ValueError:
        raise MalformedMessage(f"{transactional_id!r} has state {stored.transaction_status}") from None
    return Transaction(
        transactional_id,
        stored.producer_id,
        stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (topic.topic, partition)
            for topic in stored.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        started_ms=stored.transaction_start_timestamp_ms,
        updated_ms=stored.transaction_last_update_timestamp_ms,
        previous_producer_id=stored.previous_producer_id,
    )


def _key(transactional_id: str) -> bytes:
    return encode_key(TransactionLogKey(transactional_id=transactional_id))


def _by_topic(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]
