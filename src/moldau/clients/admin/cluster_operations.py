"""The cluster itself: its brokers, what they speak, its features, and the quorum of KRaft clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError, UnsupportedVersion
from moldau.clients.admin.acl_operations import AclOperation, authorized_operations
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, ProtocolEnum
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.clients.network.metadata import Node
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    ReplicaState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.protocol.schema import Versions

_METADATA_TOPIC: Final = "__cluster_metadata"
_NO_ITEM_RESULTS: Final = 2


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster; the controller is None while there is none."""

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]
    authorized_operations: frozenset[AclOperation] | None


class FinalizedVersionRange(NamedTuple):
    min_version_level: int
    max_version_level: int


class SupportedVersionRange(NamedTuple):
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True)
class FeatureMetadata:
    """The features of a cluster (KIP-584): what is in force, since which epoch, and what a broker could do."""

    finalized_features: Mapping[str, FinalizedVersionRange]
    finalized_features_epoch: int | None
    supported_features: Mapping[str, SupportedVersionRange]


class UpgradeType(ProtocolEnum):
    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A version to put in force; 0 ends a feature."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None


@dataclass(frozen=True, slots=True)
class QuorumInfo:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class ClusterOperations(Operations):
    """What Admin tells of and does to a whole cluster."""

    async def describe_cluster(
        self, *, include_authorized_operations: bool = False, timeout_s: float | None = None
    ) -> ClusterDescription:
        """The id, the controller and the brokers.

        >>> admin.describe_cluster().controller.id
        0
        """

        async def ask(call: Call, _node_id: int | None) -> ClusterDescription:
            request = DescribeClusterRequest(include_cluster_authorized_operations=include_authorized_operations)
            try:
                answer = await call.ask(request)
            except UnsupportedVersion:  # before 2.8 this was part of Metadata
                return await _described(call, include_authorized_operations)
            assert isinstance(answer, DescribeClusterResponse)
            check(answer.error_code, answer.error_message)
            nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers}
            operations = authorized_operations(answer.cluster_authorized_operations)
            return ClusterDescription(
                answer.cluster_id, nodes.get(answer.controller_id), tuple(sorted(nodes.values())), operations
            )

        return await self._calls.one("describing the cluster", ask, timeout_s=timeout_s)

    async def list_nodes(self, *, timeout_s: float | None = None) -> list[Node]:
        """The brokers of the cluster, by id."""
        return [*(await self.describe_cluster(timeout_s=timeout_s)).nodes]

    async def describe_api_versions(self, *, timeout_s: float | None = None) -> Results[int, dict[str, Versions]]:
        """Which requests each broker serves, by name, and in which versions."""

        async def ask(call: Call, node_id: int) -> dict[str, Versions]:
            answer = await _told(call, node_id)
            return {_title(each.api_key): Versions(each.min_version, each.max_version) for each in answer.api_keys}

        return await self._ask_all_brokers("describing API versions", ask, timeout_s)

    async def describe_features(
        self, *, broker_id: int | None = None, timeout_s: float | None = None
    ) -> FeatureMetadata:
        """The features in force, and those that a broker (any, if none is named) supports."""

        async def ask(call: Call, _node_id: int | None) -> FeatureMetadata:
            answer = await _told(call, broker_id)
            epoch = answer.finalized_features_epoch
            return FeatureMetadata(
                {
                    each.name: FinalizedVersionRange(each.min_version_level, each.max_version_level)
                    for each in answer.finalized_features
                },
                epoch if epoch >= 0 else None,
                {
                    each.name: SupportedVersionRange(each.min_version, each.max_version)
                    for each in answer.supported_features
                },
            )

        if broker_id is not None:
            await self._calls.cluster.update(self._calls.call("describing features", timeout_s).left_ms)
        return await self._calls.one("describing features", ask, timeout_s=timeout_s)

    async def update_features(
        self,
        feature_updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, None]:
        """Put versions of features in force (KIP-584, KIP-778)."""

        async def ask(call: Call, node_id: int | None, items: list[str]) -> Mapping[str, MoldauError | None]:
            version = await call.version_of(UpdateFeaturesRequest, node_id)
            request = UpdateFeaturesRequest(
                timeout_ms=call.broker_timeout_ms,
                feature_updates=[_update(item, feature_updates[item], version) for item in items],
                validate_only=validate_only,
            )
            answer = await call.ask(request, node_id, version)
            check(answer.error_code, answer.error_message)
            if version >= _NO_ITEM_RESULTS:
                return dict.fromkeys(items)
            return {
                each.feature: outcome(None, each.error_code, each.error_message, of=each.feature)
                for each in answer.results
            }

        return await self._calls.each(
            "updating features",
            feature_updates,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def unregister_broker(self, broker_id: int, *, timeout_s: float | None = None) -> None:
        """Forget a broker that will not come back; only KRaft clusters remember those that are gone (KIP-631)."""

        async def ask(call: Call, node_id: int | None) -> None:
            answer = await call.ask(UnregisterBrokerRequest(broker_id=broker_id), node_id)
            check(answer.error_code, answer.error_message)

        await self._calls.one(f"unregistering broker {broker_id}", ask, timeout_s=timeout_s)

    async def describe_metadata_quorum(self, *, timeout_s: float | None = None) -> QuorumInfo:
        """The leader and the replicas of a KRaft cluster's metadata; other clusters refuse (KIP-642)."""

        async def ask(call: Call, _node_id: int | None) -> QuorumInfo:
            topic = RequestTopicData(topic_name=_METADATA_TOPIC, partitions=[RequestPartitionData()])
            answer = await call.ask(DescribeQuorumRequest(topics=[topic]))
            check(answer.error_code, answer.error_message)
            partitions = [each for one in answer.topics for each in one.partitions]
            if not partitions:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker described no quorum")
            check(partitions[0].error_code, partitions[0].error_message)
            found = partitions[0]
            return QuorumInfo(
                found.leader_id,
                found.leader_epoch,
                found.high_watermark,
                tuple(map(_replica, found.current_voters)),
                tuple(map(_replica, found.observers)),
            )

        return await self._calls.one("describing the metadata quorum", ask, timeout_s=timeout_s)


async def _described(call: Call, include_authorized_operations: bool) -> ClusterDescription:
    request = MetadataRequest(topics=[], include_cluster_authorized_operations=include_authorized_operations)
    answer = await call.ask(request)
    assert isinstance(answer, MetadataResponse)
    nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in answer.brokers}
    operations = authorized_operations(answer.cluster_authorized_operations)
    return ClusterDescription(
        answer.cluster_id, nodes.get(answer.controller_id), tuple(sorted(nodes.values())), operations
    )


async def _told(call: Call, node_id: int | None) -> ApiVersionsResponse:
    """What a broker said about itself when it was connected to."""
    cluster = call.cluster
    connection = await (cluster.any_connection() if node_id is None else cluster.connection(node_id))
    assert connection.versions is not None
    return connection.versions.answer


def _title(api_key: int) -> str:
    try:
        return ApiKey(api_key).title
    except ValueError:
        return f"UNKNOWN({api_key})"


def _update(feature: str, update: FeatureUpdate, version: int) -> FeatureUpdateKey:
    if version == 0:
        downgrade = update.upgrade_type is not UpgradeType.UPGRADE
        return FeatureUpdateKey(feature=feature, max_version_level=update.max_version_level, allow_downgrade=downgrade)
    return FeatureUpdateKey(
        feature=feature, max_version_level=update.max_version_level, upgrade_type=update.upgrade_type
    )


def _replica(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.log_end_offset,
        state.last_fetch_timestamp if state.last_fetch_timestamp >= 0 else None,
        state.last_caught_up_timestamp if state.last_caught_up_timestamp >= 0 else None,
    )
