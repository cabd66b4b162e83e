"""Every program and command of the documents of pipelines runs, with a real Spark, and prints what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_documents import ON_SPARK
from tests.java_tools import ROOT, require_java

RUN_S_MAX = 500


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.timeout(RUN_S_MAX + 20)
def test_what_the_documents_of_pipelines_say_is_what_happens(tmp_path: Path) -> None:
    """In a process of its own, since a Spark that other tests have started is theirs."""
    require_java()
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.spark_documents", *ON_SPARK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
