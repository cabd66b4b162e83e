"""The log names every setting that changes nothing, and no password."""

from __future__ import annotations

import logging

import pytest

from moldau.base.config.allowed import ANY
from moldau.base.config.broker_config import load_broker_config
from moldau.base.config.layer import ConfigSource, read_layer
from moldau.base.config.notices import log_notices
from moldau.base.config.schema import (
    IMPLEMENTED,
    INT,
    LOW,
    NO_EFFECT,
    NOT_IMPLEMENTED,
    PASSWORD,
    Schema,
    Scope,
    Section,
    Setting,
)

SCHEMA = Schema(
    Scope.BROKER,
    [
        Section(
            "Test",
            "One row of each kind.",
            (
                Setting("obeyed.number", INT, 1, ANY, LOW, IMPLEMENTED, "A number."),
                Setting("later.number", INT, 1, ANY, LOW, NOT_IMPLEMENTED, "A number."),
                Setting("idle.number", INT, 1, ANY, LOW, NO_EFFECT, "A number.", why="nothing counts here"),
                Setting("some.password", PASSWORD, None, ANY, LOW, NOT_IMPLEMENTED, "A password."),
            ),
        )
    ],
    pass_through=("plugin.",),
)


def log_lines(caplog: pytest.LogCaptureFixture, **settings: object) -> list[tuple[int, str]]:
    """Level and text of what is said about settings, whose names have `_` for `.`."""
    caplog.set_level(logging.INFO)
    problems: list[str] = []
    entries = {name.replace("_", "."): value for name, value in settings.items()}
    log_notices(SCHEMA, read_layer(SCHEMA, ConfigSource.STATIC_BROKER, entries, problems))
    assert not problems
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_a_setting_that_is_obeyed_or_has_its_default_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    assert log_lines(caplog, obeyed_number="5", later_number="1", idle_number=1) == []


def test_a_setting_that_is_not_implemented_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    text = "Configuration later.number=5 is not implemented here and changes nothing."
    assert log_lines(caplog, later_number=" 5 ") == [(logging.WARNING, text)]


def test_a_setting_without_effect_is_mentioned_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    text = "Configuration idle.number has no effect here: nothing counts here."
    assert log_lines(caplog, idle_number="5") == [(logging.INFO, text)]


def test_an_unknown_name_is_warned_of_with_the_nearest_known_one(caplog: pytest.LogCaptureFixture) -> None:
    assert log_lines(caplog, later_numbr="5", zzz="5") == [
        (logging.WARNING, "Unknown configuration later.numbr is ignored; did you mean later.number?"),
        (logging.WARNING, "Unknown configuration zzz is ignored."),
    ]


def test_settings_of_plug_ins_pass_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert log_lines(caplog, plugin_bucket="b") == []


def test_no_password_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    lines = log_lines(caplog, some_password="hush", listener_name_x_some_password="hush", unknown_secret="hush")
    assert "listener.name.x.some.password=[hidden] is not implemented" in lines[0][1]
    assert "some.password=[hidden]" in lines[1][1]
    assert "hush" not in caplog.text


def test_only_names_that_were_given_are_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    load_broker_config({"broker.id": "1"})
    assert "node.id" not in caplog.text


def test_loading_and_changing_speak(caplog: pytest.LogCaptureFixture) -> None:
    broker = load_broker_config({"log.retention.hour": "5"})
    assert "did you mean log.retention.hours?" in caplog.text
    broker.with_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, {"log.retention.millis": "7"})
    assert "Unknown configuration log.retention.millis" in caplog.text
