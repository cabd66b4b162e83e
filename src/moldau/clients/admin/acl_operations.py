"""What somebody may do: the operations of access control, also as the bits in which descriptions carry them."""

from __future__ import annotations

from typing import Final

from moldau.clients.admin.operations import ProtocolEnum

_NOT_ASKED: Final = -(2**31)


class AclOperation(ProtocolEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def authorized_operations(bits: int) -> frozenset[AclOperation] | None:
    """What the asking user may do (KIP-430); None if that was not asked or the broker does not tell."""
    if bits == _NOT_ASKED:
        return None
    return frozenset(each for each in AclOperation if each > AclOperation.ANY and bits >> each & 1)
