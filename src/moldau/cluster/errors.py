"""What a coordination store refuses, and why.

CoordinationError
├── NoNode                    the path, or the parent of a path to create, does not exist
├── NodeExists                the path to create exists
├── BadVersion                the znode's version is not the expected one: somebody else wrote
├── NotEmpty                  a znode with children cannot be deleted
├── NoChildrenForEphemerals   an ephemeral znode cannot have children
├── BadArguments              a path or data that no store accepts
├── NotAuthorized             the znode's access control list has nothing for this session's credentials
├── MultiFailed               one operation of a `multi` failed, so none was carried out
├── SessionExpired            the session is over, and with it its ephemerals and watches
├── ConnectionLoss            there is no connection; whether an unanswered write was carried out is unknown
├── StoreUnavailable          the store cannot be opened, or broke for good
└── MalformedZnode            a znode does not hold what its path promises
"""

from __future__ import annotations

from moldau.base.errors import MoldauError


class CoordinationError(MoldauError):
    """The root of this tree; the text names the path."""


class NoNode(CoordinationError):
    """Nothing is at the path; for a create, at its parent's."""


class NodeExists(CoordinationError):
    """Something is at the path already."""


class BadVersion(CoordinationError):
    """A conditional write or check came too late."""


class NotEmpty(CoordinationError):
    """The znode has children."""


class NoChildrenForEphemerals(CoordinationError):
    """The parent is ephemeral."""


class BadArguments(CoordinationError):
    """The request can never succeed."""


class NotAuthorized(CoordinationError):
    """Others protect the znode, or this session has no credentials to protect it with."""


class MultiFailed(CoordinationError):
    """The operation at `index` failed with `error`; those before it are rolled back, those after it not tried."""

    def __init__(self, index: int, error: CoordinationError) -> None:
        super().__init__(f"operation {index}: {type(error).__name__}: {error}")
        self.index = index
        self.error = error


class SessionExpired(CoordinationError):
    """Nothing more can be asked on this session: open another."""


class ConnectionLoss(CoordinationError):
    """Ask again when the session is connected; an unanswered write may have been carried out."""


class StoreUnavailable(CoordinationError):
    """No session can be opened; the text says what an operator can do."""


class MalformedZnode(CoordinationError):
    """The content of the znode at `path` is not what Kafka writes there."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
