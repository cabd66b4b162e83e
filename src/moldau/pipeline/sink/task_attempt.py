"""One attempt of a task: from the first row to the message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from moldau.base.errors import ApiError
from moldau.clients.errors import TimedOut
from moldau.pipeline.sink.driver_side import explained
from moldau.pipeline.sink.protocol import is_decided
from moldau.pipeline.sink.settings import SinkSettings
from moldau.pipeline.sink.task_side import TaskSide, kept_task_side, task_link
from moldau.pipeline.sink.transactional_ids import IdPool
from moldau.pipeline.sink.transactions import TransactionRequests, Unanswered
from moldau.pipeline.sink.values import Plan, Transaction, Written

if TYPE_CHECKING:
    import pyarrow as pa

_IDS_MAX: Final = 3
_pools: dict[tuple[int, str, str], IdPool] = {}


def write_attempt(
    settings: SinkSettings,
    plan: Plan,
    timeout_ms: int,
    iterator: Iterator[pa.RecordBatch],
    query_id: str,
    batch_id: int,
) -> Written:
    """Write all rows in a transaction that stays open; without rows there is none."""
    if is_decided(plan, query_id, batch_id):
        for _ in iterator:
            pass
        return Written(query_id, batch_id, plan, skipped=True)
    rows = 0
    side: TaskSide | None = None
    transaction: Transaction | None = None
    try:
        for batch in iterator:
            if not batch.num_rows:
                continue
            if side is None:
                transaction = _begin(settings, plan, batch_id, timeout_ms)
                side = TaskSide(settings, transaction)
            side.write(batch)
            rows += batch.num_rows
        if side is None:
            return Written(query_id, batch_id, plan)
        side.flush()
    except BaseException:
        if side is not None:
            side.abort()
        raise
    side.close()
    return Written(query_id, batch_id, plan, transaction, rows, side.partitions)


def write_without_transaction(settings: SinkSettings, iterator: Iterator[pa.RecordBatch]) -> int:
    """Write all rows, at least once; how many there were."""
    side = kept_task_side(settings)
    rows = 0
    for batch in iterator:
        if batch.num_rows:
            side.write(batch)
            rows += batch.num_rows
    side.flush()
    return rows


def _begin(settings: SinkSettings, plan: Plan, batch_id: int, timeout_ms: int) -> Transaction:
    """Initialise an id; one that gave no answer is left alone, since it may still be initialised later."""
    link = task_link(settings)
    requests = TransactionRequests(link.cluster, float(link.cluster.config.integer("max.block.ms")))
    pool = _pools.setdefault((os.getpid(), settings.name, settings.servers), IdPool(settings.name))
    failure: Unanswered | None = None
    for _ in range(_IDS_MAX):
        try:
            return link.run(requests.begin(pool.take(plan.generation, batch_id), timeout_ms, once=True))
        except Unanswered as error:
            failure = error
        except TimedOut:
            raise
        except ApiError as error:
            raise explained(error, settings) from error
    raise TimedOut(f"the cluster at {settings.servers} gave no transactional id: {failure}")
