"""Settings that change while the broker runs: of topics, of this broker, and of all brokers (KIP-226).

They live in the coordination store. A change made by any broker, or by a tool, is read here and put into force by two
callbacks: `on_broker` gets the new snapshot of the broker's configuration, `on_topic` that of a topic this broker has
loaded. Since a topic inherits from its broker, a broker's change may change all of them.

What is in the store may be wrong: another tool wrote it, or the broker's file has changed since. A wrong entry is
reported and left out, never the end of the broker. What goes into the store through `alter` is checked first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.config import Config
from moldau.base.config.layer import ConfigSource
from moldau.base.config.notices import log_notices
from moldau.base.config.topic_config import TopicConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.base.supervision import Supervisor
from moldau.broker.config_changes import ConfigChanges
from moldau.broker.config_entities import BROKERS, TOPICS, Entity, read_overrides, write_overrides
from moldau.cluster.errors import BadArguments
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.layout import CONFIG, DEFAULT_ENTITY

WRITE_ATTEMPTS_MAX: Final = 10

C = TypeVar("C", bound=Config)
Change = Callable[[dict[str, str]], Mapping[str, str]]

logger = logging.getLogger(__name__)


class DynamicConfigs:
    """`config` is the broker's configuration in force; topics are known from `load_topic` to `forget_topic`."""

    def __init__(
        self,
        session: CoordinationSession,
        config: BrokerConfig,
        broker_id: int,
        on_broker: Callable[[BrokerConfig], None],
        on_topic: Callable[[str, TopicConfig], None],
        *,
        clock: Clock,
        supervisor: Supervisor,
    ) -> None:
        self.config = config
        self._session = session
        self._on_broker = on_broker
        self._on_topic = on_topic
        self._sources = {
            DEFAULT_ENTITY: ConfigSource.DYNAMIC_DEFAULT_BROKER,
            str(broker_id): ConfigSource.DYNAMIC_BROKER,
        }
        self._topics: dict[str, TopicConfig] = {}
        self._entries: dict[str, Mapping[str, str]] = {}  # of the same topics, right or wrong
        self._inherited = config.topic({})
        self._altering = asyncio.Lock()
        self._changes = ConfigChanges(session, self._reread, clock=clock, supervisor=supervisor)

    async def start(self) -> None:
        """Put into force what is in the store, and follow it from now on."""
        await self._changes.start()
        for name in self._sources:
            await self._reread(Entity(BROKERS, name))

    # -- topics

    async def load_topics(self) -> None:
        """Read the settings of all topics now, and remember them: a broker that starts has logs of any of them."""
        for topic in await self._session.children(f"{CONFIG}/{TOPICS}"):
            await self.load_topic(topic)

    async def load_topic(self, topic: str) -> TopicConfig:
        """Read a topic's settings now, and remember them."""
        found = await read_overrides(self._session, Entity(TOPICS, topic))
        self._entries[topic] = found.entries
        config = self._topics[topic] = self._topic_config(topic, found.entries)
        return config

    async def read_topic(self, topic: str) -> TopicConfig:
        """A topic's settings as they are in the store now."""
        return self._topic_config(topic, await self.overrides(TOPICS, topic))

    def topic(self, topic: str) -> TopicConfig:
        """What is known of a topic; for one that was not loaded, what it would inherit."""
        return self._topics.get(topic, self._inherited)

    def forget_topic(self, topic: str) -> None:
        """The broker has no replica of the topic any more."""
        self._topics.pop(topic, None)
        self._entries.pop(topic, None)

    # -- changes by requests

    async def overrides(self, entity_type: str, name: str) -> dict[str, str]:
        """What was given to an entity, as it is in the store."""
        return (await read_overrides(self._session, Entity(entity_type, name))).entries

    async def alter(self, entity: Entity, change: Change, *, validate_only: bool = False) -> None:
        """Write what `change` makes of an entity's settings, if it makes sense; in force here when this returns."""
        for _ in range(WRITE_ATTEMPTS_MAX):
            async with self._altering:
                if await self._try_to_alter(entity, change, validate_only):
                    return
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "Others change the same settings all the time: try again.")

    async def _try_to_alter(self, entity: Entity, change: Change, validate_only: bool) -> bool:
        """False if another broker has altered the same meanwhile."""
        current = await read_overrides(self._session, entity)
        entries = dict(change(current.entries))
        self._check(entity, entries)
        if validate_only:
            return True
        try:
            written = await write_overrides(self._session, entity, entries, current.version)
        except BadArguments as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"The settings are too large: {error}") from error
        if written:
            logger.info("new settings of %s %s: %s", entity.type, entity.name, ", ".join(sorted(entries)) or "none")
            self._take(entity, entries)
        return written

    def _check(self, entity: Entity, entries: Mapping[str, str]) -> None:
        if entity.type == TOPICS:
            unknown = [name for name in entries if name not in self._inherited.schema]
            if unknown:
                raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {unknown[0]}")
            try:
                config = self.config.topic(entries)
            except ConfigError as error:
                text = f"Invalid config value for resource ConfigResource(type=TOPIC, name='{entity.name}'): {error}"
                raise ApiError(ErrorCode.INVALID_CONFIG, text) from error
            log_notices(config.schema, config.layer)
            return
        secrets = self._secrets(entries)
        if secrets:
            # KIP-226 keeps them encrypted; a secret that everybody who reads the store can see is worse than none.
            text = f"Passwords cannot be changed dynamically here, only in the broker's file: {', '.join(secrets)}"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
        try:
            self.config.with_dynamic(self._sources[entity.name], entries)
        except ConfigError as error:
            # Kafka answers INVALID_REQUEST for brokers where it answers INVALID_CONFIG for topics (KAFKA-13609).
            raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from error

    # -- changes in the store

    async def _reread(self, entity: Entity) -> None:
        is_ours = entity.name in (self._topics if entity.type == TOPICS else self._sources)
        if entity.type in (TOPICS, BROKERS) and is_ours:
            self._take(entity, (await read_overrides(self._session, entity)).entries)

    def _take(self, entity: Entity, entries: Mapping[str, str]) -> None:
        if entity.type == BROKERS:
            self._take_broker(entity.name, entries)
        elif entity.name in self._topics:
            self._entries[entity.name] = entries
            config = self._topics[entity.name] = self._topic_config(entity.name, entries)
            self._on_topic(entity.name, config)

    def _take_broker(self, name: str, entries: Mapping[str, str]) -> None:
        source = self._sources[name]
        secrets = self._secrets(entries)
        if secrets:
            logger.warning("broker %s: passwords are not read from the store: %s", name, ", ".join(secrets))
        open_entries = {entry: value for entry, value in entries.items() if entry not in secrets}
        old = next((layer.entries for layer in self.config.layers if layer.source is source), {})
        if dict(old) == open_entries:
            return
        last = self.config
        self.config = self._usable(f"broker {name}", open_entries, lambda some: last.with_dynamic(source, some), last)
        before, self._inherited = self._inherited, self.config.topic({})
        # Also where no value has changed: each shows in DescribeConfigs where its values come from.
        self._topics = {topic: self._topic_config(topic, entries) for topic, entries in self._entries.items()}
        self._on_broker(self.config)
        if dict(self._inherited) != dict(before):
            for topic, config in list(self._topics.items()):
                self._on_topic(topic, config)

    def _secrets(self, names: Iterable[str]) -> list[str]:
        rows = ((name, self.config.schema.find(name)) for name in names)
        return [name for name, row in rows if row is not None and row.sensitive]

    def _topic_config(self, topic: str, entries: Mapping[str, str]) -> TopicConfig:
        return (
            self._usable(f"topic {topic}", entries, self.config.topic, self._inherited) if entries else self._inherited
        )

    def _usable(self, whose: str, entries: Mapping[str, str], make: Callable[[Mapping[str, str]], C], else_: C) -> C:
        """What `make` makes of the entries, without the wrong ones; `else_` if the rest is wrong together."""
        try:
            return make(entries)
        except ConfigError as error:
            logger.warning("settings of %s are wrong and ignored: %s", whose, error)
        good = dict(_good(entries, make))
        try:
            return make(good)
        except ConfigError:
            logger.warning("the settings of %s contradict each other; none of them is in force", whose)
            return else_


def _good(entries: Mapping[str, str], make: Callable[[Mapping[str, str]], Config]) -> Iterator[tuple[str, str]]:
    """The entries that make sense by themselves."""
    for name, value in entries.items():
        try:
            make({name: value})
        except ConfigError:
            continue
        yield name, value
