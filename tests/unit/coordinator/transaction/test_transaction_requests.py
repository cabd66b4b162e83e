"""The transactional requests of producers and brokers, and what a broker answers to bad ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.testing.local_cluster import LocalCluster
from tests.unit.coordinator.transaction.transactional_requests import Transactional, listed, read, read_committed

Make = Callable[[], Transactional]
NONE = ErrorCode.NONE


def test_a_transaction_over_two_partitions_is_committed(broker: LocalCluster, topic: str, transactional: Make) -> None:
    producer = transactional()
    assert producer.add(topic, 0, 1) is NONE
    assert producer.produce(topic, b"a", 0) is NONE
    assert producer.produce(topic, b"b", 1) is NONE
    assert (read_committed(broker, topic, 0), read_committed(broker, topic, 1)) == ([], [])
    assert producer.end(True) is NONE
    assert producer.wait_for("CompleteCommit") == "CompleteCommit"
    assert (read(broker, topic, 0), read(broker, topic, 1)) == (["a", "commit"], ["b", "commit"])
    assert (read_committed(broker, topic, 0), read_committed(broker, topic, 1)) == (["a"], ["b"])


def test_a_transaction_is_aborted_and_the_next_one_is_not(
    broker: LocalCluster, topic: str, transactional: Make
) -> None:
    producer = transactional()
    for value, committed in ((b"a", False), (b"b", True)):
        assert producer.add(topic, 0) is NONE  # at once: it waits for the markers of the one before
        assert producer.produce(topic, value) is NONE
        assert producer.end(committed) is NONE
    producer.wait_for("CompleteCommit")
    assert read(broker, topic) == ["a", "abort", "b", "commit"]
    assert read_committed(broker, topic) == ["b"]


def test_plain_records_behind_an_open_transaction_wait_for_its_end(
    broker: LocalCluster, topic: str, transactional: Make
) -> None:
    first, second = transactional(), Transactional(broker, "another")
    second.init()
    first.add(topic, 0)
    second.add(topic, 0)
    assert first.produce(topic, b"1") is NONE
    assert second.produce(topic, b"2") is NONE
    second.end(True)
    second.wait_for("CompleteCommit")
    assert read_committed(broker, topic) == []
    first.end(False)
    first.wait_for("CompleteAbort")
    assert read_committed(broker, topic) == ["2"]


# -- InitProducerId


def test_a_transactional_id_keeps_its_producer_id_and_each_producer_gets_the_next_epoch(transactional: Make) -> None:
    producers = [transactional() for _ in range(3)]
    assert len({producer.producer_id for producer in producers}) == 1
    assert [producer.producer_epoch for producer in producers] == [0, 1, 2]


def test_the_second_producer_finds_the_transaction_of_the_first_aborted(
    broker: LocalCluster, topic: str, transactional: Make
) -> None:
    zombie = transactional()
    zombie.add(topic, 0)
    zombie.produce(topic, b"lost")
    assert zombie.init_once().code is ErrorCode.CONCURRENT_TRANSACTIONS
    heir = transactional()
    assert (heir.producer_id, heir.producer_epoch) == (zombie.producer_id, 2)
    assert read(broker, topic) == ["lost", "abort"]
    assert zombie.produce(topic, b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.end(True) is ErrorCode.PRODUCER_FENCED
    assert heir.add(topic, 0) is NONE
    assert heir.produce(topic, b"won") is NONE
    assert heir.end(True) is NONE
    heir.wait_for("CompleteCommit")
    assert read_committed(broker, topic) == ["won"]


@pytest.mark.parametrize("timeout_ms", [0, -1, 120_001])
def test_a_timeout_that_is_too_short_or_too_long(broker: LocalCluster, timeout_ms: int) -> None:
    held = Transactional(broker, "impatient").init_once(timeout_ms=timeout_ms)
    assert held == (ErrorCode.INVALID_TRANSACTION_TIMEOUT, -1, -1)
    assert Transactional(broker, "impatient").describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_an_empty_transactional_id(broker: LocalCluster) -> None:
    assert Transactional(broker, "").init_once().code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("half", [{"producer_id": 5}, {"producer_epoch": 5}])
def test_half_an_identity(broker: LocalCluster, half: dict[str, int]) -> None:
    assert Transactional(broker, "half").init_once(**half) == (ErrorCode.INVALID_REQUEST, -1, -1)


def test_a_producer_resumes_and_an_older_one_is_fenced_in_the_words_of_its_version(transactional: Make) -> None:
    old = transactional()
    own = {"producer_id": old.producer_id, "producer_epoch": 0}
    assert old.init_once(**own) == (NONE, old.producer_id, 1)
    assert old.init_once(**own) == (NONE, old.producer_id, 1)
    transactional()
    assert old.init_once(version=4, **own).code is ErrorCode.PRODUCER_FENCED
    assert old.init_once(version=3, **own).code is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_init_producer_id(broker: LocalCluster, version: int) -> None:
    held = Transactional(broker, f"version-{version}").init_once(version)
    assert (held.code, held.producer_epoch) == (NONE, 0)


# -- AddPartitionsToTxn and AddOffsetsToTxn


def test_partitions_are_added_all_or_none(topic: str, transactional: Make, broker: LocalCluster) -> None:
    producer = transactional()
    request = AddPartitionsToTxnRequest(transactions=[producer.transaction(topic, 0, 7, verify_only=False)])
    (result,) = broker.request(request, 4).results_by_transaction
    codes = {one.partition_index: one.partition_error_code for one in result.topic_results[0].results_by_partition}
    assert codes == {0: ErrorCode.OPERATION_NOT_ATTEMPTED, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert producer.describe().transaction_state == "Empty"


def test_a_fenced_producer_hears_so_in_the_words_of_its_version(topic: str, transactional: Make) -> None:
    zombie = transactional()
    transactional()
    for version, code in ((1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)):
        assert zombie.add(topic, 0, version=version) is code
        assert zombie.add_offsets("group", version) is code
        assert zombie.end(True, version) is code


def test_another_producer_id_is_not_fenced_but_unknown(topic: str, transactional: Make) -> None:
    producer = transactional()
    producer.producer_id += 1_000_000
    assert producer.add(topic, 0) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.end(False) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_brokers_ask_for_many_transactions_at_once(broker: LocalCluster, topic: str, transactional: Make) -> None:
    one, other, stranger = transactional(), Transactional(broker, "many"), Transactional(broker, "stranger", 1, 0)
    other.init()
    one.add(topic, 0)
    asked = [
        one.transaction(topic, 0, 1),
        other.transaction(topic, 1, verify_only=False),
        stranger.transaction(topic, 0),
    ]
    results = broker.request(AddPartitionsToTxnRequest(transactions=asked), 5).results_by_transaction
    codes = {
        result.transactional_id: [each.partition_error_code for each in result.topic_results[0].results_by_partition]
        for result in results
    }
    assert codes == {
        one.transactional_id: [NONE, ErrorCode.TRANSACTION_ABORTABLE],
        "many": [NONE],
        "stranger": [ErrorCode.INVALID_PRODUCER_ID_MAPPING],
    }
    assert other.describe().transaction_state == "Ongoing"
    assert broker.request(AddPartitionsToTxnRequest(), 5).results_by_transaction == []


def test_offsets_of_a_group_are_a_partition_of_the_transaction(transactional: Make) -> None:
    producer = transactional()
    assert producer.add_offsets("group") is NONE
    (only,) = producer.describe().topics
    assert only.topic == "__consumer_offsets"
    assert only.partitions == [98629247 % 3]  # Java's hash of "group"


# -- Produce


def test_records_of_a_transaction_need_its_transactional_id(
    broker: LocalCluster, topic: str, transactional: Make
) -> None:
    producer = transactional()
    producer.add(topic, 0)
    code = producer.produce(topic, b"x", transactional_id=None)
    assert code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert read(broker, topic) == []


@pytest.mark.parametrize(("version", "code"), [(10, "INVALID_TXN_STATE"), (11, "TRANSACTION_ABORTABLE")])
def test_a_partition_that_was_not_added_takes_no_records(
    broker: LocalCluster, topic: str, transactional: Make, version: int, code: str
) -> None:
    producer = transactional()
    assert producer.produce(topic, b"x", version=version) is ErrorCode[code]
    producer.add(topic, 0)
    assert producer.produce(topic, b"x", 1, version=version) is ErrorCode[code]
    assert producer.produce(topic, b"x", 0, version=version) is NONE
    assert read(broker, topic, 1) == []
    producer.end(False)


def test_a_record_that_comes_after_the_end_opens_no_transaction(
    broker: LocalCluster, topic: str, transactional: Make
) -> None:
    producer = transactional()
    producer.add(topic, 0)
    producer.produce(topic, b"in time")
    producer.end(True)
    producer.wait_for("CompleteCommit")
    assert producer.produce(topic, b"late") is ErrorCode.INVALID_TXN_STATE
    assert read_committed(broker, topic) == ["in time"]


# -- EndTxn


def test_the_end_can_be_asked_for_twice_and_not_turned_round(topic: str, transactional: Make) -> None:
    producer = transactional()
    assert producer.end(True) is ErrorCode.INVALID_TXN_STATE
    producer.add(topic, 0)
    assert producer.end(True) is NONE
    producer.wait_for("CompleteCommit")
    assert producer.end(True) is NONE
    assert producer.end(False) is ErrorCode.INVALID_TXN_STATE


def test_the_end_for_an_id_that_nobody_has(broker: LocalCluster) -> None:
    assert Transactional(broker, "nobody", 1, 0).end(True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert Transactional(broker, "", 1, 0).end(True) is ErrorCode.INVALID_REQUEST


# -- DescribeTransactions and ListTransactions


def test_a_transaction_is_described(topic: str, transactional: Make) -> None:
    producer = transactional()
    producer.add(topic, 1, 0)
    state = producer.describe()
    assert (state.error_code, state.transaction_state, state.transaction_timeout_ms) == (NONE, "Ongoing", 60_000)
    assert (state.producer_id, state.producer_epoch) == (producer.producer_id, producer.producer_epoch)
    assert [(each.topic, each.partitions) for each in state.topics] == [(topic, [0, 1])]
    assert state.transaction_start_time_ms > 0


def test_an_unknown_id_is_not_found(broker: LocalCluster) -> None:
    answer = broker.request(DescribeTransactionsRequest(transactional_ids=["unknown"]))
    assert answer.transaction_states[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_transactions_are_listed(broker: LocalCluster, topic: str, transactional: Make) -> None:
    producer = transactional()
    producer.add(topic, 0)
    found = listed(broker, state_filters=["Ongoing", "Odd"], transactional_id_pattern=producer.transactional_id)
    (state,) = found.transaction_states
    assert (state.transactional_id, state.transaction_state) == (producer.transactional_id, "Ongoing")
    assert found.unknown_state_filters == ["Odd"]
    assert listed(broker, producer_id_filters=[state.producer_id]).transaction_states == [state]
    hour_ms = 3_600_000
    assert listed(broker, producer_id_filters=[state.producer_id], duration_filter=hour_ms).transaction_states == []
    assert listed(broker, transactional_id_pattern="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
