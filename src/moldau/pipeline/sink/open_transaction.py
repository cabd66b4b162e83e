"""The transaction of a task attempt as the sender sees it: begun here, never ended here."""

from __future__ import annotations

from collections.abc import Callable

from moldau.base.errors import MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.network.cluster import Cluster
from moldau.clients.records import TopicPartition
from moldau.pipeline.sink.transactions import TransactionRequests
from moldau.pipeline.sink.values import Transaction


class OpenTransaction:
    """Partitions are added before they are first written to; `on_failed` is told once if that is not possible."""

    def __init__(
        self,
        cluster: Cluster,
        requests: TransactionRequests,
        transaction: Transaction,
        wake: Callable[[], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        self.transaction = transaction
        self.added: set[TopicPartition] = set()
        self._cluster = cluster
        self._requests = requests
        self._wake = wake
        self._on_failed = on_failed
        self._has_failed = False
        self._to_add: set[TopicPartition] = set()
        self._is_adding = False

    @property
    def transactional_id(self) -> str:
        return self.transaction.transactional_id

    def may_send(self, of: TopicPartition) -> bool:
        if of in self.added:
            return True
        self._to_add.add(of)
        if not self._is_adding and not self._has_failed:
            self._is_adding = True
            self._cluster.supervisor.start("partitions to transaction", self._add, OnFailure.LOG)
        return False

    def failed(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._on_failed(error)

    async def _add(self) -> None:
        try:
            while self._to_add:
                adding = frozenset(self._to_add)
                await self._requests.add(self.transaction, adding)
                self.added |= adding
                self._to_add -= adding
        except MoldauError as error:
            self.failed(error)
        finally:
            self._is_adding = False
            self._wake()
