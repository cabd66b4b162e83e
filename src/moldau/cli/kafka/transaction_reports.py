"""What `kafka-transactions` prints and does."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence

from moldau.base.clock import SystemClock
from moldau.base.errors import MoldauError
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.failures import ToolFailed, WrongUsage, text_of
from moldau.cli.kafka.tables import table
from moldau.clients.admin.partitions import PartitionOperations, ProducerState
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.admin.topics import TopicOperations
from moldau.clients.admin.transactions import AbortTransactionSpec, TransactionOperations
from moldau.clients.records import TopicPartition

TIMEOUT_MINUTES = 15
MINUTE_MS = 60_000
LISTED = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBED = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
HANGING = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


def _print(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    shown = [["None" if cell is None else cell for cell in row] for row in rows]
    text = table(header, shown, [-1] * len(header), separator="\t")
    print("\n".join(f"{line}\t" for line in text.splitlines()))


async def list_transactions(connection: Connection, options: Namespace) -> None:
    operations = connection.use(TransactionOperations)
    age_ms = -1 if options.duration_filter is None else options.duration_filter
    listed = await operations.list_transactions(filtered_duration_ms=age_ms)
    described = await operations.describe_transactions([each.transactional_id for each in listed], raise_errors=False)
    rows = []
    for each in listed:
        known = described.succeeded.get(each.transactional_id)
        coordinator = None if known is None else known.coordinator_id
        rows.append((each.transactional_id, coordinator, each.producer_id, each.state))
    _print(LISTED, rows)


async def describe(connection: Connection, options: Namespace) -> None:
    name = options.transactional_id
    try:
        found = (await connection.use(TransactionOperations).describe_transactions([name]))[name]
    except MoldauError as error:
        raise ToolFailed(
            f"Failed to describe transaction state of transactional-id `{name}`: {text_of(error)}"
        ) from error
    start_ms = found.transaction_start_time_ms
    row = (
        found.coordinator_id,
        name,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.transaction_timeout_ms,
        start_ms,
        None if start_ms is None else SystemClock().now_ms() - start_ms,
        ",".join(map(str, sorted(found.topic_partitions))),
    )
    _print(DESCRIBED, [row])


async def _producers(
    connection: Connection, partition: TopicPartition, broker_id: int | None
) -> tuple[ProducerState, ...]:
    try:
        results = await connection.use(PartitionOperations).describe_producers([partition], broker_id=broker_id)
    except MoldauError as error:
        where = "leader" if broker_id is None else f"broker {broker_id}"
        raise ToolFailed(
            f"Failed to describe producers for partition {partition} on {where}: {text_of(error)}"
        ) from error
    return results[partition]


async def describe_producers(connection: Connection, options: Namespace) -> None:
    partition = TopicPartition(options.topic, options.partition)
    found = await _producers(connection, partition, options.broker_id)
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.current_transaction_start_offset,
        )
        for each in found
    ]
    _print(PRODUCERS, rows)


async def find_hanging(connection: Connection, options: Namespace) -> None:
    """Transactions that a partition has open and no coordinator knows, older than any may be."""
    if options.broker_id is None and options.topic is None:
        raise WrongUsage(
            "The find-hanging command requires either --topic or --broker-id to limit the scope of the search"
        )
    minutes = TIMEOUT_MINUTES if options.max_transaction_timeout is None else options.max_transaction_timeout
    now_ms = SystemClock().now_ms()
    candidates: list[tuple[TopicPartition, ProducerState]] = []
    partitions = await _partitions(connection, options)
    results = await connection.use(PartitionOperations).describe_producers(
        partitions, broker_id=options.broker_id, raise_errors=False
    )
    for partition, producers in results.succeeded.items():
        candidates += [
            (partition, each)
            for each in producers
            if each.current_transaction_start_offset is not None and now_ms - each.last_timestamp > minutes * MINUTE_MS
        ]
    known = await _known(connection, {each.producer_id for _, each in candidates}) if candidates else {}
    rows = [
        (
            partition.topic,
            partition.partition,
            each.producer_id,
            each.producer_epoch,
            -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            each.current_transaction_start_offset,
            each.last_timestamp,
            (now_ms - each.last_timestamp) // MINUTE_MS,
        )
        for partition, each in candidates
        if partition not in known.get(each.producer_id, frozenset())
    ]
    _print(HANGING, rows)


async def _partitions(connection: Connection, options: Namespace) -> list[TopicPartition]:
    if options.topic is not None and options.partition is not None:
        return [TopicPartition(options.topic, options.partition)]
    topics = [options.topic] if options.topic else await connection.use(TopicOperations).list_topics(list_internal=True)
    described = await connection.use(TopicDescriptionOperations).describe_topics(topics)
    return [
        TopicPartition(each.name, info.partition)
        for each in described.values()
        for info in each.partitions
        if options.broker_id is None or options.broker_id in info.replicas
    ]


async def _known(connection: Connection, producer_ids: set[int]) -> dict[int, frozenset[TopicPartition]]:
    """The partitions of open transactions, as their coordinators know them."""
    operations = connection.use(TransactionOperations)
    listed = await operations.list_transactions(producer_ids=producer_ids)
    described = await operations.describe_transactions([each.transactional_id for each in listed], raise_errors=False)
    return {each.producer_id: each.topic_partitions for each in described.succeeded.values()}


async def abort(connection: Connection, options: Namespace) -> None:
    partition = TopicPartition(options.topic, options.partition)
    if options.start_offset is not None:
        for each in await _producers(connection, partition, None):
            if each.current_transaction_start_offset == options.start_offset:
                spec = AbortTransactionSpec(
                    partition,
                    each.producer_id,
                    each.producer_epoch,
                    -1 if each.coordinator_epoch is None else each.coordinator_epoch,
                )
                break
        else:
            raise ToolFailed(
                f"Could not find any open transactions starting at offset {options.start_offset} on partition "
                f"{partition}"
            )
    elif None in (options.producer_id, options.producer_epoch, options.coordinator_epoch):
        raise WrongUsage(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    else:
        # Kafka's older brokers had no coordinator epoch 0 for a partition: -1 stands for it.
        epoch = -1 if options.coordinator_epoch == 0 else options.coordinator_epoch
        spec = AbortTransactionSpec(partition, options.producer_id, options.producer_epoch, epoch)
    await connection.use(TransactionOperations).abort_transaction(spec)


async def terminate(connection: Connection, options: Namespace) -> None:
    await connection.use(TransactionOperations).force_terminate_transaction(options.transactional_id)
