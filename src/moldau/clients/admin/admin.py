"""The asyncio admin client: `moldau.aio.Admin`."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from moldau.base.config.schema import Scope
from moldau.clients.admin.acls import AclOperations
from moldau.clients.admin.calls import AdminCalls
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.configs import ConfigOperations
from moldau.clients.admin.delegation_tokens import DelegationTokenOperations
from moldau.clients.admin.group_offsets import GroupOffsetOperations
from moldau.clients.admin.groups import GroupOperations
from moldau.clients.admin.log_dirs import LogDirOperations
from moldau.clients.admin.partitions import PartitionOperations
from moldau.clients.admin.quotas import QuotaOperations
from moldau.clients.admin.reassignments import ReassignmentOperations
from moldau.clients.admin.scram import ScramOperations
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.admin.topics import TopicOperations
from moldau.clients.admin.transactions import TransactionOperations
from moldau.clients.network.cluster import Cluster
from moldau.clients.settings import client_settings


class Admin(
    TopicOperations,
    TopicDescriptionOperations,
    ConfigOperations,
    GroupOperations,
    GroupOffsetOperations,
    PartitionOperations,
    ReassignmentOperations,
    LogDirOperations,
    TransactionOperations,
    AclOperations,
    QuotaOperations,
    ScramOperations,
    DelegationTokenOperations,
    ClusterOperations,
):
    """Asks about a cluster and changes it, in the running loop.

        async with Admin(bootstrap_servers="localhost:9092") as admin:
            await admin.create_topics([NewTopic("orders", 3)])

    Any number of tasks may use it. A call takes `timeout_s` at most, or else `default.api.timeout.ms`.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **keywords: object) -> None:
        checked = client_settings(Scope.ADMIN, settings, keywords)
        self._cluster = Cluster(checked, allow_auto_topic_creation=False)
        self._calls = AdminCalls(self._cluster)

    async def close(self) -> None:
        """Let go of everything; calls that still wait fail."""
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
