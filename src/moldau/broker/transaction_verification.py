"""Before records of a transaction are written: is the transaction open, and the partition part of it? (KIP-890 part 1)

The first batch of a producer's transaction in a partition waits until the transaction's coordinator has said so. Until
then the partition holds a guard; a marker that is written meanwhile takes it away, and the batch is refused. Batches
after the first need no question: the partition knows of the transaction itself. Offsets that are committed in a
transaction are records of `__consumer_offsets`, and treated alike. `transaction.partition.verification.enable` turns
it off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.cluster.internal_topics import CONSUMER_OFFSETS
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from moldau.records.batch import HEADER_BYTES, MAGIC_V2, NO_SEQUENCE, TRANSACTIONAL_FLAG, RecordBatch
from moldau.replication.replicas import TransactionalAppend
from moldau.storage.log_directory import TopicPartition
from moldau.storage.producer_verification import VerificationGuard

if TYPE_CHECKING:
    from moldau.broker.node import Node

ABORTABLE_PRODUCE_VERSION: Final = 11
ABORTABLE_OFFSETS_VERSION: Final = 4
MAGIC_AT: Final = 16
ATTRIBUTES_LOW_BYTE_AT: Final = 22

OPEN: Final = TransactionalAppend(is_verification_required=True)

TRY_AGAIN: Final = frozenset(
    (
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    )
)
"""Told as NOT_ENOUGH_REPLICAS, on which every producer tries again without asking for new metadata."""


def is_transactional(records: bytes | memoryview | None) -> bool:
    """Whether a batch says that it is part of a transaction."""
    return (
        records is not None
        and len(records) >= HEADER_BYTES
        and records[MAGIC_AT] == MAGIC_V2
        and bool(records[ATTRIBUTES_LOW_BYTE_AT] & TRANSACTIONAL_FLAG)
    )


def has_transactional_records(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for data in topic.partition_data:
            if is_transactional(data.records):
                return True
    return False


Appends = dict[TopicPartition, TransactionalAppend | ApiError]
"""By partition: how its batch is to be appended, or why it must not be."""


def verify(
    node: Node,
    request: ProduceRequest,
    batches: dict[TopicPartition, RecordBatch],
    version: int,
    go_on: Callable[[Appends], None],
) -> None:
    """Go on with the transactional batches of a request: at once if nothing has to be asked, else when it is known."""
    appends: Appends = {}
    guards: dict[TopicPartition, VerificationGuard] = {}
    for key, batch in batches.items():
        try:
            guard = node.replicas.log(key).producer_state.start_verification(
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                node.clock.now_ms(),
                supports_epoch_bump=False,
            )
        except ApiError as error:
            appends[key] = error
            continue
        appends[key] = OPEN
        if guard is not None:
            guards[key] = guard
    if not guards:
        go_on(appends)
        return

    def verified(codes: dict[TopicPartition, ErrorCode]) -> None:
        for key, code in codes.items():
            refusal = _refusal(code, version)
            appends[key] = (
                TransactionalAppend(guards[key], is_verification_required=True) if refusal is None else refusal
            )
        go_on(appends)

    assert request.transactional_id is not None
    _keep_records(request)
    first = next(iter(batches.values()))
    producer = ProducerIdAndEpoch(first.producer_id, first.producer_epoch)
    node.verifier.verify(request.transactional_id, producer, guards, verified)


def _keep_records(request: ProduceRequest) -> None:
    """They lie in the connection's buffer, which is used again as soon as the handler has returned."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            if data.records is not None:
                data.records = memoryview(bytearray(data.records))


def transactional_batches(node: Node, request: ProduceRequest) -> dict[TopicPartition, RecordBatch]:
    """Those of a request, by partition; they must be of one producer."""
    found: dict[TopicPartition, RecordBatch] = {}
    for topic in request.topic_data:
        name = topic.name or node.metadata.topic_names.get(topic.topic_id, "")
        for data in topic.partition_data:
            if is_transactional(data.records):
                assert data.records is not None
                found[name, data.index] = RecordBatch(data.records)
    if len({(batch.producer_id, batch.producer_epoch) for batch in found.values()}) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "a transaction's records are of more than one producer")
    return found


def _refusal(code: ErrorCode, version: int) -> ApiError | None:
    """The coordinator's word in the words of Produce."""
    if code is ErrorCode.NONE:
        return None
    if code in TRY_AGAIN:
        message = f"whether the transaction is open could not be found out: {code.name}"
        return ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, message)
    return _not_part(code, knows_abortable=version >= ABORTABLE_PRODUCE_VERSION)


def _not_part(code: ErrorCode, *, knows_abortable: bool) -> ApiError:
    if code is ErrorCode.PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    elif code is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        code = ErrorCode.INVALID_TXN_STATE
    return ApiError(code, "the partition is not part of an open transaction of this producer")


def verify_offsets(
    node: Node,
    request: TxnOffsetCommitRequest,
    version: int,
    go_on: Callable[[], None],
    refuse: Callable[[ApiError], None],
) -> None:
    """Go on with a commit of offsets in a transaction, at once or when the transaction is known to be open."""
    key = CONSUMER_OFFSETS, coordinator_partition(request.group_id, node.groups.partitions)
    partition = node.replicas.partitions.get(key)
    if (
        not node.config.boolean("transaction.partition.verification.enable")
        or partition is None
        or partition.log is None
    ):
        go_on()  # without the partition it is refused anyway
        return
    state = partition.log.producer_state
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    guard = state.start_verification(*producer, NO_SEQUENCE, node.clock.now_ms(), supports_epoch_bump=False)
    if guard is None:
        go_on()
        return

    def verified(codes: dict[TopicPartition, ErrorCode]) -> None:
        code = codes[key]
        if code is ErrorCode.NETWORK_EXCEPTION:
            refuse(
                ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the coordinator of the transaction did not answer")
            )
        elif code is not ErrorCode.NONE:
            refuse(_not_part(code, knows_abortable=version >= ABORTABLE_OFFSETS_VERSION))
        elif not state.is_verified(*producer, guard):
            refuse(ApiError(ErrorCode.INVALID_TXN_STATE, "the transaction has ended meanwhile"))
        else:
            try:
                go_on()
            except ApiError as error:
                refuse(error)

    node.verifier.verify(request.transactional_id, producer, (key,), verified)
