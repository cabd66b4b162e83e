"""The paths of Kafka's znodes, and the names below them.

Names of users, clients and addresses are encoded as in URLs, by Java's rules; the entity "default" is `<default>` as it
stands, which no encoded name can be. Topic names need no encoding.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE = "/brokers/seqid"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"
CONSUMERS = "/consumers"

DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"

CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
CONFIG_ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips")
DEFAULT_ENTITY = "<default>"

ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE_PREFIX = "/isr_change_notification/isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"

ACLS = "/kafka-acl"
ACL_CHANGES = "/kafka-acl-changes"
ACL_CHANGE_PREFIX = "/kafka-acl-changes/acl_changes_"
PREFIXED_ACLS = "/kafka-acl-extended/prefixed"
EXTENDED_ACL_CHANGES = "/kafka-acl-extended-changes"
EXTENDED_ACL_CHANGE_PREFIX = "/kafka-acl-extended-changes/acl_changes_"
ACL_RESOURCE_TYPES = ("Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User")

DELEGATION_TOKENS = "/delegation_token/tokens"
DELEGATION_TOKEN_CHANGES = "/delegation_token/token_changes"
DELEGATION_TOKEN_CHANGE_PREFIX = "/delegation_token/token_changes/token_change_"

PERSISTENT_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    LATEST_PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    *(f"{CONFIG}/{entity_type}" for entity_type in CONFIG_ENTITY_TYPES),
)
"""Made by every broker that starts, in this order, with null data, unless they exist."""

ACL_PATHS = (
    ACLS,
    *(f"{ACLS}/{resource_type}" for resource_type in ACL_RESOURCE_TYPES),
    PREFIXED_ACLS,
    *(f"{PREFIXED_ACLS}/{resource_type}" for resource_type in ACL_RESOURCE_TYPES),
    ACL_CHANGES,
    EXTENDED_ACL_CHANGES,
)
"""Made when there is an authorizer."""

_SEQUENCE_DIGITS = 10


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}"


def partition_state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def config_path(entity_type: str, entity: str) -> str:
    """`entity` as it is in the tree: encoded, or `<default>`; for a client of a user `<user>/clients/<client>`."""
    return f"{CONFIG}/{entity_type}/{entity}"


def encode_entity_name(name: str) -> str:
    # Java's encoder also escapes the tilde; it leaves the asterisk, which Kafka then escapes itself.
    return quote(name, safe="").replace("~", "%7E")


def decode_entity_name(name: str) -> str:
    return unquote(name, errors="strict")


def sequence_of(name: str) -> int:
    """The number of a sequential znode, from its name or its path."""
    return int(name[-_SEQUENCE_DIGITS:])
