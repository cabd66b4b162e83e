"""What is there so far, at work: `make demo`.

A server answers which requests it serves, to our own client connection; a log in Kafka's format takes a million records
in each codec, is closed, opened again and read back.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import uvloop

from moldau.base.clock import SystemClock
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import all_registrations
from moldau.net.connect import connect
from moldau.net.server import Listener, Server
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches
from moldau.storage.disk_files import DiskFiles
from moldau.storage.log import Log
from moldau.storage.log_loading import load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_reading import find_slice
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

RECORDS = 1_000_000
BATCH_RECORDS = 500
FETCH_BYTES = 1 << 20


class Node:
    """As much of a broker as there is: handlers."""

    def __init__(self) -> None:
        self.registrations = all_registrations()


async def show_server() -> None:
    node = Node()
    server = Server([Listener("PLAINTEXT", "127.0.0.1", 0)], Dispatcher(node, node.registrations))
    await server.start()
    host, port = server.addresses["PLAINTEXT"]
    print(f"a server listens on {host}:{port}")
    connection = await connect(host, port)
    request = ApiVersionsRequest(client_software_name="demo", client_software_version="1")
    answer: ApiVersionsResponse = await connection.request(request)
    for api in answer.api_keys:
        print(f"  it serves {ApiKey(api.api_key).title} {api.min_version} to {api.max_version}")
    connection.close("the demo is over")
    await server.drain(1000)


def show_log(directory: Path, codec: CompressionType) -> None:
    log = open_log(directory, codec, clean=False)
    value = b"the quick brown fox jumps over the lazy dog, again and again and again, and so do all its friends, "
    batch = build_batch(
        [Record(n, 1_700_000_000_000 + n, b"key-%d" % (n % 50), value) for n in range(BATCH_RECORDS)], codec
    )
    started = time.perf_counter()
    for _ in range(RECORDS // BATCH_RECORDS):
        log.append_as_leader(bytearray(batch), leader_epoch=0)
    log.close()
    written = time.perf_counter()
    log = open_log(directory, codec, clean=True)
    opened = time.perf_counter()
    count = read(log)
    ended = time.perf_counter()
    assert count == RECORDS
    print(
        f"  {codec.name.lower():6} {log.size_bytes / 1e6:6.1f} MB  written and on disk in {written - started:.2f} s, "
        f"opened in {(opened - written) * 1e3:.1f} ms, {count:,} records read and checked in {ended - opened:.2f} s"
    )


def open_log(directory: Path, codec: CompressionType, *, clean: bool) -> Log:
    files = OpenFiles(DiskFiles(), limit=100)
    place = LogPlace(directory / f"{codec.name.lower()}-0", codec.name, 0, files, SystemClock(), random.Random())
    return load_log(place, LogSettings(), clean=clean)


def read(log: Log) -> int:
    """Read as a consumer does; every hundredth batch is decoded."""
    offset = count = 0
    while piece := find_slice(log, offset, log.log_end_offset, FETCH_BYTES):
        for index, batch in enumerate(batches(piece.read())):
            batch.check()
            if index % 100 == 0:
                assert read_batch(batch)[0].offset == batch.base_offset
            count += batch.count
            offset = batch.next_offset
    return count


def main() -> None:
    uvloop.run(show_server())
    with tempfile.TemporaryDirectory(prefix="moldau-demo-") as folder:
        print(f"logs in Kafka's format, {RECORDS:,} records each")
        for codec in CompressionType:
            show_log(Path(folder), codec)
        kept = sorted(path.name for path in (Path(folder) / "none-0").iterdir())
        print(f"  the files of one: {' '.join(kept)}")


if __name__ == "__main__":
    main()
