"""Settings that change while the broker runs: what comes out of the store, and what goes into it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moldau.base.clock import SystemClock, VirtualClock
from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker import config_changes
from moldau.broker.config_changes import CHANGE_LIFE_MS, ConfigChanges
from moldau.broker.config_entities import BROKERS, TOPICS, Entity, read_overrides, write_overrides
from moldau.broker.dynamic_configs import DynamicConfigs
from moldau.cluster.errors import ConnectionLoss
from moldau.cluster.store import CreateMode, Watcher
from moldau.cluster.znodes.configs import encode_config, encode_config_change
from moldau.cluster.znodes.layout import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES
from tests.unit.broker.handler_node import HandlerNode, with_node

TOPIC, OWN, ALL = Entity(TOPICS, "a"), Entity(BROKERS, "1"), Entity(BROKERS, "<default>")


async def put(node: HandlerNode, entity: Entity, entries: dict[str, str]) -> None:
    """As another broker or a tool does: write, and notify."""
    version = (await read_overrides(node.session, entity)).version
    assert await write_overrides(node.session, entity, entries, version)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(5_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not happen in time")


def test_a_change_of_a_topic_by_somebody_else_is_put_into_force() -> None:
    async def scenario(node: HandlerNode) -> None:
        assert (await node.configs.load_topic("a")).integer("retention.ms") == 604800000
        await put(node, TOPIC, {"retention.ms": "5"})
        await until(lambda: bool(node.configured_topics))
        ((topic, config),) = node.configured_topics
        assert (topic, config.integer("retention.ms")) == ("a", 5)
        assert node.configs.topic("a") is config

    with_node(scenario, controller=False)


def test_a_store_that_cannot_be_reached_for_a_moment_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(config_changes, "RETRY_S", 0.01)

    async def scenario(node: HandlerNode) -> None:
        await node.configs.load_topic("a")
        children, failures = node.session.children, iter([True, True])

        async def fails_twice(path: str, watcher: Watcher | None = None) -> list[str]:
            if path == CONFIG_CHANGES and next(failures, False):
                raise ConnectionLoss("the store cannot be reached")
            return await children(path, watcher)

        monkeypatch.setattr(node.session, "children", fails_twice)
        await put(node, TOPIC, {"retention.ms": "5"})
        await until(lambda: bool(node.configured_topics))
        assert next(failures, None) is None, "it was asked while it could not be reached"

    with_node(scenario, controller=False)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_topics_that_were_not_loaded_have_what_they_inherit_and_are_not_followed() -> None:
    async def scenario(node: HandlerNode) -> None:
        await put(node, TOPIC, {"retention.ms": "5"})
        await node.configs.load_topic("b")
        await put(node, Entity(TOPICS, "b"), {"retention.ms": "6"})
        await until(lambda: bool(node.configured_topics))
        assert [topic for topic, _ in node.configured_topics] == ["b"]
        assert node.configs.topic("a").integer("retention.ms") == 604800000
        node.configs.forget_topic("b")
        assert node.configs.topic("b").integer("retention.ms") == 604800000
        await node.configs.load_topics()
        assert node.configs.topic("a").integer("retention.ms") == 5

    with_node(scenario, controller=False)


def test_the_brokers_own_settings_are_stronger_than_those_of_all_brokers() -> None:
    async def scenario(node: HandlerNode) -> None:
        await put(node, ALL, {"message.max.bytes": "2000", "log.cleaner.backoff.ms": "9"})
        await until(lambda: node.config.integer("message.max.bytes") == 2000)
        await put(node, OWN, {"message.max.bytes": "3000"})
        await until(lambda: node.config.integer("message.max.bytes") == 3000)
        await put(node, Entity(BROKERS, "2"), {"message.max.bytes": "4000"})
        await put(node, OWN, {})
        await until(lambda: node.config.integer("message.max.bytes") == 2000)
        assert node.config.integer("log.cleaner.backoff.ms") == 9

    with_node(scenario, controller=False)


def test_topics_inherit_a_change_of_the_broker() -> None:
    async def scenario(node: HandlerNode) -> None:
        await put(node, Entity(TOPICS, "own"), {"max.message.bytes": "7"})
        for topic in ("own", "inherits"):
            await node.configs.load_topic(topic)
        await put(node, ALL, {"message.max.bytes": "2000"})
        await until(lambda: "inherits" in dict(node.configured_topics))
        found = {topic: config.integer("max.message.bytes") for topic, config in node.configured_topics}
        assert found == {"own": 7, "inherits": 2000}
        assert node.configs.topic("never seen").integer("max.message.bytes") == 2000

    with_node(scenario, controller=False)


def test_what_was_set_survives_a_restart() -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.configs.alter(OWN, lambda _: {"message.max.bytes": "3000"})
        taken: list[BrokerConfig] = []
        again = DynamicConfigs(
            node.session,
            load_broker_config({"broker.id": "1"}),
            1,
            taken.append,
            lambda *_: None,
            clock=node.clock,
            supervisor=node.supervisor,
        )
        await again.start()
        assert [config.integer("message.max.bytes") for config in taken] == [3000]
        assert again.config is taken[0]

    with_node(scenario, controller=False)


@pytest.mark.parametrize(
    "data",
    [
        b"not json",
        b'{"version":1,"config":{"message.max.bytes":7}}',
        b"[]",
        encode_config({"broker.id": "5"}),
        encode_config({"message.max.bytes": "many"}),
        encode_config({"listener.name.plaintext.ssl.keystore.password": "salt:x"}),
    ],
)
def test_a_wrong_znode_is_reported_and_ignored(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(node: HandlerNode) -> None:
        before = dict(node.config)
        await node.session.create(OWN.path, data)
        await node.session.create(
            CONFIG_CHANGE_PREFIX, encode_config_change("brokers/1"), CreateMode.PERSISTENT_SEQUENTIAL
        )
        await put(node, ALL, {"log.cleaner.backoff.ms": "9"})
        await until(lambda: node.config.integer("log.cleaner.backoff.ms") == 9)
        assert dict(node.config) == {**before, "log.cleaner.backoff.ms": 9}

    with_node(scenario, controller=False)
    assert "ignored" in caplog.text or "passwords are not read from the store" in caplog.text


def test_of_a_wrong_znode_the_right_entries_are_taken() -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.session.create(TOPIC.path, encode_config({"retention.ms": "5", "no.such": "1", "segment.ms": "-4"}))
        config = await node.configs.load_topic("a")
        assert (config.integer("retention.ms"), config.explicit) == (5, {"retention.ms"})
        await put(node, OWN, {"message.max.bytes": "3000", "broker.id": "5"})
        await until(lambda: node.config.integer("message.max.bytes") == 3000)
        assert node.config.integer("broker.id") == 1

    with_node(scenario, controller=False)


def test_settings_that_contradict_each_other_are_all_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(node: HandlerNode) -> None:
        wrong = {"min.compaction.lag.ms": "50", "max.compaction.lag.ms": "40", "no.such": "1"}
        await node.session.create(TOPIC.path, encode_config(wrong))
        assert (await node.configs.load_topic("a")).explicit == set()

    with_node(scenario, controller=False)
    assert "contradict each other" in caplog.text


@pytest.mark.parametrize("data", [b"", b"{}", b'{"version":2}', encode_config_change("nothing"), b"\xff"])
def test_a_wrong_notification_does_not_stop_the_next(data: bytes) -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.session.create(CONFIG_CHANGE_PREFIX, data, CreateMode.PERSISTENT_SEQUENTIAL)
        await node.session.create(f"{CONFIG_CHANGES}/stranger", b"")
        await put(node, OWN, {"message.max.bytes": "3000"})
        await until(lambda: node.config.integer("message.max.bytes") == 3000)

    with_node(scenario, controller=False)


def test_a_callback_that_fails_is_logged_and_the_next_change_is_heard(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(node: HandlerNode) -> None:
        heard: list[Entity] = []

        async def on_change(entity: Entity) -> None:
            heard.append(entity)
            if entity == TOPIC:
                raise ZeroDivisionError

        changes = ConfigChanges(node.session, on_change, clock=node.clock, supervisor=node.supervisor)
        await put(node, Entity(TOPICS, "before the start"), {})
        await changes.start()
        await put(node, TOPIC, {})
        await put(node, OWN, {})
        await until(lambda: heard == [TOPIC, OWN])

    with_node(scenario, controller=False)
    assert "could not be put into force" in caplog.text


def test_notifications_are_deleted_after_a_quarter_of_an_hour() -> None:
    async def scenario(node: HandlerNode) -> None:
        clock = VirtualClock(SystemClock().now_ms())
        heard: list[Entity] = []

        async def on_change(entity: Entity) -> None:
            heard.append(entity)

        await ConfigChanges(node.session, on_change, clock=clock, supervisor=node.supervisor).start()
        await put(node, TOPIC, {})
        await until(lambda: len(heard) == 1)
        assert len(await node.session.children(CONFIG_CHANGES)) == 1
        clock.advance(CHANGE_LIFE_MS + 60_000)
        await put(node, OWN, {})
        await until(lambda: len(heard) == 2)
        for _ in range(5_000):
            if not await node.session.children(CONFIG_CHANGES):
                return
            await asyncio.sleep(0.001)
        raise AssertionError("they are still there")

    with_node(scenario, controller=False)


def test_altering_is_in_force_when_it_returns_and_notifies_the_others() -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.configs.load_topic("a")
        await node.configs.alter(TOPIC, lambda current: {**current, "retention.ms": "5"})
        assert node.configs.topic("a").integer("retention.ms") == 5
        await node.configs.alter(TOPIC, lambda current: {**current, "segment.ms": "6"}, validate_only=True)
        await node.configs.alter(TOPIC, lambda current: {**current, "segment.bytes": "100000"})
        assert await node.configs.overrides(TOPICS, "a") == {"retention.ms": "5", "segment.bytes": "100000"}
        assert len(await node.session.children(CONFIG_CHANGES)) == 2

    with_node(scenario, controller=False)


def test_many_who_alter_at_once_lose_nothing() -> None:
    async def scenario(node: HandlerNode) -> None:
        def setting(number: int) -> Callable[[dict[str, str]], dict[str, str]]:
            return lambda current: {**current, f"custom.{number}": "x"}

        async with asyncio.TaskGroup() as tasks:
            for number in range(12):
                tasks.create_task(node.configs.alter(ALL, setting(number)))
        assert len(await node.configs.overrides(BROKERS, "<default>")) == 12

    with_node(scenario, controller=False)


@pytest.mark.parametrize(
    ("entity", "entries", "code", "text"),
    [
        (TOPIC, {"no.such": "1"}, ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (TOPIC, {"retention.ms": "x"}, ErrorCode.INVALID_CONFIG, "(type=TOPIC, name='a'): Invalid value x"),
        (OWN, {"broker.id": "2"}, ErrorCode.INVALID_REQUEST, "Cannot update these configs dynamically: broker.id"),
        (ALL, {"message.max.bytes": "x"}, ErrorCode.INVALID_REQUEST, "Invalid value x for configuration"),
        (ALL, {"advertised.listeners": "A://b:1"}, ErrorCode.INVALID_REQUEST, "at default cluster level"),
        (OWN, {"listener.name.a.ssl.key.password": "x"}, ErrorCode.INVALID_REQUEST, "Passwords cannot be changed"),
        (OWN, {"custom": "x" * 2**20}, ErrorCode.INVALID_CONFIG, "too large"),
    ],
)
def test_what_makes_no_sense_is_not_written(
    entity: Entity, entries: dict[str, str], code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        with pytest.raises(ApiError) as refused:
            await node.configs.alter(entity, lambda _: entries)
        assert refused.value.code is code
        assert text in refused.value.message
        assert await node.session.exists(entity.path) is None

    with_node(scenario, controller=False)


def test_the_store_may_change_under_everybody_only_so_often() -> None:
    async def scenario(node: HandlerNode) -> None:
        await put(node, TOPIC, {})
        pending: list[asyncio.Task[object]] = []

        def meddle(current: dict[str, str]) -> dict[str, str]:
            loop = asyncio.get_running_loop()
            pending.append(loop.create_task(node.session.set(TOPIC.path, encode_config({}))))
            return current

        original = node.session.multi

        async def late(operations: object) -> object:
            await asyncio.gather(*pending)
            return await original(operations)  # type: ignore[arg-type]

        node.session.multi = late  # type: ignore[method-assign, assignment]
        with pytest.raises(ApiError) as refused:
            await node.configs.alter(TOPIC, meddle)
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT

    with_node(scenario, controller=False)
