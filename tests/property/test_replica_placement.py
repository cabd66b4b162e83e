"""What placement promises, for any cluster."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from moldau.controller.placement import assign_replicas


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, str | None], int]:
    """Brokers with their racks, all or none of them with one, and a replication factor that they can have."""
    brokers = draw(st.sets(st.integers(0, 100), min_size=1, max_size=12))
    rack_names = st.sampled_from("abcd") if draw(st.booleans()) else st.none()
    racks: dict[int, str | None] = {broker: draw(rack_names) for broker in sorted(brokers)}
    return racks, draw(st.integers(1, len(racks)))


@given(
    cluster=clusters(),
    partitions=st.integers(1, 40),
    start=st.integers(0, 11),
    shift=st.integers(0, 30),
    first=st.integers(0, 20),
)
def test_replicas_are_spread(
    cluster: tuple[dict[int, str | None], int], partitions: int, start: int, shift: int, first: int
) -> None:
    racks, replication_factor = cluster
    placed = assign_replicas(racks, partitions, replication_factor, start=start, shift=shift, first_partition=first)
    assert list(placed) == list(range(first, first + partitions))
    leaders = Counter(dict.fromkeys(racks, 0))
    for replicas in placed.values():
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert set(replicas) <= racks.keys()
        if None not in racks.values():
            used = {racks[broker] for broker in replicas}
            assert len(used) == min(replication_factor, len(set(racks.values())))
        leaders[replicas[0]] += 1
    assert max(leaders.values()) - min(leaders.values()) <= 1
