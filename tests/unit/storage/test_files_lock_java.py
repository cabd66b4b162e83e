"""Apache Kafka's lock on a log directory is a JVM's FileLock: it and ours keep each other out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moldau.storage.disk_files import DiskFiles
from tests.java_tools import require_java, run_java

LOCK_FILE_JAVA = """
import java.nio.channels.FileChannel;
import java.nio.file.*;

public class LockFile {
    public static void main(String[] args) throws Exception {
        FileChannel channel = FileChannel.open(
            Path.of(args[0]), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        System.out.println(channel.tryLock() == null ? "locked" : "taken");
        System.out.flush();
        System.in.read();
    }
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    require_java()
    source = tmp_path / "LockFile.java"
    source.write_text(LOCK_FILE_JAVA)
    return source


@pytest.mark.slow
@pytest.mark.java
def test_a_jvm_finds_our_lock(source: Path, tmp_path: Path) -> None:
    lock = DiskFiles().lock(tmp_path / ".lock")
    assert lock is not None
    assert run_java(source, tmp_path, str(tmp_path / ".lock")).strip() == "locked"
    lock.release()
    assert run_java(source, tmp_path, str(tmp_path / ".lock")).strip() == "taken"


@pytest.mark.slow
@pytest.mark.java
def test_we_find_the_lock_of_a_jvm(source: Path, tmp_path: Path) -> None:
    command = ["java", str(source), str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"taken"
        assert DiskFiles().lock(tmp_path / ".lock") is None
        process.communicate(b"\n")
    lock = DiskFiles().lock(tmp_path / ".lock")
    assert lock is not None
    lock.release()
