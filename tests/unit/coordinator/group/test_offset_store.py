"""Committed offsets and those of open transactions, against a log that is read from its beginning each time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.coordinator.group.offset_codec import CommittedOffset
from moldau.coordinator.group.offset_store import NO_PRODUCER_ID, OffsetStore
from moldau.coordinator.group.stored_records import offset_record

GROUPS, KEYS, PRODUCERS = ("g", "h"), (("t", 0), ("t", 1), ("u", 0)), (7, 8)

commits = st.tuples(
    st.just("commit"), st.sampled_from(GROUPS), st.sampled_from(KEYS), st.sampled_from((NO_PRODUCER_ID, *PRODUCERS))
)
removals = st.tuples(st.just("remove"), st.sampled_from(GROUPS), st.sampled_from(KEYS), st.none())
ends = st.tuples(st.just("end"), st.booleans(), st.none(), st.sampled_from(PRODUCERS))
Step = tuple[str, object, tuple[str, int] | None, int | None]


def expected(steps: list[Step]) -> tuple[dict[object, dict[object, int]], set[tuple[object, object]]]:
    """What a reader of the log believes: per group the last offsets, and what waits for a marker."""
    committed: dict[object, dict[object, tuple[int, int]]] = {group: {} for group in GROUPS}
    pending: dict[object, dict[tuple[object, object], int]] = {producer: {} for producer in PRODUCERS}
    for number, (kind, first, key, producer) in enumerate(steps):
        if kind == "commit" and producer == NO_PRODUCER_ID:
            committed[first][key] = number, number
        elif kind == "commit":
            pending[producer][first, key] = number
        elif kind == "remove":
            committed[first].pop(key, None)
            for waiting in pending.values():
                waiting.pop((first, key), None)
        else:
            for (group, one), offset in pending[producer].items():
                if first and committed[group].get(one, (-1, -1))[1] < offset:
                    committed[group][one] = offset, offset
            pending[producer] = {}
    told = {group: {key: offset for key, (offset, _) in offsets.items()} for group, offsets in committed.items()}
    return told, {where for waiting in pending.values() for where in waiting}


@settings(deadline=None)
@given(st.lists(st.one_of(commits, removals, ends), max_size=40))
def test_the_store_is_what_the_log_says(steps: list[Step]) -> None:
    store = OffsetStore()
    for number, (kind, first, key, producer) in enumerate(steps):
        if kind == "commit":
            assert key is not None
            assert producer is not None
            value = offset_record("", *key, CommittedOffset(number, -1, "", 0)).value
            assert value is not None
            store.put(str(first), key, value, producer)
        elif kind == "remove":
            assert key is not None
            store.remove(str(first), key)
        else:
            assert producer is not None
            store.end_transaction(producer, bool(first))
    committed, waiting = expected(steps)
    for group in GROUPS:
        found = {key: one.offset for key, one in store.committed.get(group, {}).items()}
        assert found == committed[group]
        for key in KEYS:
            assert store.is_pending(group, key) == ((group, key) in waiting)
        assert store.known_keys(group) == {*found, *(key for where, key in waiting if where == group)}
    gone = {(group, key) for group, key in store.of_topics(frozenset("t")) if key[0] == "t"}
    assert gone == {(group, key) for group in GROUPS for key in store.known_keys(group) if key[0] == "t"}
