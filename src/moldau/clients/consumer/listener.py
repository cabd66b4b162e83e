"""What users hand in to hear of: rebalances, and the records and commits that pass by.

All of it is called inside the consumer's own calls, by whoever made them, never at the same time as anything else of
that consumer. A method may be a coroutine function where the consumer is `moldau.aio`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.records import OffsetAndMetadata, TopicPartition


class RebalanceListener:
    """Hears which partitions come and go. What it raises comes out of `poll`, after the rebalance is through."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:  # noqa: ARG002
        """About to be given up: the last moment to commit. Not called for none."""
        return None

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:  # noqa: ARG002
        """New ones, none of them read yet: the moment to seek. Called after each rebalance, also with none."""
        return None

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:
        """Already somebody else's, so that commits would fail; by default as if they were revoked."""
        return self.on_partitions_revoked(partitions)


class ConsumerInterceptor:
    """Sees what `poll` is about to return and what was committed. What it raises is logged and does no harm."""

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """The records to return in their place."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These have been committed."""

    def close(self) -> None:
        """The consumer is closed."""
