"""The books' walk-throughs, typed as they are written there, with Kafka's scripts out of a home that Moldau wrote."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.cli.main import run as moldau
from tests.broker_process import BrokerProcess, free_port
from tests.java_tools import ROOT
from tests.walkthroughs.transcript import run_script
from tests.zookeeper_process import require_zookeeper, zookeeper

FOLDER = Path(__file__).parent
ON_ONE_BROKER = ("programs", "groups", "scripts", "log_anatomy", "offsets_topic")
ON_THREE_BROKERS = ("verification", "topics", "partitions")

SERVER = """broker.id={number}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={data}
zookeeper.connect={connect}
zookeeper.session.timeout.ms=3000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
group.initial.rebalance.delay.ms=0
auto.leader.rebalance.enable=false
log.segment.delete.delay.ms=100
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What `moldau kafka-home` writes, and a place for what programs say."""
    assert moldau(["kafka-home", str(tmp_path / "kafka")]) == 0
    (tmp_path / "kafka" / "logs").mkdir()
    return tmp_path / "kafka"


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python` is this one, and finds the examples."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def end_all(home: Path) -> None:
    """Whatever a script has left behind, by the process ids that it wrote down."""
    for path in (home / "logs").glob("*.pid"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_ONE_BROKER)
def test_on_one_broker(name: str, home: Path) -> None:
    broker = BrokerProcess(home / "data", "group.initial.rebalance.delay.ms=0", "offsets.topic.replication.factor=1")
    broker.start()
    try:
        variables = {"BROKER": broker.bootstrap_servers, "DATA": str(home / "data")}
        run_script(FOLDER / f"{name}.sh", home, variables)
    finally:
        end_all(home)
        broker.kill()


@pytest.fixture(scope="module")
def connect() -> Iterator[str]:
    with zookeeper() as ensemble:
        yield ensemble.connect


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_THREE_BROKERS)
def test_on_three_brokers(name: str, home: Path, connect: str) -> None:
    ports = [free_port() for _ in range(3)]
    chroot = f"{connect}/{name}"
    for number, port in enumerate(ports):
        settings = SERVER.format(number=number, port=port, data=home / f"data-{number}", connect=chroot)
        (home / "config" / f"server-{number}.properties").write_text(settings)
    script = home / f"{name}.sh"
    script.write_text(f"for number in 0 1 2; do start_broker $number; done\n\n{(FOLDER / f'{name}.sh').read_text()}")
    addresses = [f"127.0.0.1:{port}" for port in ports]
    variables = {"ZOOKEEPER": chroot, "BROKERS": ",".join(addresses), "BROKER": addresses[0]}
    try:
        run_script(script, home, variables)
    finally:
        end_all(home)


@pytest.mark.java
@pytest.mark.slow
def test_the_quick_start_from_nothing(home: Path) -> None:
    require_zookeeper()
    variables = {"ZOOKEEPER_PORT": str(free_port()), "BROKER_PORT": str(free_port())}
    try:
        run_script(FOLDER / "quick_start.sh", home, variables)
    finally:
        end_all(home)
