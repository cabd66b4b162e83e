"""Settings by Kafka's names or as keywords, and the objects that they name."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError
from moldau.clients.serialization import SERIALIZERS, JsonSerializer, StringSerializer, serializer_of
from moldau.clients.settings import client_settings

BOOTSTRAP = {"bootstrap.servers": "localhost:9092"}


class Shouting:
    """A plug-in that is configured."""

    def configure(self, settings: Mapping[str, object], is_key: bool) -> None:
        self.mark = settings.get("shouting.mark", "!")
        self.is_key = is_key

    def serialize(self, _topic: str, data: str) -> bytes:
        return f"{data.upper()}{self.mark}".encode()


def test_a_keyword_is_the_setting_with_dots_and_wins() -> None:
    settings = client_settings(Scope.PRODUCER, {**BOOTSTRAP, "linger.ms": 1}, {"linger_ms": 5, "batch_size": None})
    assert settings.config.integer("linger.ms") == 5
    assert settings.config.integer("batch.size") == 16384


def test_a_wrong_keyword_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(ConfigError, match=r"There is no setting linger_m .*did you mean linger\.ms\?"):
        client_settings(Scope.PRODUCER, BOOTSTRAP, {"linger_m": 5})


def test_a_wrong_name_in_a_mapping_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        client_settings(Scope.PRODUCER, {**BOOTSTRAP, "linger.mss": 5}, {})
    assert "did you mean linger.ms?" in caplog.text


def test_a_wrong_value_is_named_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value -1 for configuration linger\.ms"):
        client_settings(Scope.PRODUCER, BOOTSTRAP, {"linger_ms": -1})


def test_acks_is_a_text_as_in_kafka() -> None:
    with pytest.raises(ConfigError, match="acks"):
        client_settings(Scope.PRODUCER, BOOTSTRAP, {"acks": 1})


@pytest.mark.parametrize(
    "given",
    [
        Shouting,
        f"{__name__}.Shouting",
    ],
)
def test_a_class_or_its_name_is_made_and_configured(given: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(Shouting=Shouting))
    settings = client_settings(Scope.PRODUCER, {**BOOTSTRAP, "value.serializer": given, "shouting.mark": "?"}, {})
    plugin = settings.plugin("value.serializer", SERIALIZERS, is_key=False)
    assert isinstance(plugin, Shouting)
    assert plugin.serialize("t", "a") == b"A?"
    assert plugin.is_key is False


def test_an_object_and_a_callable_are_taken_as_they_are() -> None:
    settings = client_settings(
        Scope.PRODUCER, BOOTSTRAP, {"key_serializer": str.encode, "value_serializer": JsonSerializer()}
    )
    serialize_key = serializer_of(settings, "key.serializer")
    serialize_value = serializer_of(settings, "value.serializer")
    assert serialize_key is not None
    assert serialize_value is not None
    assert serialize_key("t", "k") == b"k"
    assert serialize_value("t", {"a": [1]}) == b'{"a":[1]}'


def test_java_names_stand_for_ours() -> None:
    name = "org.apache.kafka.common.serialization.StringSerializer"
    settings = client_settings(Scope.PRODUCER, BOOTSTRAP, {"key_serializer": name})
    assert isinstance(settings.plugin("key.serializer", SERIALIZERS, is_key=True), StringSerializer)


def test_an_unknown_java_name_is_refused_with_those_that_are_known() -> None:
    settings = client_settings(Scope.PRODUCER, BOOTSTRAP, {"key_serializer": "com.example.OrderSerializer"})
    with pytest.raises(ConfigError, match=r"com\.example\.OrderSerializer could not be found.*StringSerializer"):
        serializer_of(settings, "key.serializer")


def test_bytes_need_no_serializer() -> None:
    settings = client_settings(Scope.PRODUCER, BOOTSTRAP, {})
    assert serializer_of(settings, "value.serializer") is None
