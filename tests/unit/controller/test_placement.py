"""Placement against what Apache Kafka 3.9.1 answers for the same brokers, start and shift."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.controller.placement import assign_replicas, rack_alternated

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def without_racks(count: int) -> dict[int, str | None]:
    return dict.fromkeys(range(count))


def test_without_racks_followers_shift_each_time_the_leaders_have_gone_around() -> None:
    placed = assign_replicas(without_racks(5), 10, 3, start=0, shift=0)
    assert [placed[partition] for partition in (0, 4, 5, 9)] == [(0, 1, 2), (4, 0, 1), (0, 2, 3), (4, 1, 2)]


def test_start_and_shift_turn_the_ring() -> None:
    placed = assign_replicas({3 * broker: None for broker in range(9)}, 12, 4, start=7, shift=7)
    assert {0: placed[0], 8: placed[8], 9: placed[9]} == {0: (21, 18, 24, 0), 8: (18, 15, 21, 24), 9: (21, 24, 0, 3)}


def test_partitions_that_are_added_go_on_where_the_ring_was() -> None:
    placed = assign_replicas({3 * broker: None for broker in range(9)}, 2, 4, start=8, shift=8, first_partition=10)
    assert placed == {10: (0, 3, 6, 9), 11: (3, 6, 9, 12)}


def test_the_ring_alternates_between_racks() -> None:
    assert rack_alternated(RACKS) == [0, 3, 1, 5, 4, 2]
    assert rack_alternated({broker: rack for broker, rack in RACKS.items() if broker != 5}) == [0, 3, 1, 4, 2]


def test_with_racks_every_replica_is_in_a_rack_of_its_own() -> None:
    assert assign_replicas(RACKS, 7, 3, start=0, shift=0) == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
    }


def test_one_broker_holds_everything() -> None:
    assert assign_replicas({7: None}, 3, 1, start=0, shift=0) == {0: (7,), 1: (7,), 2: (7,)}
    assert assign_replicas({7: "a"}, 2, 1, start=0, shift=0) == {0: (7,), 1: (7,)}


@pytest.mark.parametrize(
    ("partitions", "replication_factor", "code", "text"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (-5, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (1, 4, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor: 4 larger than available brokers: 3."),
    ],
)
def test_counts_that_cannot_be_placed_are_refused(
    partitions: int, replication_factor: int, code: ErrorCode, text: str
) -> None:
    with pytest.raises(ApiError) as refused:
        assign_replicas(without_racks(3), partitions, replication_factor, start=0, shift=0)
    assert (refused.value.code, refused.value.message) == (code, text)


def test_racks_of_some_brokers_only_are_refused() -> None:
    with pytest.raises(ApiError, match="Not all brokers have rack information: only 2 have"):
        assign_replicas({1: None, 2: "a"}, 1, 1, start=0, shift=0)
