"""The admin client: everything that a cluster can be asked about and told to do.

    from moldau import Admin
    from moldau.clients.admin import ConfigResource, NewTopic

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topics([NewTopic("orders", 3)])
        admin.incremental_alter_configs({ConfigResource.topic("orders"): {"retention.ms": "60000"}})

Nouns, bottom-up:

    results      Results: what became of each item of a call
    calls        Call, AdminCalls: rounds of requests until all items are settled or the time is up
    routes       who is in charge of an item: controller, coordinator, leader, a named broker
    operations   what the families share
    topics, topic_descriptions, config_entries, configs, groups, group_descriptions, group_offsets, partitions,
    reassignments, log_dirs, transactions, acl_operations, acls, quotas, scram, delegation_tokens, cluster_operations
                 a family each: its values, by Kafka's names, and its methods
    admin        Admin: all families, for asyncio;  plain: the same for threads

Invariants: every item of a call is settled exactly once, with a value or an error; nothing outlives the call's time; a
question never creates a topic; what a broker cannot do is refused by name, and never done in another way that would
change more.
The names that programs need are here; they are imported when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.clients.admin.acl_operations import AclOperation
    from moldau.clients.admin.acls import (
        AccessControlEntry,
        AclBinding,
        AclBindingFilter,
        AclPermissionType,
        PatternType,
        ResourcePattern,
        ResourceType,
    )
    from moldau.clients.admin.cluster_operations import FeatureUpdate, UpgradeType
    from moldau.clients.admin.config_entries import (
        AlterConfigOp,
        ConfigEntry,
        ConfigResource,
        ConfigResourceType,
        ConfigSource,
        ConfigType,
        OpType,
    )
    from moldau.clients.admin.delegation_tokens import DelegationToken, KafkaPrincipal
    from moldau.clients.admin.group_descriptions import GroupDescription, MemberDescription
    from moldau.clients.admin.groups import GroupListing, MemberToRemove
    from moldau.clients.admin.log_dirs import TopicPartitionReplica
    from moldau.clients.admin.partitions import HIGH_WATERMARK, IsolationLevel, OffsetSpec
    from moldau.clients.admin.quotas import QuotaEntity, QuotaFilter
    from moldau.clients.admin.reassignments import ElectionType, PartitionReassignment
    from moldau.clients.admin.results import Results
    from moldau.clients.admin.scram import (
        ScramMechanism,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from moldau.clients.admin.topic_descriptions import TopicDescription
    from moldau.clients.admin.topics import NewPartitions, NewTopic
    from moldau.clients.admin.transactions import AbortTransactionSpec

_NAMES = {
    "acl_operations": ("AclOperation",),
    "acls": (
        "AccessControlEntry",
        "AclBinding",
        "AclBindingFilter",
        "AclPermissionType",
        "PatternType",
        "ResourcePattern",
        "ResourceType",
    ),
    "cluster_operations": ("FeatureUpdate", "UpgradeType"),
    "config_entries": (
        "AlterConfigOp",
        "ConfigEntry",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSource",
        "ConfigType",
        "OpType",
    ),
    "delegation_tokens": ("DelegationToken", "KafkaPrincipal"),
    "group_descriptions": ("GroupDescription", "MemberDescription"),
    "groups": ("GroupListing", "MemberToRemove"),
    "log_dirs": ("TopicPartitionReplica",),
    "partitions": ("HIGH_WATERMARK", "IsolationLevel", "OffsetSpec"),
    "quotas": ("QuotaEntity", "QuotaFilter"),
    "reassignments": ("ElectionType", "PartitionReassignment"),
    "results": ("Results",),
    "scram": ("ScramMechanism", "UserScramCredentialDeletion", "UserScramCredentialUpsertion"),
    "topic_descriptions": ("TopicDescription",),
    "topics": ("NewPartitions", "NewTopic"),
    "transactions": ("AbortTransactionSpec",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "HIGH_WATERMARK",
    "AbortTransactionSpec",
    "AccessControlEntry",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "AlterConfigOp",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigType",
    "DelegationToken",
    "ElectionType",
    "FeatureUpdate",
    "GroupDescription",
    "GroupListing",
    "IsolationLevel",
    "KafkaPrincipal",
    "MemberDescription",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OpType",
    "PartitionReassignment",
    "PatternType",
    "QuotaEntity",
    "QuotaFilter",
    "ResourcePattern",
    "ResourceType",
    "Results",
    "ScramMechanism",
    "TopicDescription",
    "TopicPartitionReplica",
    "UpgradeType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
