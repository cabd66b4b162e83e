"""Commands as processes that a person ends: Ctrl-C and SIGTERM at any moment are quiet, and nothing is left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from moldau import Admin, Producer

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
END_S_MAX = 20.0

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(address: str) -> Iterator[Start]:
    """A command with its output in pipes; whatever is left of it is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"MOLDAU_BOOTSTRAP_SERVER": address}
        process = subprocess.Popen(
            [BIN / words[0], *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def filled(address: str, topic: str) -> str:
    with Admin(bootstrap_servers=address) as admin, Producer(bootstrap_servers=address) as producer:
        admin.create_topics([topic])
        producer.send(topic, b"one")
    return topic


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_reader_that_is_ended_is_quiet_and_leaves_its_group(
    start: Start, address: str, filled: str, number: signal.Signals, code: int
) -> None:
    for words in (
        ("moldau", "consume", filled, "--follow", "--group", filled),
        (
            "kafka-console-consumer",
            "--bootstrap-server",
            address,
            "--topic",
            filled,
            "--from-beginning",
            "--group",
            "g",
        ),
    ):
        reader = start(*words)
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"one\n"
        reader.send_signal(number)
        _, said = reader.communicate(timeout=END_S_MAX)
        assert reader.returncode == code
        assert said in (b"", b"Processed a total of 1 messages\n")
        with Admin(bootstrap_servers=address) as admin:
            (group,) = admin.describe_consumer_groups([words[-1]]).values()
            assert (group.state, group.members) == ("Empty", ())
            admin.delete_consumer_groups([words[-1]])


def wait_until_taken(pipe: int) -> None:
    """Until nothing is left in a pipe."""
    ends_at = time.monotonic() + END_S_MAX
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]:
        assert time.monotonic() < ends_at, "nobody reads the pipe"
        time.sleep(0.05)


def test_a_writer_that_is_ended_has_written_what_it_took(start: Start, address: str, filled: str) -> None:
    writer = start("moldau", "produce", filled, "--set", "linger.ms=60000")
    assert writer.stdin is not None
    writer.stdin.write(b"two\n")
    writer.stdin.flush()
    wait_until_taken(writer.stdin.fileno())
    time.sleep(1.0)  # from the pipe it comes to the producer, of which nothing is said
    writer.send_signal(signal.SIGINT)
    _, said = writer.communicate(timeout=END_S_MAX)
    assert (writer.returncode, said) == (130, b"")
    reader = start("moldau", "consume", filled)
    assert reader.communicate(timeout=END_S_MAX)[0] == b"one\ntwo\n"


def test_top_draws_on_a_terminal_until_it_is_ended(address: str, filled: str) -> None:
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"}
    command = [str(BIN / "moldau"), "top", "--interval", "0.2", "--rows", "100", "--bootstrap-server", address]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    drawn = b""
    readable = select.poll()  # unlike `select` it takes descriptors from 1024 on, which a long run of tests has
    readable.register(leader, select.POLLIN)
    try:
        ends_at = time.monotonic() + END_S_MAX
        while b"WRITTEN/S" not in drawn and time.monotonic() < ends_at:
            if readable.poll(200):
                drawn += os.read(leader, 65536)
        assert b"records written a second" in drawn
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # how a terminal ends; nobody reading it would let the command wait for ever
            while process.poll() is None and time.monotonic() < ends_at:
                if readable.poll(100):
                    drawn += os.read(leader, 65536)
        assert process.wait(END_S_MAX) == 0
        assert b"Traceback" not in drawn
    finally:
        process.kill()
        process.wait()
        os.close(leader)
