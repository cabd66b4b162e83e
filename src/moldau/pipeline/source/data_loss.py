"""Records that were to be read and are gone: an error, or with `failOnDataLoss=false` a line in the log."""

from __future__ import annotations

import logging
from typing import Final

from moldau.base.errors import MoldauError

logger = logging.getLogger(__name__)

_WHY: Final = (
    "Some data may have been lost because they are not available in Kafka any more; either the data was aged out by "
    "Kafka or the topic may have been deleted before all the data in the topic was processed."
)


class DataLoss(MoldauError):
    """The text says what is missing and how to go on without it."""


def report_data_loss(what: str, *, fail: bool) -> None:
    """Raise, or with `failOnDataLoss=false` go on."""
    if fail:
        raise DataLoss(
            f"{what}. {_WHY} If you don't want your query to fail on such cases, set the source option "
            "'failOnDataLoss' to 'false'."
        )
    logger.warning("%s. %s The query goes on, since the source option 'failOnDataLoss' is 'false'.", what, _WHY)
