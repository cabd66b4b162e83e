"""Leader epochs against the records themselves, and what they are for: replicas whose logs never differ.

Three replicas, leaders elected at will, unclean elections included. A follower asks the leader where its latest epoch
ends, truncates, and asks again as long as the leader knows only an older epoch (KIP-101, KIP-279).
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.storage.leader_epochs import UNDEFINED_EPOCH_END_OFFSET, LeaderEpochs


class Replica:
    """A log of (epoch, number of the record) and its epochs."""

    def __init__(self) -> None:
        self.log: list[tuple[int, int]] = []
        self.epochs = LeaderEpochs("t-0")

    def append(self, epoch: int, number: int) -> None:
        self.epochs.assign(epoch, len(self.log))
        self.log.append((epoch, number))

    def truncate(self, end_offset: int) -> None:
        del self.log[end_offset:]
        self.epochs.truncate_from_end(end_offset)

    def follow(self, leader: Replica, fetched_max: int) -> None:
        """Truncate to where both agree, then fetch some records."""
        for _ in range(len(self.epochs.entries) + 1):
            latest_epoch = self.epochs.latest_epoch
            if latest_epoch is None:
                break
            answer = leader.epochs.end_offset_for(latest_epoch, len(leader.log))
            assert answer != UNDEFINED_EPOCH_END_OFFSET, "a leader has the latest epoch of all"
            own = self.epochs.end_offset_for(answer.epoch, len(self.log))
            self.truncate(min(answer.end_offset, max(own.end_offset, 0), len(self.log)))
            if own.epoch == answer.epoch:
                break
        agreed = len(self.log)
        assert self.log == leader.log[:agreed]
        for epoch, number in leader.log[agreed : agreed + fetched_max]:
            self.append(epoch, number)

    def check_against_records(self) -> None:
        """Every answer follows from the records: there is no epoch in the cache that the log contradicts."""
        assert [self.epochs.epoch_for_offset(offset) for offset in range(len(self.log))] == [
            epoch for epoch, _ in self.log
        ]
        entries = self.epochs.entries
        assert entries == sorted(entries)
        assert len({entry.start_offset for entry in entries}) == len(entries)
        for requested in range((self.epochs.latest_epoch or 0) + 2):
            later = [offset for offset, (epoch, _) in enumerate(self.log) if epoch > requested]
            answer = self.epochs.end_offset_for(requested, len(self.log))
            if not entries or requested > entries[-1].epoch:
                assert answer == UNDEFINED_EPOCH_END_OFFSET
            else:
                assert answer.end_offset == (later[0] if later else len(self.log))
                known = [entry.epoch for entry in entries if entry.epoch <= requested]
                assert answer.epoch == (known[-1] if known else requested)


ELECTIONS = st.lists(
    st.tuples(
        st.integers(0, 2),  # the leader
        st.integers(1, 3),  # by how much the epoch rises
        st.integers(0, 4),  # records it writes
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=3),  # who follows, and how far
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(ELECTIONS)
def test_whoever_leads_followers_become_prefixes_of_the_leader(
    elections: list[tuple[int, int, int, list[tuple[int, int]]]],
) -> None:
    replicas = [Replica() for _ in range(3)]
    epoch = number = 0
    for leader_index, step, records, followers in elections:
        leader = replicas[leader_index]
        epoch += step
        leader.epochs.assign(epoch, len(leader.log))
        for _ in range(records):
            number += 1
            leader.append(epoch, number)
        for follower_index, fetched_max in followers:
            if follower_index != leader_index:
                replicas[follower_index].follow(leader, fetched_max)
        for replica in replicas:
            replica.check_against_records()


ENTRIES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=8)


@given(ENTRIES, st.integers(0, 14), st.booleans())
def test_a_change_is_reported_exactly_when_the_entries_differ(
    entries: list[tuple[int, int]], offset: int, from_start: bool
) -> None:
    epochs = LeaderEpochs("t-0")
    for entry in entries:
        before = epochs.entries
        assert epochs.assign(*entry) == (epochs.entries != before)
    before = epochs.entries
    changed = epochs.truncate_from_start(offset) if from_start else epochs.truncate_from_end(offset)
    assert changed == (epochs.entries != before)
    for other in range(14):
        kept = other >= offset if from_start else other < offset
        if kept:
            assert epochs.epoch_for_offset(other) == LeaderEpochs("t-0", before).epoch_for_offset(other)
