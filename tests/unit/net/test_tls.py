"""TLS on both sides: the same frames, and no connection with whom the certificate does not speak for."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path
from shutil import which
from typing import NamedTuple

import pytest

from moldau.base.errors import ConnectFailed
from moldau.net.client_options import ClientOptions
from moldau.net.connect import connect
from moldau.net.server import Listener, Server
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.net.fake_broker import FakeBroker
from tests.unit.net.harness import RawClient, Run, echo, run_on_asyncio, run_on_uvloop, started, until

pytestmark = pytest.mark.skipif(which("openssl") is None, reason="makes its certificate with the openssl command")


class Contexts(NamedTuple):
    """One side that serves with a certificate, one that trusts it."""

    serving: ssl.SSLContext
    asking: ssl.SSLContext


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    folder: Path = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    return Contexts(serving, ssl.create_default_context(cafile=str(certificate)))


@pytest.mark.parametrize("run", [run_on_uvloop, run_on_asyncio], ids=["uvloop", "asyncio"])
def test_a_tls_listener_speaks_the_same_frames(contexts: Contexts, run: Run) -> None:
    async def main() -> None:
        server = await started(Server([Listener("SSL", "127.0.0.1", 0, contexts.serving)], echo))
        loop = asyncio.get_running_loop()
        _transport, client = await loop.create_connection(RawClient, *server.addresses["SSL"], ssl=contexts.asking)
        requests = [b"a", b"b" * 500_000, b"c"]
        client.send(*requests)
        await until(lambda: len(client.frames()) == 3)
        assert client.frames() == requests
        assert await server.drain(1000) == 0

    run(main)


@pytest.mark.parametrize("run", [run_on_uvloop, run_on_asyncio], ids=["uvloop", "asyncio"])
def test_a_client_connects_over_tls(contexts: Contexts, run: Run) -> None:
    async def main() -> None:
        server = await started(Server([Listener("SSL", "127.0.0.1", 0, contexts.serving)], FakeBroker()))
        connection = await connect(*server.addresses["SSL"], ClientOptions(tls=contexts.asking))
        assert await connection.request(HeartbeatRequest()) == HeartbeatResponse()
        connection.close()
        await until(lambda: server.connections == 0)

    run(main)


def test_a_certificate_nobody_trusts_or_of_another_name_is_connect_failed(contexts: Contexts) -> None:
    async def main() -> None:
        server = await started(Server([Listener("SSL", "127.0.0.1", 0, contexts.serving)], FakeBroker()))
        address = server.addresses["SSL"]
        with pytest.raises(ConnectFailed, match="certificate verify failed"):
            await connect(*address, ClientOptions(tls=ssl.create_default_context()))
        with pytest.raises(ConnectFailed, match="mismatch"):
            await connect(*address, ClientOptions(tls=contexts.asking, tls_server_name="elsewhere"))

    run_on_uvloop(main)


def test_plain_bytes_at_a_tls_listener_get_nowhere(contexts: Contexts) -> None:
    async def main() -> None:
        server = await started(Server([Listener("SSL", "127.0.0.1", 0, contexts.serving)], FakeBroker()))
        with pytest.raises(ConnectFailed):
            await connect(*server.addresses["SSL"])
        assert server.traffic.requests == 0

    run_on_uvloop(main)
