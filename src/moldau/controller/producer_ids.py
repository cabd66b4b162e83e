"""Blocks of producer ids for brokers (KIP-730): each id is handed out once in the life of a cluster.

/latest_producer_id_block holds the last block. The next one is written over the version that was read, so that two
controllers, or brokers of before Kafka 3.0 that write it themselves, never hand out the same.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import BadVersion, CoordinationError
from moldau.cluster.store import SetData
from moldau.cluster.znodes.layout import LATEST_PRODUCER_ID_BLOCK
from moldau.cluster.znodes.producer_ids import PRODUCER_ID_MAX, PRODUCER_IDS_PER_BLOCK, ProducerIdBlock

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

CONFLICTS_MAX = 10


async def allocate_producer_ids(term: Term, broker_id: int, broker_epoch: int) -> tuple[int, int]:
    """The first id of a new block for a broker, and how many there are."""
    broker = term.context.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker_id} is not registered")
    if broker.epoch != broker_epoch:
        text = f"broker {broker_id} is registered with epoch {broker.epoch}, not {broker_epoch}"
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    for _attempt in range(CONFLICTS_MAX):
        znode = await term.store.session.get(LATEST_PRODUCER_ID_BLOCK)
        last = ProducerIdBlock.decode(znode.data)
        first = 0 if last is None else last.last_producer_id + 1
        if first > PRODUCER_ID_MAX - PRODUCER_IDS_PER_BLOCK:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"no producer ids are left after {first - 1}")
        block = ProducerIdBlock(broker_id, first, first + PRODUCER_IDS_PER_BLOCK - 1)
        write = SetData(LATEST_PRODUCER_ID_BLOCK, block.encode(), znode.stat.version)
        (outcome,) = await term.store.write_each([[write]])
        if not isinstance(outcome, CoordinationError):
            logger.info("broker %d gets the producer ids from %d to %d", broker_id, first, block.last_producer_id)
            return first, PRODUCER_IDS_PER_BLOCK
        if not isinstance(outcome, BadVersion):
            raise outcome
    raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "others take producer ids all the time: try again")
