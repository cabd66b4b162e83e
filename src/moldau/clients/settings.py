"""What a client was given, checked, and the objects that settings name.

A setting has Kafka's name (`{"linger.ms": 5}`) or is a keyword with underscores (`linger_ms=5`); keywords win. A name
in a mapping that nothing knows is logged, as Kafka does, since it may belong to a plug-in, and every plug-in gets all
of them in `configure`. A keyword that nothing knows is a mistake, and is refused.

Where Kafka expects the name of a class, a class, an object or a plain callable will do as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.base.config.class_names import load_class
from moldau.base.config.client_config import load_client_config
from moldau.base.config.config import Config
from moldau.base.config.notices import suggestion
from moldau.base.config.schema import CLASS, LIST, Schema, Scope
from moldau.base.config.scopes import schema_of
from moldau.base.config.value_types import invalid
from moldau.base.errors import ConfigError

# Kafka has no default for these. Here what is not said is: bytes.
_BYTES: Final = {
    Scope.PRODUCER: {
        "key.serializer": "moldau.clients.serialization.BytesSerializer",
        "value.serializer": "moldau.clients.serialization.BytesSerializer",
    },
    Scope.CONSUMER: {
        "key.deserializer": "moldau.clients.serialization.BytesDeserializer",
        "value.deserializer": "moldau.clients.serialization.BytesDeserializer",
    },
    Scope.ADMIN: {},
}


class ClientSettings:
    """The settings of one client; `given` are the user's own, by Kafka's names."""

    __slots__ = ("config", "given", "scope")

    def __init__(self, scope: Scope, config: Config, given: Mapping[str, object]) -> None:
        self.scope = scope
        self.config = config
        self.given = given

    def plugin(self, name: str, aliases: Mapping[str, str], *, is_key: bool | None = None) -> object | None:
        """The object that a setting names: the given one, or one made of the class that is meant."""
        given = self.given.get(name)
        if given is None:
            given = self.config[name]
        return None if given is None else self._made(name, given, aliases, is_key)

    def plugins(self, name: str, aliases: Mapping[str, str]) -> list[object]:
        """The same for a setting that is a list."""
        given = self.given.get(name)
        items = given if isinstance(given, list | tuple) else self.config[name]
        assert isinstance(items, list | tuple), name
        return [self._made(name, item, aliases, None) for item in items if item]

    def _made(self, name: str, given: object, aliases: Mapping[str, str], is_key: bool | None) -> object:
        if not isinstance(given, str | type):
            return given
        made = load_class(name, given.strip() if isinstance(given, str) else given, aliases)
        try:
            plugin = made()
            configure = getattr(plugin, "configure", None)
            if configure is not None:
                configure(dict(self.given)) if is_key is None else configure(dict(self.given), is_key)
        except Exception as error:
            raise invalid(name, given, f"it could not be made: {error!r}") from error
        return plugin


def client_settings(
    scope: Scope, settings: Mapping[str, object] | None, keywords: Mapping[str, object]
) -> ClientSettings:
    """Read and check what a client was given."""
    schema = schema_of(scope)
    given = {name: value for name, value in (settings or {}).items() if value is not None}
    for keyword, value in keywords.items():
        if value is not None:
            given[_setting_of(schema, keyword)] = value
    described = {name: _described(schema, name, value) for name, value in {**_BYTES[scope], **given}.items()}
    return ClientSettings(scope, load_client_config(scope, described), given)


def _setting_of(schema: Schema, keyword: str) -> str:
    name = keyword.replace("_", ".")
    if name not in schema:
        raise ConfigError(f"There is no setting {keyword} ({name}) of a {schema.scope.value}{suggestion(schema, name)}")
    return name


def _described(schema: Schema, name: str, value: object) -> object:
    """What the table understands: the class of an object that was given in place of a class."""
    row = schema.find(name)
    if row is not None and row.type is CLASS and not isinstance(value, str | type):
        return type(value)
    if row is not None and row.type is LIST and isinstance(value, list | tuple):
        return [item if isinstance(item, str | type) else type(item) for item in value]
    return value
