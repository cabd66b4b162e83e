"""Whole clusters in one process, in virtual time, on a network in memory: the same seed, the same run.

Nouns: `SimulatedLoop` (an asyncio loop whose clock jumps), `SimulatedNetwork` (named hosts, latency,
partitions, pauses, crashes), `Host` (whose code runs in whose name), `Trace` (what happened, and its
digest), `simulate` (runs a coroutine in all of that).
Invariants: no real time, no real socket and no thread is involved; every choice is drawn from the seed;
nothing waits forever unnoticed (a deadlock and a run past its virtual time are errors that say who waits
where).
May import: `base` alone. Code under test uses `loop.create_server`, `loop.create_connection`, timers and
`run_in_executor` as always.
"""

from __future__ import annotations

from moldau.testing.simulation.host import Host
from moldau.testing.simulation.loop import SimulatedLoop, SimulationFailed
from moldau.testing.simulation.network import NetworkConditions, SimulatedNetwork
from moldau.testing.simulation.run import simulate
from moldau.testing.simulation.trace import Trace

__all__ = [
    "Host",
    "NetworkConditions",
    "SimulatedLoop",
    "SimulatedNetwork",
    "SimulationFailed",
    "Trace",
    "simulate",
]
