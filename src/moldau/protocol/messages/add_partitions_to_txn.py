"""AddPartitionsToTxn (24): make partitions part of a transaction.

v1: throttled answers are sent before the throttling (KIP-219).
v2: PRODUCER_FENCED may be answered (KIP-588).
v3: flexible.
v4: brokers ask for several transactions at once, perhaps only to verify (KIP-890); request + transactions; request
    - v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics;
    answer + error_code, results_by_transaction; answer - results_by_topic_v3_and_below.
v5: TRANSACTION_ABORTABLE may be answered (KIP-890).
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class AddPartitionsToTxnTopic(Struct):
    name: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class AddPartitionsToTxnTransaction(Struct):
    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    verify_only: Bool = False
    topics: list[AddPartitionsToTxnTopic] = wire(default=[])


@message(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(Message):
    transactions: list[AddPartitionsToTxnTransaction] = wire("4+", default=[])
    v3_and_below_transactional_id: String = wire("0-3", default="")
    v3_and_below_producer_id: Int64 = wire("0-3", default=0)
    v3_and_below_producer_epoch: Int16 = wire("0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = wire("0-3", default=[])


@struct
class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


@struct
class AddPartitionsToTxnTopicResult(Struct):
    name: String = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = wire(default=[])


@struct
class AddPartitionsToTxnResult(Struct):
    transactional_id: String = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = wire(default=[])


@message(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = wire("4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = wire("4+", default=[])
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = wire("0-3", default=[])
