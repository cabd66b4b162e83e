"""Who gets a fetch session when all slots are taken."""

from __future__ import annotations

from random import Random

from moldau.protocol.messages.fetch import FetchPartition
from moldau.replication.fetch_session import PartitionKey, RequestedPartition
from moldau.replication.fetch_session_cache import EVICTION_MS, FetchSessionCache


def partitions(count: int) -> dict[PartitionKey, RequestedPartition]:
    return {
        ("t", number): RequestedPartition(("t", number), "t", bytes(16), FetchPartition(partition=number))
        for number in range(count)
    }


def create(cache: FetchSessionCache, size: int, now_ms: int, *, follower: bool = False) -> int:
    return cache.create(partitions(size), is_privileged=follower, uses_topic_ids=False, now_ms=now_ms)


def use(cache: FetchSessionCache, session_id: int, now_ms: int) -> None:
    session = cache.get(session_id)
    assert session is not None
    cache.touch(session, now_ms)


def test_ids_are_random_and_never_zero() -> None:
    cache = FetchSessionCache(500, Random(7))
    ids = [create(cache, 1, 0) for _ in range(500)]
    assert len(set(ids)) == 500
    assert min(ids) > 0
    assert max(ids) < 2**31
    assert ids != sorted(ids)


def test_no_slots_no_sessions() -> None:
    assert create(FetchSessionCache(0, Random(1)), 5, 0) == 0


def test_young_sessions_are_safe_from_their_like() -> None:
    cache = FetchSessionCache(2, Random(1))
    create(cache, 1, 0)
    create(cache, 2, 0)
    assert create(cache, 100, EVICTION_MS) == 0
    assert (len(cache), cache.partitions_count, cache.evictions) == (2, 3, 0)


def test_what_is_unused_for_long_goes_first() -> None:
    cache = FetchSessionCache(2, Random(1))
    used, unused = create(cache, 1, 0), create(cache, 50, 0)
    use(cache, used, 10)
    assert create(cache, 1, EVICTION_MS + 1) > 0
    assert cache.get(unused) is None
    assert cache.get(used) is not None
    assert (cache.evictions, cache.partitions_count) == (1, 2)


def test_an_old_session_gives_way_to_a_larger_one_only() -> None:
    cache = FetchSessionCache(2, Random(1))
    small, large = create(cache, 3, 0), create(cache, 5, 0)
    now_ms = EVICTION_MS + 1
    use(cache, small, now_ms)
    use(cache, large, now_ms)
    assert create(cache, 3, now_ms) == 0
    assert create(cache, 4, now_ms) > 0
    assert cache.get(small) is None
    assert create(cache, 4, now_ms) == 0, "the old one that is left is larger, the smaller one is young"


def test_a_follower_takes_the_place_of_any_client_and_not_the_other_way_round() -> None:
    cache = FetchSessionCache(2, Random(1))
    small, large = create(cache, 10, 0), create(cache, 20, 0)
    first = create(cache, 1, 0, follower=True)
    assert first > 0
    assert cache.get(small) is None
    second = create(cache, 1, 0, follower=True)
    assert second > 0
    assert cache.get(large) is None
    assert create(cache, 500, 0) == 0
    assert create(cache, 500, 0, follower=True) == 0, "young followers are safe from each other"
    now_ms = EVICTION_MS + 1
    use(cache, first, now_ms)
    use(cache, second, now_ms)
    assert create(cache, 500, now_ms) == 0, "a client never evicts a follower in use"
    assert create(cache, 2, now_ms, follower=True) > 0


def test_a_session_is_worth_its_present_size() -> None:
    cache = FetchSessionCache(2, Random(1))
    grown, other = create(cache, 1, 0), create(cache, 5, 0)
    now_ms = EVICTION_MS + 1
    session = cache.get(grown)
    assert session is not None
    use(cache, grown, now_ms)
    session.partitions.update(partitions(9))
    use(cache, grown, now_ms)
    use(cache, other, now_ms)
    assert cache.partitions_count == 14
    assert create(cache, 6, now_ms) > 0
    assert cache.get(other) is None
    assert cache.remove(grown)
    assert not cache.remove(grown)
    assert cache.partitions_count == 6
