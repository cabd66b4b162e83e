"""Drivers over a real broker: restarts, seconds, retries, leftovers and timeouts, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from moldau import Admin
from moldau.base.errors import MoldauError
from moldau.pipeline.link import close_links
from moldau.pipeline.options import Options
from moldau.pipeline.sink.driver_side import DriverSide
from moldau.pipeline.sink.effects import Decide, Effect, EndAll, MarkDone
from moldau.pipeline.sink.errors import BatchTooOld, CheckpointTooOld, SinkFenced, TransactionsLost
from moldau.pipeline.sink.settings import SinkSettings, sink_settings
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.testing.local_cluster import LocalCluster
from tests.spark.sink.writing import Driver, records_of, values_of

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _links() -> Iterator[None]:
    yield
    close_links()


@pytest.fixture
def settings(cluster: LocalCluster, topic: str) -> SinkSettings:
    cluster.create_topic(topic, 2)
    return settings_of(cluster, topic)


def settings_of(cluster: LocalCluster, topic: str, **options: str) -> SinkSettings:
    given = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "topic": topic, "sinkId": topic, **options}
    return sink_settings(Options(given), is_batch=False)


class Stopped(Exception):
    """Instead of kill -9: nothing of the driver runs after it."""


def stop_at(monkeypatch: pytest.MonkeyPatch, is_there: Callable[[Effect], bool], *, after: bool) -> None:
    """Let the next driver die before or after a step."""
    perform = DriverSide.perform

    async def stopping(side: DriverSide, effect: Effect) -> object:
        if is_there(effect) and not after:
            raise Stopped
        answer = await perform(side, effect)
        if is_there(effect):
            raise Stopped
        return answer

    monkeypatch.setattr(DriverSide, "perform", stopping)


def open_transactions(cluster: LocalCluster, settings: SinkSettings) -> list[str]:
    answer = cluster.request(ListTransactionsRequest(state_filters=["Ongoing"]))
    listed = [each.transactional_id for each in answer.transaction_states]
    return [each for each in listed if each.startswith(settings.name + ".")]


def test_batches_follow_each_other_under_the_same_ids(
    cluster: LocalCluster, settings: SinkSettings, topic: str
) -> None:
    driver = Driver(settings)
    written = [driver.batch(number, [f"a{number}"], [f"b{number}"]) for number in range(4)]
    assert values_of(cluster.bootstrap_servers, topic) == sorted(
        f"{side}{number}" for side in "ab" for number in range(4)
    )
    ids = {each.transaction.transactional_id for batch in written for each in batch if each.transaction is not None}
    assert len(ids) == 2
    assert not open_transactions(cluster, settings)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", [Decide, EndAll, MarkDone])
def test_a_driver_dies_in_its_commit(
    cluster: LocalCluster,
    settings: SinkSettings,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    step: type[Effect],
    after: bool,
) -> None:
    first = Driver(settings)
    first.batch(0, ["0a"], ["0b"])
    with monkeypatch.context() as patched:
        stop_at(patched, lambda effect: isinstance(effect, step), after=after)
        with pytest.raises(Stopped):
            first.batch(1, ["1a"], ["1b"])
    second = Driver(settings)
    again = second.batch(1, ["1a"], ["1b"])
    decided = (step, after) != (Decide, False)
    assert all(each.skipped == decided for each in again)
    second.batch(2, ["2a"], ["2b"])
    assert values_of(cluster.bootstrap_servers, topic) == ["0a", "0b", "1a", "1b", "2a", "2b"]
    assert not open_transactions(cluster, settings)


def test_an_attempt_that_nobody_knows_is_fenced(cluster: LocalCluster, settings: SinkSettings, topic: str) -> None:
    driver = Driver(settings)
    plan = driver.plan()
    lost = driver.attempt(plan, 0, ["lost"])
    kept = [driver.attempt(plan, 0, ["kept"])]
    assert lost.transaction is not None
    assert lost.transaction.transactional_id in open_transactions(cluster, settings)
    driver.commit(kept, 0)
    assert not open_transactions(cluster, settings)
    assert values_of(cluster.bootstrap_servers, topic) == ["kept"]


def test_leftovers_of_a_dead_driver_are_fenced_at_the_start(
    cluster: LocalCluster, settings: SinkSettings, topic: str
) -> None:
    first = Driver(settings)
    first.attempt(first.plan(), 0, ["lost"])
    assert open_transactions(cluster, settings)
    second = Driver(settings)
    second.plan()
    assert not open_transactions(cluster, settings)
    assert records_of(cluster.bootstrap_servers, topic) == []


def test_a_second_driver_takes_over(cluster: LocalCluster, settings: SinkSettings, topic: str) -> None:
    first, second = Driver(settings), Driver(settings)
    plan = first.plan()
    written = [first.attempt(plan, 0, ["first"])]
    second.batch(0, ["second"])
    with pytest.raises((SinkFenced, BatchTooOld), match=f"sink {topic}|another driver"):
        first.commit(written, 0)
    assert first.side.abort(written, 0)
    assert values_of(cluster.bootstrap_servers, topic) == ["second"]


def test_the_one_that_is_fenced_is_told_why(cluster: LocalCluster, settings: SinkSettings, topic: str) -> None:
    first, second = Driver(settings), Driver(settings)
    plan = first.plan()
    second.plan()
    written = [first.attempt(plan, 0, ["first"])]
    with pytest.raises(SinkFenced, match=rf"sink {topic} \(sinkId={topic}\): another driver has taken it over"):
        first.commit(written, 0)
    first.side.abort(written, 0)
    assert records_of(cluster.bootstrap_servers, topic) == []
    assert not open_transactions(cluster, settings)


def test_abort_leaves_alone_what_was_decided(
    cluster: LocalCluster, settings: SinkSettings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(settings)
    plan = driver.plan()
    written = [driver.attempt(plan, 0, ["row"])]
    with monkeypatch.context() as patched:
        stop_at(patched, lambda effect: isinstance(effect, Decide), after=True)
        with pytest.raises(Stopped):
            driver.commit(written, 0)
    assert driver.side.abort(written, 0) is False
    Driver(settings).plan()
    assert values_of(cluster.bootstrap_servers, topic) == ["row"]


def test_a_checkpoint_that_is_older_than_the_sink(cluster: LocalCluster, settings: SinkSettings, topic: str) -> None:
    driver = Driver(settings)
    for number in range(3):
        driver.batch(number, [str(number)])
    with pytest.raises(CheckpointTooOld, match=r"batch 1 of query query .* all up to 2"):
        Driver(settings).batch(1, ["again"])
    Driver(settings, "another query").batch(0, ["new"])
    assert values_of(cluster.bootstrap_servers, topic) == ["0", "1", "2", "new"]


def test_a_decision_that_comes_too_late_fails_loudly(
    cluster: LocalCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic(topic)
    settings = settings_of(cluster, topic)
    driver = Driver(settings)
    plan = driver.plan()
    written = [driver.attempt(plan, 0, ["lost"])]
    with monkeypatch.context() as patched:
        stop_at(patched, lambda effect: isinstance(effect, Decide), after=True)
        with pytest.raises(Stopped):
            driver.commit(written, 0)
    assert written[0].transaction is not None
    fence(cluster, written[0].transaction.transactional_id)  # as the broker does after the timeout
    with pytest.raises(TransactionsLost, match=rf"batch 0 of query query .* missing in {topic}-0"):
        Driver(settings).plan()
    accepting = Driver(settings_of(cluster, topic, onLostTransactions="accept"))
    accepting.batch(1, ["next"])
    assert values_of(cluster.bootstrap_servers, topic) == ["next"]


def test_a_transaction_that_is_gone_is_found_before_the_decision(
    cluster: LocalCluster, settings: SinkSettings, topic: str
) -> None:
    driver = Driver(settings)
    plan = driver.plan()
    written = [driver.attempt(plan, 0, ["row"])]
    assert written[0].transaction is not None
    fence(cluster, written[0].transaction.transactional_id)
    with pytest.raises(BatchTooOld, match=r"the broker has aborted .* before the batch was complete"):
        driver.commit(written, 0)
    driver.side.abort(written, 0)
    Driver(settings).batch(0, ["row"])
    assert values_of(cluster.bootstrap_servers, topic) == ["row"]


def fence(cluster: LocalCluster, transactional_id: str) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.fence_producers([transactional_id])


@pytest.mark.slow
def test_hundreds_of_tasks(cluster: LocalCluster, settings: SinkSettings, topic: str) -> None:
    driver = Driver(settings)
    for batch in range(2):
        driver.batch(batch, *([f"{batch}-{number}"] for number in range(200)))
    assert len(values_of(cluster.bootstrap_servers, topic)) == 400
    assert not open_transactions(cluster, settings)


@pytest.mark.slow
def test_a_broker_that_restarts_in_a_batch(topic: str) -> None:
    with LocalCluster() as own:
        own.create_topic(topic, 2)
        settings = settings_of(own, topic)
        driver = Driver(settings)
        driver.batch(0, ["0"])
        plan = driver.plan()
        written = [driver.attempt(plan, 1, ["1"])]
        own.restart()
        with suppress(MoldauError):
            driver.commit(written, 1)
        Driver(settings).batch(1, ["1"])
        assert values_of(own.bootstrap_servers, topic) == ["0", "1"]
        close_links()
