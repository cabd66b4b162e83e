"""Mutated requests against a real server: it answers or closes, serves everybody else, and grows no larger.

20,000 frames in the ordinary tests; `make fuzz` sends a million. The seed is printed, MOLDAU_FUZZ_SEED sets it.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.protocol.api import ApiKey
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import encode_request_header
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.fuzz.mutations import framed, misframed, mutate, valid_requests

FRAMES = int(os.environ.get("MOLDAU_FUZZ_FRAMES", "20000"))
SEED = int(os.environ.get("MOLDAU_FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
PIPELINE = 50
PATIENCE_S = 20.0
MEMORY_GROWTH_KIB_MAX = 16 * 1024


class FuzzedServer:
    """The server in a process of its own, and what it logs."""

    def __init__(self, log: Path, *limits: str) -> None:
        self.log = log
        with log.open("wb") as stderr:
            command = [sys.executable, "-m", "tests.fuzz.every_api_server", *limits]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, bufsize=1
            )
        self.port = self._number()

    def _number(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def memory_kib(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        return self._number()

    def connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def __enter__(self) -> FuzzedServer:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            assert self.process.wait(PATIENCE_S) == 0, self.log.read_text()[-2000:]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FuzzedServer]:
    with FuzzedServer(tmp_path / "log") as running:
        yield running


def answers(connection: socket.socket, wanted: int) -> int:
    """How many answers come, at most as many as wanted, before the server closes the connection."""
    data = b""
    seen = 0
    while seen < wanted:
        try:
            chunk = connection.recv(1 << 16)
        except ConnectionError:
            return seen
        if not chunk:
            return seen
        data += chunk
        while len(data) >= 4 and len(data) >= 4 + (size := struct.unpack_from(">i", data)[0]):
            data = data[4 + size :]
            seen += 1
    return seen


def send_all(server: FuzzedServer, requests: list[bytes]) -> None:
    """Send every request and see it answered or the connection closed; go on after the one that closed it."""
    done = 0
    while done < len(requests):
        with server.connect() as connection:
            with contextlib.suppress(ConnectionError):  # closed while more was sent; the answers tell how far it got
                connection.sendall(b"".join(map(framed, requests[done:])))
            done += min(answers(connection, len(requests) - done) + 1, len(requests) - done)


class Witness(threading.Thread):
    """Another client, whose valid requests must all be answered while the bad ones rain down."""

    def __init__(self, server: FuzzedServer) -> None:
        super().__init__()
        self.connection = server.connect()
        self.ended = threading.Event()
        self.answered = 0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self._ask()
        except Exception as error:
            self.error = error

    def _ask(self) -> None:
        header = encode_request_header(ApiKey.HEARTBEAT, 4, self.answered, "witness")
        self.connection.sendall(framed(header + encode(HeartbeatRequest(group_id="g"), 4)))
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            chunk = self.connection.recv(4096)
            if not chunk:
                raise ConnectionError("the server closed a connection that did nothing wrong")
            data += chunk
        assert struct.unpack_from(">i", data, 4) == (self.answered,)
        assert decode(HeartbeatResponse, 4, data, 9) == HeartbeatResponse()
        self.answered += 1
        self.ended.wait(0.001)


@pytest.mark.slow
def test_mutated_requests_are_answered_or_refused_and_nobody_else_notices(
    server: FuzzedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(SEED)
    valid = valid_requests(SEED)
    send_all(server, valid)
    witness = Witness(server)
    witness.start()
    sent, memory = 0, 0
    while sent < FRAMES:
        send_all(server, [mutate(rng.choice(valid), valid, rng) for _ in range(PIPELINE)])
        with server.connect() as connection:
            connection.sendall(misframed(rng.choice(valid), rng))
        sent += PIPELINE + 1
        if not memory and sent * 4 >= FRAMES:
            memory = server.memory_kib()
    growth = server.memory_kib() - memory
    witness.ended.set()
    witness.join(PATIENCE_S)
    witness.connection.close()
    log = server.log.read_text(errors="replace")
    with capsys.disabled():
        print(f"\n{sent} mutated frames, seed {SEED}: {witness.answered} valid requests answered meanwhile, "
              f"memory {memory} KiB {growth:+d} KiB, {log.count(chr(10))} lines of log")  # fmt: skip
    assert witness.error is None
    assert witness.answered > 0
    assert growth < MEMORY_GROWTH_KIB_MAX
    assert "Traceback" not in log
    assert {line.split(" ", 1)[0] for line in log.splitlines()} <= {"WARNING"}, log[-2000:]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (struct.pack(">i", 2**31 - 1), "request size 2147483647, allowed are 1 to"),
        (struct.pack(">i", -5), "request size -5, allowed are 1 to"),
        (struct.pack(">i", 0), "request size 0, allowed are 1 to"),
        (framed(struct.pack(">hhih", 3, 1, 7, -1) + struct.pack(">i", 2**31 - 1)), "length 2147483647 does not fit"),
        (framed(struct.pack(">hhih", 999, 0, 7, -1)), "API 999 version 0 was sent"),
        (framed(struct.pack(">hhih", 1, 99, 7, -1) + b"\0"), "Fetch version 99 was sent, but versions 0-18 is served"),
    ],
)
def test_a_hostile_frame_closes_its_connection_and_the_log_says_why(
    server: FuzzedServer, payload: bytes, why: str
) -> None:
    with server.connect() as connection:
        connection.sendall(payload)
        assert connection.recv(100) == b""
    log = server.log.read_text()
    assert why in log
    assert log.count("\n") == 1


@pytest.mark.slow
def test_a_half_frame_held_open_costs_nothing_and_is_closed_when_idle(tmp_path: Path) -> None:
    with FuzzedServer(tmp_path / "log", "connection_idle_ms_max=500") as server:
        before = server.memory_kib()
        held = [server.connect() for _ in range(50)]
        for connection in held:
            connection.sendall(struct.pack(">i", 100_000_000) + b"half a frame")
        assert server.memory_kib() - before < 8 * 1024
        for connection in held:
            assert connection.recv(100) == b""
            connection.close()
