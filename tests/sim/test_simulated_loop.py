"""Virtual time: exact, repeatable, and never stuck without saying so."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import pytest

from moldau.testing.simulation import Host, SimulatedLoop, SimulatedNetwork, SimulationFailed, simulate


def test_an_hour_passes_in_no_time_and_to_the_microsecond() -> None:
    async def main(network: SimulatedNetwork) -> list[float]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        woken = []

        async def sleeper(delay_s: float) -> None:
            await asyncio.sleep(delay_s)
            woken.append(loop.time() - started)

        await asyncio.gather(*(sleeper(delay_s) for delay_s in (3599.0, 0.001, 60.0, 59.999)))
        return woken

    began = time.perf_counter()
    assert simulate(main, 0) == pytest.approx([0.001, 59.999, 60.0, 3599.0], abs=1e-9)
    assert time.perf_counter() - began < 5.0


def test_timeouts_and_cancellation_work_as_ever() -> None:
    async def main(network: SimulatedNetwork) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await loop.create_future()
        assert loop.time() - started == pytest.approx(5)
        timer = loop.call_later(1, pytest.fail, "it was cancelled")
        timer.cancel()
        await asyncio.sleep(2)

    simulate(main, 0)


def test_work_for_an_executor_takes_virtual_time() -> None:
    def work(argument: int) -> int:
        if argument < 0:
            raise ValueError("negative")
        return 2 * argument

    async def main(network: SimulatedNetwork) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        assert await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(5))) == [0, 2, 4, 6, 8]
        assert 0 < loop.time() - started < 1
        with pytest.raises(ValueError, match="negative"):
            await loop.run_in_executor(None, work, -1)

    simulate(main, 3)


def test_a_deadlock_says_who_waits_and_where() -> None:
    async def waits_for_nobody() -> None:
        await asyncio.get_running_loop().create_future()

    async def main(network: SimulatedNetwork) -> None:
        await asyncio.gather(asyncio.create_task(waits_for_nobody(), name="the stuck one"))

    with pytest.raises(SimulationFailed, match="deadlock") as raised:
        simulate(main, 0)
    assert "the stuck one" in str(raised.value)
    assert "waits_for_nobody (test_simulated_loop.py:" in str(raised.value)
    assert "seed 0" in "".join(raised.value.__notes__)


def test_a_run_past_its_time_ends() -> None:
    async def main(network: SimulatedNetwork) -> None:
        for _ in itertools.count():
            await asyncio.sleep(1)

    with pytest.raises(SimulationFailed, match="used up at 1011"):
        simulate(main, 0, time_limit_s=10.5)


def test_a_loop_in_which_no_time_passes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moldau.testing.simulation.loop.CALLBACKS_PER_MOMENT_MAX", 1000)

    async def main(network: SimulatedNetwork) -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    with pytest.raises(SimulationFailed, match="no time passes"):
        simulate(main, 0)


def test_a_callback_that_fails_unseen_fails_the_run() -> None:
    async def main(network: SimulatedNetwork) -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(ZeroDivisionError):
        simulate(main, 0)


def order_of(seed: int, hosts: list[str], *, shuffled: bool = False) -> list[tuple[str, int]]:
    async def main(network: SimulatedNetwork) -> list[tuple[str, int]]:
        order: list[tuple[str, int]] = []
        loop = asyncio.get_running_loop()

        async def put(host: str) -> None:
            for number in range(10):
                loop.call_soon(order.append, (host, number))

        for host in hosts:
            network.host(host).run(put(host))
        await asyncio.sleep(1)
        return order

    return simulate(main, seed, shuffled=shuffled)


def test_hosts_take_turns_by_the_seed_and_each_keeps_its_order() -> None:
    orders = {seed: order_of(seed, ["a", "b"]) for seed in range(10)}
    assert len(set(map(tuple, orders.values()))) == 10
    for order in orders.values():
        for host in ("a", "b"):
            assert [number for name, number in order if name == host] == list(range(10))
    assert orders == {seed: order_of(seed, ["a", "b"]) for seed in range(10)}


def test_a_shuffled_loop_keeps_no_order_at_all() -> None:
    orders = {tuple(order_of(seed, ["a"], shuffled=True)) for seed in range(10)}
    assert len(orders) > 5
    assert {tuple(order_of(seed, ["a"])) for seed in range(10)} == {tuple(("a", number) for number in range(10))}


def test_timers_run_in_the_order_of_their_times() -> None:
    async def main(network: SimulatedNetwork) -> list[int]:
        order: list[int] = []
        for number in range(100):
            asyncio.get_running_loop().call_later((number * 37 % 100) / 1000, order.append, number * 37 % 100)
        await asyncio.sleep(1)
        return order

    assert simulate(main, 9) == list(range(100))


def test_nothing_is_left_behind() -> None:
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("generator")

    async def forever(name: str) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            closed.append(name)

    async def main(network: SimulatedNetwork) -> None:
        network.host("paused").run(forever("paused"))
        network.host("dead").run(forever("dead"))
        network.host("alive").run(forever("alive"))
        await asyncio.sleep(1)
        network.pause("paused")
        network.crash("dead")
        async for _ in numbers():
            break

    simulate(main, 0)
    assert sorted(closed) == ["alive", "dead", "generator", "paused"]


def test_who_looks_on_hears_who_ran_and_may_end_the_run() -> None:
    ran: list[str] = []

    def look(hosts: Iterable[Host | None]) -> None:
        ran.extend(host.name for host in hosts if host is not None)
        assert len(ran) < 3, "seen enough"

    async def tick() -> None:
        for _ in range(10):
            await asyncio.sleep(1)

    async def main(network: SimulatedNetwork) -> None:
        network.loop.on_turn = look
        await asyncio.gather(network.host("a").run(tick()), network.host("b").run(tick()))

    with pytest.raises(AssertionError, match="seen enough"):
        simulate(main, 1)
    assert set(ran) == {"a", "b"}


def test_what_fails_when_it_is_cancelled_and_starts_again_is_ended_as_well() -> None:
    starts: list[int] = []

    async def stubborn() -> None:
        while len(starts) < 3:
            starts.append(len(starts))
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    async def main(network: SimulatedNetwork) -> None:
        network.host("a").run(stubborn())
        await asyncio.sleep(1)

    simulate(main, 1)
    assert len(starts) == 3


def test_the_time_is_never_zero() -> None:
    loop = SimulatedLoop(0)
    assert loop.time() > 0
    loop.close()
