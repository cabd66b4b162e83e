"""The fault mix on real processes: for a minute, for five under CI, and for as long as one likes by a variable."""

from __future__ import annotations

import os

import pytest

from tests.cluster.cluster_process import process_cluster
from tests.cluster.faults import run

SECONDS = float(os.environ.get("MOLDAU_FAULT_SECONDS", "300" if os.environ.get("CI") else "60"))
SEED = int(os.environ.get("MOLDAU_FAULT_SEED", "1"))


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.timeout(SECONDS + 600)
def test_nothing_acknowledged_is_lost_and_nothing_is_read_twice_or_wrongly() -> None:
    with process_cluster() as cluster:
        report = run(cluster, SECONDS, SEED)
    print(report)
    assert report.is_clean, str(report)
