"""Whatever happens to the brokers of a partition, as long as only in-sync replicas lead: what was committed stays.

Random histories of writes, fetches, lost answers, crashes and elections on three replicas in memory. After each step no
record below a leader's high watermark is missing from, or different in, the log of the next leader; at the end, when
all have fetched enough, all logs are the same. That the checks see a loss is shown without leader epochs.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.replication.followers.settings import FollowerSettings
from tests.unit.replication.followers.replica_group import ReplicaGroup

BROKERS = 3
ON_FETCH = FollowerSettings()
BY_REQUEST = FollowerSettings(fetch_version_max=11)
WITHOUT_EPOCHS = FollowerSettings(uses_epochs=False, fetch_version_max=11)

Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "fetch", "fetch", "fetch", "ask", "crash", "start", "elect", "note"]),
        st.integers(0, BROKERS - 1),
    ),
    max_size=60,
)


class Violation(AssertionError):
    """A record that was committed is not there any more."""


class Committed(NamedTuple):
    epoch: int
    value: str


class History:
    """Plays steps, and remembers what a leader has ever called committed."""

    def __init__(self, follower_settings: FollowerSettings) -> None:
        self.group = ReplicaGroup(BROKERS, follower_settings)
        self.group.elect(0)
        self.committed: list[Committed] = []
        self._written = 0

    def play(self, steps: list[Step]) -> None:
        for action, broker_id in steps:
            self._step(action, broker_id)
            self._check()

    def _step(self, action: str, broker_id: int) -> None:
        group = self.group
        broker = group.brokers[broker_id]
        if action == "write" and group.leader is not None:
            self._written += 1
            group.write(f"r{self._written}")
        elif action in ("fetch", "ask") and group.leader is not None and broker.following is not None:
            group.fetch(broker_id, lose_answer=action == "ask")
        elif action == "note":
            group.write_high_watermarks()
        elif action == "crash" and broker.is_running:
            self._crash(broker_id)
        elif action == "start" and not broker.is_running:
            group.start(broker_id)
        elif action == "elect" and broker.is_running and broker_id in group.isr and broker_id != group.leader:
            group.elect(broker_id)

    def _crash(self, broker_id: int) -> None:
        """The controller sees it: the leader goes on without it, or another one of the ISR leads; the last stays."""
        group = self.group
        was_leader = group.leader == broker_id
        group.crash(broker_id)
        if was_leader:
            candidates = [one for one in group.isr if group.brokers[one].is_running]
            if candidates:
                group.elect(candidates[0])
        elif group.leader is not None and broker_id in group.isr:
            group.shrink_isr()

    def _check(self) -> None:
        group = self.group
        if group.leader is None:
            return
        leader = group.brokers[group.leader]
        entries = [Committed(entry.epoch, entry.value) for entry in leader.log.entries]
        if entries[: len(self.committed)] != self.committed:
            raise Violation(f"committed were {self.committed}, the leader has {entries}")
        self.committed = entries[: max(leader.log.high_watermark, len(self.committed))]
        for broker in group.brokers.values():
            own = [Committed(entry.epoch, entry.value) for entry in broker.log.entries]
            shown = min(broker.log.high_watermark, len(self.committed))
            if broker.is_running and own[:shown] != self.committed[:shown]:
                raise Violation(f"broker {broker.id} shows {own[:shown]}, committed were {self.committed}")

    def settle(self) -> None:
        """Everybody comes back and fetches until nothing is new."""
        group = self.group
        for broker_id, broker in group.brokers.items():
            if not broker.is_running:
                group.start(broker_id)
        if group.leader is None:
            group.elect(group.isr[0])
        self._check()
        for _ in range(3 * (self._written + group.epoch + 3)):
            group.now_ms += 1000
            for broker_id, broker in group.brokers.items():
                if broker.following is not None:
                    group.fetch(broker_id)
        self._check()
        logs = [broker.log.entries for broker in group.brokers.values()]
        if any(log != logs[0] for log in logs):
            raise Violation(f"logs differ for ever: {logs}")


@pytest.mark.slow
@pytest.mark.parametrize("follower_settings", [ON_FETCH, BY_REQUEST], ids=["on fetch", "by request"])
@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_what_was_committed_stays_and_logs_become_the_same(
    follower_settings: FollowerSettings, steps: list[Step]
) -> None:
    history = History(follower_settings)
    history.play(steps)
    history.settle()


def test_the_invariants_catch_truncation_to_the_high_watermark() -> None:
    """A record is in two logs and acknowledged; the follower is restarted, cuts it, and leads."""
    steps: list[Step] = [("crash", 2), ("write", 0), ("fetch", 1), ("ask", 1), ("note", 0)]
    with_epochs, without = History(ON_FETCH), History(WITHOUT_EPOCHS)
    for history in (with_epochs, without):
        history.play(steps)
        # Restarted so quickly that the controller takes no notice.
        history.group.crash(1)
        history.group.start(1)
    with_epochs.play([("crash", 0)])
    with_epochs.settle()
    with pytest.raises(Violation):
        without.play([("crash", 0)])
