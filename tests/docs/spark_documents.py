"""The documents of pipelines as scripts, in one process with one Spark: `python -m tests.docs.spark_documents NAME …`.

Spark takes seconds to start and to warm up, so all programs of all documents share a session, and the commands that
would start one run in this process too; the others are the shell's. Each document has clusters of its own on the ports
that it names. Conventions are those of `document`. It runs in the folder where it is started, and ends with the first
block that does not do what its document says.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from bench.spark_jvm import connector_jars
from moldau.cli import main as moldau_command
from moldau.cli.kafka.mirror_maker import main as kafka_mirror_maker
from moldau.pipeline.jobs.session import JAVA_OPTIONS, settings_for, start_session
from moldau.testing.local_cluster import LocalCluster
from tests.docs.document import Block, agree, blocks_of, with_ports
from tests.java_tools import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
PORTS = ("9092", "9093")
PRINTED = Path("printed.txt")
COMMAND_S_MAX = 60
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
NEED_SPARK = ("moldau pipeline check ", "moldau pipeline run ", "kafka-mirror-maker ")


class Documents:
    """Runs documents, one after the other; whatever is printed goes into a file."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._read = 0

    def run(self, path: Path) -> None:
        with ExitStack() as stack:
            clusters = {port: stack.enter_context(LocalCluster()) for port in PORTS}
            ports = {port: each.bootstrap_servers.rpartition(":")[2] for port, each in clusters.items()}
            os.environ["MOLDAU_BOOTSTRAP_SERVER"] = clusters[PORTS[0]].bootstrap_servers
            names: dict[str, object] = {"__name__": path.stem}
            blocks = blocks_of(path.read_text())
            for block, following in zip(blocks, [*blocks[1:], None], strict=True):
                self.take(path, block, names, ports)
                printed = self._printed()
                if block.is_run and following is not None and following.language == "text":
                    expected = with_ports(following.text, ports)
                    shown = f"{block.text}\n--- printed:\n{printed}\n--- expected:\n{expected}"
                    assert agree(printed, expected), f"{path.name}, line {block.line}:\n{shown}"

    def take(self, path: Path, block: Block, names: dict[str, object], ports: dict[str, str]) -> None:
        text = with_ports(block.text, ports)
        if block.file is not None:
            with Path(block.file).open("a" if block.is_added else "w") as file:
                file.write(f"{text}\n")
        elif block.is_run and block.language == "python":
            exec(compile("\n" * block.line + text, str(path), "exec"), names)
        elif block.is_run:
            for line in _commands(text):
                code, told = self._command(line)
                if code != 0:
                    shown = f"--- printed:\n{self._printed()}\n--- told on stderr:\n{told}"
                    raise AssertionError(f"{path.name}, line {block.line}: {line!r} ended with {code}\n{shown}")

    def _command(self, line: str) -> tuple[int, str]:
        """Its exit code, and what it told on stderr, if that is not among what was printed."""
        if not line.startswith(NEED_SPARK):
            shell = subprocess.run(["bash", "-c", f"{{ {line}\n}} 2>&1"], check=False, timeout=COMMAND_S_MAX)
            return shell.returncode, ""
        program, *words = [*shlex.split(line, comments=True), "--debug"]  # who reads of a failure needs its stack
        told = StringIO()
        # The session is for all of them.
        with patch.object(type(self._spark), "stop"), redirect_stderr(told):
            code = moldau_command.run(words) if program == "moldau" else kafka_mirror_maker(words)
        return code, told.getvalue()

    def _printed(self) -> str:
        """What was printed since this was last asked."""
        sys.stdout.flush()
        text = PRINTED.read_bytes()[self._read :]
        self._read += len(text)
        return text.decode()


def _commands(text: str) -> Iterator[str]:
    yield from (line for line in text.replace("\\\n", "").splitlines() if line.strip())


def main(names: list[str]) -> int:
    with PRINTED.open("wb") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    jars = ",".join(map(str, connector_jars()))  # format("kafka"), which is what people come from
    settings = {"spark.driver.memory": "1g", "spark.jars": jars, JAVA_OPTIONS: QUICK_JAVA}
    documents = Documents(start_session("documents", MASTER, settings_for(MASTER, ".", settings)))
    for name in names:
        try:
            documents.run(ROOT / "docs" / f"{name}.md")
        except Exception:
            traceback.print_exc()
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
