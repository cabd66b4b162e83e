"""Who may do what with our znodes when `zookeeper.set.acl` is on: everything for the brokers, reading for the world.

As Kafka has it, what holds secrets is not even read by others: credentials of users, settings of brokers, tokens. The
world's old consumers keep their own znodes. "The brokers" are whoever has the credentials of the session that creates.
"""

from __future__ import annotations

from moldau.cluster.store import OPEN_ACL, Acl, Permission
from moldau.cluster.znodes.layout import CONFIG, CONSUMERS, DELEGATION_TOKENS

_CREATOR = Permission("auth", "", "cdrwa")
_SECRET = (f"{CONFIG}/users", f"{CONFIG}/brokers", DELEGATION_TOKENS)

SECRET_ACL: Acl = (_CREATOR,)
PROTECTED_ACL: Acl = (_CREATOR, Permission("world", "anyone", "r"))


def protecting_acl(path: str) -> Acl:
    if _is_at_or_below(path, CONSUMERS):
        return OPEN_ACL
    return SECRET_ACL if any(_is_at_or_below(path, secret) for secret in _SECRET) else PROTECTED_ACL


def _is_at_or_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")
