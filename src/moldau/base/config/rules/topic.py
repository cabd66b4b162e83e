"""What must hold between the settings of one topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from moldau.base.config.config import Config


def compaction_lag_limits_in_order(config: Config) -> Iterator[str]:
    lowest, highest = config.integer("min.compaction.lag.ms"), config.integer("max.compaction.lag.ms")
    if lowest > highest:
        yield (f"conflict topic config setting min.compaction.lag.ms ({lowest}) > max.compaction.lag.ms ({highest})")


TOPIC_RULES: Final[tuple[Callable[[Config], Iterator[str]], ...]] = (compaction_lag_limits_in_order,)
