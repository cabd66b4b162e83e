"""Kafka's protocol written out byte by byte, for statements about bytes: no codec of ours, and none of a client's.

Only what the statements need: requests without tagged fields, of the versions that the book describes.
"""

from __future__ import annotations

import socket
from struct import Struct, pack
from types import TracebackType
from typing import Any, NamedTuple, Self

PATIENCE_S = 20.0
NULL = -1

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18


def string(text: str | None) -> bytes:
    """int16 length and the bytes; -1 is null."""
    return pack(">h", NULL) if text is None else pack(">h", len(text)) + text.encode()


class RawConnection:
    """One socket; requests go out as they are given, answers come back as bytes."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._socket.close()

    def send(self, api_key: int, api_version: int, correlation_id: int, body: bytes = b"") -> None:
        payload = pack(">hhi", api_key, api_version, correlation_id) + string("raw") + body
        self.send_bytes(pack(">i", len(payload)) + payload)

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> tuple[int, Reader]:
        """The correlation id of the next answer, and its body."""
        reader = Reader(self._file.read(Reader(self._file.read(4)).int32()))
        return reader.int32(), reader

    def ask(self, api_key: int, api_version: int, body: bytes = b"") -> Reader:
        self.send(api_key, api_version, 1, body)
        return self.receive()[1]

    def is_closed(self) -> bool:
        """Whether the broker has closed it; waits for that."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True


class Reader:
    """The fields of an answer, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._position

    def int16(self) -> int:
        return int(self.fields(">h")[0])

    def int32(self) -> int:
        return int(self.fields(">i")[0])

    def string(self) -> str | None:
        length = self.int16()
        return None if length == NULL else self._take(length).decode()

    def blob(self) -> bytes:
        return self._take(max(self.int32(), 0))

    def fields(self, layout: str) -> tuple[Any, ...]:
        struct = Struct(layout)
        return struct.unpack(self._take(struct.size))

    def _take(self, length: int) -> bytes:
        data = self._data[self._position : self._position + length]
        assert len(data) == length, "the answer is too short"
        self._position += length
        return data


def produce_request(
    topic: str, records: bytes, *, acks: int = 1, version: int = 5, transactional_id: str | None = None
) -> bytes:
    """Produce 0 to 8: a timeout of 30 s, partition 0 alone."""
    head = string(transactional_id) if version >= 3 else b""
    head += pack(">hii", acks, 30_000, 1) + string(topic)
    return head + pack(">iii", 1, 0, len(records)) + records


class Produced(NamedTuple):
    """The answer for one partition in version 5."""

    partition: int
    error_code: int
    base_offset: int
    log_append_time: int
    log_start_offset: int
    throttle_time_ms: int


def read_produced(answer: Reader, topic: str) -> Produced:
    assert (answer.int32(), answer.string(), answer.int32()) == (1, topic, 1)
    fields = answer.fields(">ihqqqi")
    assert answer.left == 0
    return Produced(*fields)


def fetch_request(
    topic: str,
    offset: int = 0,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
) -> bytes:
    """Fetch 5 and 6, as a consumer (replica -1) that reads uncommitted, one partition."""
    head = pack(">iiiibi", -1, max_wait_ms, min_bytes, max_bytes, 0, 1) + string(topic)
    return head + pack(">iiqqi", 1, 0, offset, -1, partition_max_bytes)


def old_fetch_request(topic: str, offset: int = 0) -> bytes:
    """Fetch 0 to 2."""
    return pack(">iiii", -1, 0, 1, 1) + string(topic) + pack(">iiqi", 1, 0, offset, 1 << 20)


class Fetched(NamedTuple):
    """The answer for one partition in versions 5 and 6."""

    error_code: int
    high_watermark: int
    records: bytes


def read_fetched(answer: Reader, topic: str) -> Fetched:
    assert answer.fields(">ii") == (0, 1)  # not throttled, one topic
    assert (answer.string(), answer.int32()) == (topic, 1)
    _, error_code, high_watermark, _, _, aborted = answer.fields(">ihqqqi")
    assert aborted in (0, NULL)
    return Fetched(error_code, high_watermark, answer.blob())


def read_old_fetched(answer: Reader, topic: str, version: int) -> bytes:
    """The message set of one partition in versions 0 to 2."""
    assert answer.fields(">ii" if version else ">i")[-1] == 1
    assert (answer.string(), answer.int32()) == (topic, 1)
    _, error_code, _ = answer.fields(">ihq")
    assert error_code == 0
    return answer.blob()
