"""The plain admin client: `moldau.Admin`. Each of its methods is that of the asyncio one, run in its loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from moldau.clients.admin.admin import Admin as AsyncAdmin
from moldau.clients.background import BackgroundLoop

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_CLOSING_S: Final = 10.0


def _waiting(
    method: Callable[Concatenate[AsyncAdmin, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Admin, Arguments], Result]:
    """The same method for callers that wait: same arguments, same documentation."""

    @functools.wraps(method)
    def wait(self: Admin, /, *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        return self._background.run(method(self._admin, *arguments, **keywords))

    return wait


class Admin:
    """Asks about a cluster and changes it.

        with Admin(bootstrap_servers="localhost:9092") as admin:
            admin.create_topics([NewTopic("orders", 3)])
            print(sorted(admin.list_topics()))

    Any number of threads may use it. A call takes `timeout_s` at most, or else `default.api.timeout.ms`.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **keywords: object) -> None:
        self._background = BackgroundLoop("moldau-admin")
        try:
            self._admin = self._background.run(_made(settings, keywords))
        except BaseException:
            self._background.close()
            raise

    create_topics = _waiting(AsyncAdmin.create_topics)
    delete_topics = _waiting(AsyncAdmin.delete_topics)
    list_topics = _waiting(AsyncAdmin.list_topics)
    describe_topics = _waiting(AsyncAdmin.describe_topics)
    create_partitions = _waiting(AsyncAdmin.create_partitions)

    describe_configs = _waiting(AsyncAdmin.describe_configs)
    incremental_alter_configs = _waiting(AsyncAdmin.incremental_alter_configs)
    alter_configs = _waiting(AsyncAdmin.alter_configs)
    list_config_resources = _waiting(AsyncAdmin.list_config_resources)
    list_client_metrics_resources = _waiting(AsyncAdmin.list_client_metrics_resources)

    list_groups = _waiting(AsyncAdmin.list_groups)
    list_consumer_groups = _waiting(AsyncAdmin.list_consumer_groups)
    describe_consumer_groups = _waiting(AsyncAdmin.describe_consumer_groups)
    delete_consumer_groups = _waiting(AsyncAdmin.delete_consumer_groups)
    remove_members_from_consumer_group = _waiting(AsyncAdmin.remove_members_from_consumer_group)
    list_consumer_group_offsets = _waiting(AsyncAdmin.list_consumer_group_offsets)
    alter_consumer_group_offsets = _waiting(AsyncAdmin.alter_consumer_group_offsets)
    delete_consumer_group_offsets = _waiting(AsyncAdmin.delete_consumer_group_offsets)

    list_offsets = _waiting(AsyncAdmin.list_offsets)
    delete_records = _waiting(AsyncAdmin.delete_records)
    describe_producers = _waiting(AsyncAdmin.describe_producers)
    alter_partition_reassignments = _waiting(AsyncAdmin.alter_partition_reassignments)
    list_partition_reassignments = _waiting(AsyncAdmin.list_partition_reassignments)
    elect_leaders = _waiting(AsyncAdmin.elect_leaders)
    describe_log_dirs = _waiting(AsyncAdmin.describe_log_dirs)
    describe_replica_log_dirs = _waiting(AsyncAdmin.describe_replica_log_dirs)
    alter_replica_log_dirs = _waiting(AsyncAdmin.alter_replica_log_dirs)

    list_transactions = _waiting(AsyncAdmin.list_transactions)
    describe_transactions = _waiting(AsyncAdmin.describe_transactions)
    fence_producers = _waiting(AsyncAdmin.fence_producers)
    force_terminate_transaction = _waiting(AsyncAdmin.force_terminate_transaction)
    abort_transaction = _waiting(AsyncAdmin.abort_transaction)

    create_acls = _waiting(AsyncAdmin.create_acls)
    describe_acls = _waiting(AsyncAdmin.describe_acls)
    delete_acls = _waiting(AsyncAdmin.delete_acls)
    describe_client_quotas = _waiting(AsyncAdmin.describe_client_quotas)
    alter_client_quotas = _waiting(AsyncAdmin.alter_client_quotas)
    describe_user_scram_credentials = _waiting(AsyncAdmin.describe_user_scram_credentials)
    alter_user_scram_credentials = _waiting(AsyncAdmin.alter_user_scram_credentials)
    create_delegation_token = _waiting(AsyncAdmin.create_delegation_token)
    renew_delegation_token = _waiting(AsyncAdmin.renew_delegation_token)
    expire_delegation_token = _waiting(AsyncAdmin.expire_delegation_token)
    describe_delegation_token = _waiting(AsyncAdmin.describe_delegation_token)

    describe_cluster = _waiting(AsyncAdmin.describe_cluster)
    list_nodes = _waiting(AsyncAdmin.list_nodes)
    describe_api_versions = _waiting(AsyncAdmin.describe_api_versions)
    describe_features = _waiting(AsyncAdmin.describe_features)
    update_features = _waiting(AsyncAdmin.update_features)
    unregister_broker = _waiting(AsyncAdmin.unregister_broker)
    describe_metadata_quorum = _waiting(AsyncAdmin.describe_metadata_quorum)

    def close(self) -> None:
        """Let go of everything; calls that still wait fail."""
        if self._background.unusable is not None:
            return
        try:
            self._background.run(self._admin.close(), _CLOSING_S)
        finally:
            self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _made(settings: Mapping[str, object] | None, keywords: Mapping[str, object]) -> AsyncAdmin:
    return AsyncAdmin(settings, **keywords)
