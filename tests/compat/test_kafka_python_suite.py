"""kafka-python's own integration tests, unmodified, against one broker: once as each of four versions of Kafka.

The tests come in its source distribution, which is fetched from PyPI by name and version, once, into `build/sdists`.
They run in a process of their own (`kafka_python_plugin.py`), with the client of that distribution.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.broker_process import BrokerProcess
from tests.compat.kafka_python_plugin import left_out

ROOT = Path(__file__).parent.parent.parent
SDISTS = ROOT / "build" / "sdists"
VERSION = "3.0.12"
SUITE_S_MAX = 100
ATTEMPTS_MAX = 3
SASL_TESTS = 9
SASL = "Testing on external Kafka Broker"  # the suite's own words for leaving them out

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def suite() -> Path:
    """The unpacked source distribution."""
    folder = SDISTS / f"kafka_python-{VERSION}"
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--dest", str(SDISTS), f"kafka-python=={VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SUITE_S_MAX, check=False)
        if done.returncode:
            reason = f"needs PyPI: {done.stderr.strip()[-200:]}"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        with tarfile.open(SDISTS / f"kafka_python-{VERSION}.tar.gz") as archive:
            archive.extractall(SDISTS, filter="data")
    return folder


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = ("num.partitions=4", "group.min.session.timeout.ms=500", "group.initial.rebalance.delay.ms=0")
    process = BrokerProcess(tmp_path_factory.mktemp("suite") / "data", *settings)
    process.start()
    yield process
    process.kill()


def run_suite(suite: Path, broker: BrokerProcess, kafka_version: str, report: Path) -> None:
    """Run everything, and write a report in JUnit's format."""
    environment = {
        **os.environ,
        "KAFKA_URI": f"kafka://{broker.bootstrap_servers}",
        "KAFKA_VERSION": kafka_version,
        "KAFKA_ROOT": str(suite),  # must exist; nothing is started from there
        "PYTHONPATH": os.pathsep.join([str(suite), str(ROOT)]),
    }
    plugins = ["no:randomly", "no:cacheprovider", "no:moldau", "tests.compat.kafka_python_plugin"]
    command = [sys.executable, "-m", "pytest", "--import-mode=importlib", "--timeout=60", f"--junit-xml={report}"]
    command += ["--override-ini=addopts=", "--override-ini=log_level=WARNING", "--tb=short"]
    command += [f"-p{plugin}" for plugin in plugins]
    command.append("test/integration")
    done = subprocess.run(
        command, cwd=suite, env=environment, capture_output=True, text=True, timeout=SUITE_S_MAX, check=False
    )
    assert report.exists(), done.stdout[-8000:] + done.stderr[-2000:]


def outcomes_in(report: Path) -> tuple[Counter[str], dict[str, str]]:
    """How many tests came to which end, and why each skipped one was skipped."""
    counts: Counter[str] = Counter()
    skipped = {}
    for case in ElementTree.parse(report).iter("testcase"):
        ends = [end for end in case if end.tag in ("failure", "error", "skipped")]
        counts[ends[0].tag if ends else "passed"] += 1
        if ends and ends[0].tag == "skipped":
            module, *classes = case.attrib["classname"].removeprefix("test.integration.").split(".")
            name = "::".join([f"{module}.py", *classes, case.attrib["name"]])
            skipped[name] = ends[0].attrib["message"]
    return counts, skipped


@pytest.mark.parametrize(
    ("kafka_version", "passed", "too_new_or_too_old"),
    [
        ("4.3.0", 52, 1),
        ("3.9.1", 49, 4),
        ("1.1.1", 44, 9),
        ("0.10.2.0", 25, 28),
    ],
)
def test_all_passes_but_security_and_kraft(
    suite: Path, broker: BrokerProcess, tmp_path: Path, kafka_version: str, passed: int, too_new_or_too_old: int
) -> None:
    report = tmp_path / "report.xml"
    # A consumer of kafka-python forgets a topic that is subscribed to while a metadata request is under way, and then
    # waits in vain (`update_metadata` takes back the wish for another one). It happens once in some hundred tests.
    for _ in range(ATTEMPTS_MAX - 1):
        run_suite(suite, broker, kafka_version, report)
        if not outcomes_in(report)[0]["failure"]:
            break
    else:
        run_suite(suite, broker, kafka_version, report)
    counts, skipped = outcomes_in(report)
    ours = left_out(kafka_version)
    assert counts == {"passed": passed, "skipped": too_new_or_too_old + len(ours) + SASL_TESTS}, report.read_text()
    assert {name: reason for name, reason in skipped.items() if name in ours} == ours
    assert Counter(skipped.values())[SASL] == SASL_TESTS
