"""UpdateFeatures: puts versions of features in force for the whole cluster (KIP-584).

v1 has kinds of upgrades, and validates without writing (KIP-778); v2 answers with one error for all. Brokers in
ZooKeeper mode support no feature, so that whatever is asked for is refused, and the answer says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

VERSION_WITHOUT_RESULTS = 2


@handles(ApiKey.UPDATE_FEATURES, "0-2")
async def update_features(node: Node, request: UpdateFeaturesRequest, call: Call) -> UpdateFeaturesResponse:
    call.park()
    is_one_error = call.version >= VERSION_WITHOUT_RESULTS
    outcomes = await node.controller.update_features(
        request.feature_updates, validate_only=request.validate_only, all_or_none=is_one_error
    )
    response = UpdateFeaturesResponse()
    for feature, error in outcomes.items():
        result = UpdatableFeatureResult(feature=feature)
        if error is not None:
            result.error_code, result.error_message = error.code, error.message or None
            if is_one_error and not response.error_code:
                response.error_code, response.error_message = error.code, f"{feature}: {error.message}"
        response.results.append(result)
    return response
