"""Features of the cluster and their versions (KIP-584), kept in /feature.

A broker says in its registration which versions of which features it supports. A feature version can be put in force
if every live broker supports it. Like Kafka 3.9 on ZooKeeper, Moldau's brokers support none, so that there is nothing
to put in force; brokers that do are served by the same rules.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import MalformedZnode, NoNode
from moldau.cluster.store import Create, SetData
from moldau.cluster.znodes.features import FeatureStatus, FinalizedFeatures
from moldau.cluster.znodes.layout import FEATURE
from moldau.protocol.messages.update_features import FeatureUpdateKey

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

DOWNGRADE_TYPES = (2, 3)
"""The values of `upgrade_type` that allow a lower version: safe and unsafe (KIP-778)."""


async def set_up_features(term: Term) -> None:
    """Create /feature, or enable it if a controller before 2.7 left it disabled."""
    found = await _read(term)
    if found is None:
        await term.store.write_each([[Create(FEATURE, FinalizedFeatures().encode())]])
    elif found.status is not FeatureStatus.ENABLED:
        await term.store.write_each([[SetData(FEATURE, FinalizedFeatures().encode())]])


async def update_features(
    term: Term, updates: Iterable[FeatureUpdateKey], *, validate_only: bool, all_or_none: bool
) -> dict[str, ApiError | None]:
    """Put versions in force where that is possible; why each feature was refused, or None."""
    finalized = dict((await _read(term) or FinalizedFeatures()).features)
    before = dict(finalized)
    outcomes: dict[str, ApiError | None] = {}
    for update in updates:
        try:
            _check(term, update, finalized.get(update.feature))
        except ApiError as error:
            outcomes[update.feature] = error
            continue
        outcomes[update.feature] = None
        if update.max_version_level:
            finalized[update.feature] = update.max_version_level
        else:
            finalized.pop(update.feature, None)
    is_refused = all_or_none and any(outcomes.values())
    if finalized != before and not validate_only and not is_refused:
        await term.store.write([SetData(FEATURE, FinalizedFeatures(features=finalized).encode())])
    return outcomes


def _check(term: Term, update: FeatureUpdateKey, in_force: int | None) -> None:
    level = update.max_version_level
    may_fall = update.allow_downgrade or update.upgrade_type in DOWNGRADE_TYPES
    problem = None
    if not update.feature:
        problem = "Can not accept a feature update with an empty name."
    elif level < 0:
        problem = f"Can not provide maxVersionLevel: {level} less than 0."
    elif level == 0 and in_force is None:
        problem = "Can not delete non-existing finalized feature."
    elif level == in_force:
        problem = f"Can not upgrade to {level}: that version is in force already."
    elif (level == 0 or (in_force is not None and level < in_force)) and not may_fall:
        problem = f"Can not lower the version from {in_force} to {level} unless a downgrade is allowed."
    elif level > 0:
        problem = _unsupported(term, update.feature, level)
    if problem is not None:
        raise ApiError(ErrorCode.INVALID_REQUEST, problem)


def _unsupported(term: Term, feature: str, level: int) -> str | None:
    for broker_id, broker in sorted(term.context.brokers.items()):
        supported = broker.registration.features.get(feature)
        if supported is None:
            return f"Could not apply finalized feature update because broker {broker_id} does not support {feature}."
        if not supported.min_version <= level <= supported.max_version:
            return f"Broker {broker_id} supports {feature} {supported.min_version} to {supported.max_version} only."
    return None


async def _read(term: Term) -> FinalizedFeatures | None:
    try:
        return FinalizedFeatures.decode((await term.store.session.get(FEATURE)).data)
    except NoNode:
        return None
    except MalformedZnode as error:
        logger.warning("%s; it is taken for empty", error)
        return FinalizedFeatures(FeatureStatus.DISABLED)
