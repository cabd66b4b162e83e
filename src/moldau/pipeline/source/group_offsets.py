"""The offsets of the query's group: where the query is, for `kafka-consumer-groups` and every tool that shows lag.

Nobody reads them here. A query that is started again goes on where its checkpoint says, and so whatever goes wrong with
a commit is said in the log and tried again later; it never ends a query.
"""

from __future__ import annotations

import logging
from typing import Final

from moldau.base.errors import MoldauError
from moldau.pipeline.link import Link
from moldau.pipeline.source.offsets import PartitionOffsets

logger = logging.getLogger(__name__)

# A batch does not wait longer than this for a commit.
COMMIT_S_MAX: Final = 5.0
# After a failure the next attempt comes so much later.
PAUSE_MS: Final = 30_000.0


class GroupOffsets:
    """Commits of one group."""

    def __init__(self, link: Link, group_id: str, *, wanted: bool = True) -> None:
        self._link = link
        self._group_id = group_id
        self._wanted = wanted
        self._committed: PartitionOffsets = {}
        self._retry_at_ms = 0.0

    def commit(self, offsets: PartitionOffsets) -> None:
        """Commit what has changed since the last time."""
        changed = {each: offset for each, offset in offsets.items() if self._committed.get(each) != offset}
        clock = self._link.cluster.clock
        if not self._wanted or not changed or clock.monotonic_ms() < self._retry_at_ms:
            return
        try:
            work = self._link.admin.alter_consumer_group_offsets(self._group_id, changed, timeout_s=COMMIT_S_MAX)
            self._link.run(work, 2 * COMMIT_S_MAX)
        except MoldauError as error:
            self._retry_at_ms = clock.monotonic_ms() + PAUSE_MS
            logger.warning(
                "The offsets of group %s were not committed, next attempt in %d s (commitOffsets=false for none): %s",
                self._group_id,
                PAUSE_MS / 1000,
                error,
            )
        else:
            self._committed |= changed
