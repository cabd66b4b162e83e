"""Where to cut a follower's log, given where an epoch ends in its leader's (KIP-101, KIP-279).

The leader says: my records of epoch e, which is yours or the nearest before it, end at this offset. If the follower has
records of e, both logs agree up to the smaller of the two ends of e. If it has none, they agree at most up to the end
of its nearest epoch before e; whether they do is asked again, with that epoch, once the log is cut there. Each question
is about a smaller epoch, so there are no more of them than the follower's log has epochs.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.storage.leader_epochs import EpochEndOffset, LeaderEpochs

UNDEFINED = -1


class Truncation(NamedTuple):
    """Keep what is before the offset; incomplete: ask again about what is left."""

    offset: int
    is_complete: bool = True


def truncation_for(
    leader: EpochEndOffset, epochs: LeaderEpochs, log_end_offset: int, high_watermark: int
) -> Truncation:
    """What the leader's answer means for a log with these epochs."""
    if leader.end_offset == UNDEFINED:  # the leader knows nothing of epochs: what is committed is all that is sure
        return Truncation(min(high_watermark, log_end_offset))
    if leader.epoch == UNDEFINED:  # version 0 of OffsetForLeaderEpoch says only where
        return Truncation(min(leader.end_offset, log_end_offset))
    own_epoch, own_end_offset = epochs.end_offset_for(leader.epoch, log_end_offset)
    if own_end_offset == UNDEFINED:
        return Truncation(min(leader.end_offset, log_end_offset))
    if own_epoch != leader.epoch:
        return Truncation(min(own_end_offset, log_end_offset), is_complete=False)
    return Truncation(min(own_end_offset, leader.end_offset, log_end_offset))
