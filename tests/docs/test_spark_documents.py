"""Every program and command of the documents of pipelines runs, with a real Spark, and prints what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.document import Block
from tests.docs.spark_documents import PRINTED, Documents
from tests.docs.test_documents import ON_SPARK
from tests.java_tools import ROOT, require_java

RUN_S_MAX = 500
SHOWN_MAX = 50_000


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.timeout(RUN_S_MAX + 20)
def test_what_the_documents_of_pipelines_say_is_what_happens(tmp_path: Path) -> None:
    """In a process of its own, since a Spark that other tests have started is theirs."""
    require_java()
    # Into a file, which is there to be read also when the time is up.
    with (tmp_path / "stderr.txt").open("w") as told:
        done = subprocess.run(
            [sys.executable, "-m", "tests.docs.spark_documents", *ON_SPARK],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=told,
            timeout=RUN_S_MAX,
            check=False,
        )
    assert done.returncode == 0, (tmp_path / "stderr.txt").read_text()[-SHOWN_MAX:]


class NoSpark:
    def stop(self) -> None: ...


def test_a_command_that_fails_is_shown_with_what_it_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PRINTED.touch()
    spark: Any = NoSpark()
    block = Block(7, "sh", "moldau pipeline run nothing.toml --once")
    with pytest.raises(AssertionError) as raised:
        Documents(spark).take(tmp_path / "some.md", block, {}, {})
    told = str(raised.value)
    assert "some.md, line 7: 'moldau pipeline run nothing.toml --once' ended with 1" in told
    assert "--- told on stderr:\nmoldau: nothing.toml cannot be read: No such file or directory\nTraceback" in told
