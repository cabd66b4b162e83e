"""Where to cut, for what a leader may say of an epoch."""

from __future__ import annotations

import pytest

from moldau.replication.followers.truncation import Truncation, truncation_for
from moldau.storage.leader_epochs import EpochEndOffset, LeaderEpochs

# Epoch 1 from 0, epoch 3 from 10, epoch 5 from 20, and the log ends at 30.
EPOCHS = [(1, 0), (3, 10), (5, 20)]
END = 30
HIGH_WATERMARK = 12


@pytest.mark.parametrize(
    ("leader", "expected"),
    [
        ((5, 40), Truncation(30)),
        ((5, 25), Truncation(25)),
        ((3, 15), Truncation(15)),
        ((3, 25), Truncation(20)),
        ((4, 25), Truncation(20, is_complete=False)),
        ((2, 7), Truncation(10, is_complete=False)),
        ((0, 4), Truncation(0)),
        ((-1, 25), Truncation(25)),
        ((-1, 99), Truncation(30)),
        ((-1, -1), Truncation(12)),
    ],
    ids=[
        "the same epoch, longer there",
        "the same epoch, shorter there",
        "an earlier epoch, shorter there",
        "an earlier epoch, longer there",
        "an epoch between ours",
        "an epoch between earlier ones of ours",
        "an epoch before our first",
        "only an offset",
        "only an offset beyond our end",
        "nothing known",
    ],
)
def test_truncation_by_the_leaders_answer(leader: tuple[int, int], expected: Truncation) -> None:
    epochs = LeaderEpochs("t-0", EPOCHS)
    assert truncation_for(EpochEndOffset(*leader), epochs, END, HIGH_WATERMARK) == expected


def test_a_log_that_knows_nothing_of_the_epoch_believes_the_leader() -> None:
    epochs = LeaderEpochs("t-0", [(1, 0)])
    assert truncation_for(EpochEndOffset(4, 25), epochs, END, HIGH_WATERMARK) == Truncation(25)
