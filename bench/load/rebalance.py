"""Rebalances of a stable group: its leader joins again, the others hear it with a heartbeat, and all join and sync.

The time is that from the leader's join to the last answer to a SyncGroup. A client would send its heartbeat after some
seconds; here all send it at once, so that the time is the broker's.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import uvloop

from bench.load.group_members import Member, leave, stable_group
from bench.load.program import Figures, answer
from moldau.base.error_codes import ErrorCode


def rebalance(port: int, group_id: str, members: int, rounds: int) -> Figures:
    return uvloop.run(rebalances(port, group_id, members, rounds))


async def rebalances(port: int, group_id: str, count: int, rounds: int) -> Figures:
    members = await stable_group(port, group_id, count)
    took_ms = [await one(members) for _ in range(rounds)]
    await leave(members)
    return {"rebalance_ms": statistics.median(took_ms)}


async def one(members: list[Member]) -> float:
    """The milliseconds until all members are in the next generation."""
    generation_id = members[0].generation_id
    members.sort(key=lambda member: not member.is_leader)
    started_s = time.perf_counter()
    await asyncio.gather(*(again(member) for member in members))
    took_s = time.perf_counter() - started_s
    assert {member.generation_id for member in members} == {generation_id + 1}
    return took_s * 1e3


async def again(member: Member) -> None:
    while not member.is_leader:
        told = await member.ask(member.heartbeat)
        if told.error_code:
            assert told.error_code == ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode(told.error_code).name
            break
    await member.join_and_sync()


if __name__ == "__main__":
    answer(rebalance)
