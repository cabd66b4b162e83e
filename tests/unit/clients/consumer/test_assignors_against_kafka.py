"""Our assignors give what Kafka's give; what those give is stored, and compared with them where there is Java."""

from __future__ import annotations

import pytest

from moldau.clients.consumer.assignors import ASSIGNORS
from tests.java_tools import require_java
from tests.unit.clients.consumer.assignor_cases import Case, cases, results_of_kafka, stored_results


@pytest.mark.parametrize("name", ASSIGNORS)
def test_an_assignor_gives_what_kafkas_gives(name: str) -> None:
    wrong = []
    for number, (case, expected) in enumerate(zip(cases(), stored_results(), strict=True)):
        if case.assignor == name and _is_valid(case, expected):
            assignment = ASSIGNORS[name]().assign(case.partitions, case.members)
            given = {
                member_id: sorted(f"{topic}:{number}" for topic, number in its) for member_id, its in assignment.items()
            }
            if given != expected:
                wrong.append(number)
    assert wrong == []


def _is_valid(case: Case, result: dict[str, list[str]]) -> bool:
    """Kafka's gives a partition back to an earlier owner that no longer subscribes its topic; ours does not."""
    return all(
        partition.partition(":")[0] in case.members[member_id].topics
        for member_id, its in result.items()
        for partition in its
    )


@pytest.mark.java
@pytest.mark.slow
def test_the_stored_results_are_kafkas() -> None:
    require_java()
    assert results_of_kafka() == stored_results()
