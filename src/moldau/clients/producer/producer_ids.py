"""A producer id for an idempotent producer without transactions: any broker gives one."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.base.errors import ApiError, MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.errors import TimedOut, check
from moldau.clients.network.cluster import Cluster
from moldau.clients.producer.sequences import Sequences
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

logger = logging.getLogger(__name__)

_INT_MAX = 2**31 - 1


class ProducerIds:
    """Asks for an id when one is needed, as long as it takes; `on_fatal` is told if there will never be one."""

    def __init__(
        self,
        cluster: Cluster,
        sequences: Sequences,
        on_id: Callable[[], None],
        on_fatal: Callable[[MoldauError], None],
    ) -> None:
        self._cluster = cluster
        self._sequences = sequences
        self._on_id = on_id
        self._on_fatal = on_fatal
        self._asking = False

    def need(self) -> None:
        if not self._asking:
            self._asking = True
            self._cluster.supervisor.start("producer id", self._ask, OnFailure.RESTART)

    async def _ask(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_INT_MAX)

        async def attempt() -> InitProducerIdResponse:
            answer: InitProducerIdResponse = await self._cluster.request(request)
            check(answer.error_code)
            return answer

        while self._asking:
            try:
                answer = await self._cluster.retrying(
                    attempt, timeout_ms=self._cluster.request_timeout_ms, what="getting a producer id"
                )
            except TimedOut as error:
                logger.warning("%s: %s; trying on", self._cluster.client_id, error)
            except ApiError as error:
                hint = "or set enable.idempotence=false"
                self._on_fatal(ApiError(error.code, f"no producer id: {error.message}; allow IDEMPOTENT_WRITE {hint}"))
                return
            else:
                self._asking = False
                self._sequences.begin(answer.producer_id, answer.producer_epoch)
                self._on_id()
