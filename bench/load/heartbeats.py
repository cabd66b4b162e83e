"""Heartbeats of many members in groups of a hundred, each member on a connection of its own with one in flight.

The groups are formed with the client connection of ours; the heartbeats are bytes that were encoded once, sent again as
soon as they are answered, so that the client costs little. Every answer has to be free of errors.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time

import uvloop

from bench.load.group_members import Member, leave, stable_group
from bench.load.program import Figures, answer
from bench.load.wire import request_frame
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_response_header
from moldau.protocol.messages.heartbeat import HeartbeatResponse

VERSION = 4
GROUP_SIZE = 100
SETTLE_S = 0.3
SIZE_BYTES = 4
CORRELATION_ID = 7
RECEIVE_BYTES = 4096


def heartbeats(port: int, group_id: str, members: int, seconds: float) -> Figures:
    return uvloop.run(of_groups(port, group_id, members, seconds))


async def of_groups(port: int, group_id: str, members: int, seconds: float) -> Figures:
    names = [f"{group_id}-{number}" for number in range(members // GROUP_SIZE)]
    groups = await asyncio.gather(*(stable_group(port, name, GROUP_SIZE) for name in names))
    per_s = beat(port, [member for group in groups for member in group], seconds)
    for group in groups:
        await leave(group)
    return {"heartbeats_per_s": per_s}


def beat(port: int, members: list[Member], seconds: float) -> float:
    """How many heartbeats a second were answered."""
    connections: dict[int, tuple[socket.socket, bytes]] = {}
    readable = select.epoll()
    for member in members:
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        readable.register(connection.fileno(), select.EPOLLIN)
        connections[connection.fileno()] = connection, request_frame(member.heartbeat, VERSION, CORRELATION_ID)
    for connection, frame in connections.values():
        connection.sendall(frame)
    run(connections, readable, SETTLE_S)
    per_s = run(connections, readable, seconds)
    for connection, _frame in connections.values():
        connection.close()
    return per_s


def run(connections: dict[int, tuple[socket.socket, bytes]], readable: select.epoll, seconds: float) -> float:
    body = encode_response_header(HeartbeatResponse.KEY or 0, VERSION, CORRELATION_ID) + encode(
        HeartbeatResponse(), VERSION
    )
    expected = len(body).to_bytes(SIZE_BYTES, "big") + body
    started_s = time.perf_counter()
    took_s, count = 0.0, 0
    while took_s < seconds:
        for number, _event in readable.poll():
            connection, frame = connections[number]
            answered = connection.recv(RECEIVE_BYTES)
            assert answered == expected, answered
            connection.send(frame)
            count += 1
        took_s = time.perf_counter() - started_s
    return count / took_s


if __name__ == "__main__":
    answer(heartbeats)
