"""The ISR as the controller has it, and the change that the leader has proposed and has no answer to (KIP-497).

Until the answer comes both may be true, so each question is asked of the one that is safe. Whether there are enough
replicas to accept a record: the committed ISR. Whom the high watermark waits for: the maximal ISR, the committed one
and everybody who is proposed; who is to leave counts until it has left, and who is to join counts at once. There is
one proposal at a time; while it is out, no other is made.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode


class IsrProposal(NamedTuple):
    """An effect: ask the controller for another ISR (AlterPartition), and hand the same object back with its answer."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class AfterError(Enum):
    """What to do about a proposal that was refused."""

    RETRY = "send the same again"
    WITHDRAW = "it was not carried out: back to the committed ISR"
    WAIT = "somebody else is right about this partition, and will say so"


# Where it cannot be known whether a proposal was carried out (it may have been sent twice), the leader keeps counting
# with the maximal ISR until it hears of the partition again.
AFTER_ERROR = {
    ErrorCode.OPERATION_NOT_ATTEMPTED: AfterError.WITHDRAW,
    ErrorCode.INELIGIBLE_REPLICA: AfterError.WITHDRAW,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: AfterError.WAIT,
    ErrorCode.UNKNOWN_TOPIC_ID: AfterError.WAIT,
    ErrorCode.FENCED_LEADER_EPOCH: AfterError.WAIT,
    ErrorCode.INVALID_UPDATE_VERSION: AfterError.WAIT,
    ErrorCode.INVALID_REQUEST: AfterError.WAIT,
    ErrorCode.NEW_LEADER_ELECTED: AfterError.WAIT,
}


class InSyncReplicas:
    """Empty on a follower, which does not know it."""

    __slots__ = ("committed", "maximal", "proposal")

    def __init__(self, committed: tuple[int, ...] = ()) -> None:
        self.commit(committed)

    def commit(self, isr: tuple[int, ...]) -> None:
        """The controller has said what holds; no proposal is out any more."""
        self.committed = isr
        self.maximal = frozenset(isr)
        self.proposal: IsrProposal | None = None

    def propose(self, proposal: IsrProposal) -> IsrProposal:
        assert self.proposal is None, "one proposal at a time"
        self.proposal = proposal
        self.maximal = frozenset(self.committed).union(proposal.isr)
        return proposal

    def withdraw(self) -> None:
        self.commit(self.committed)
