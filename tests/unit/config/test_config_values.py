"""Texts and Python values become typed values, and values become texts, as in Kafka's ConfigDef."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.config.class_names import load_class
from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.base.config.value_types import ConfigType, Password, Value, parse, render
from moldau.base.errors import ConfigError

RECORDED = (Path(__file__).parent / "kafka_parsed.txt").read_text().splitlines()[1:]


def unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)


@pytest.mark.parametrize("line", RECORDED)
def test_a_text_is_read_as_kafka_reads_it(line: str) -> None:
    scope, name, escaped, expected = line.split("\t")
    row = schema_of(Scope(scope))[name]
    given_text, answer = unescaped(escaped), unescaped(expected[2:])
    if expected.startswith("!"):
        with pytest.raises(ConfigError) as caught:
            row.parse(given_text)
        assert str(caught.value) == answer
    else:
        value = row.parse(given_text)
        assert (str(value) if row.sensitive else render(value)) == answer


@pytest.mark.parametrize(
    ("config_type", "raw", "value"),
    [
        (ConfigType.BOOLEAN, True, True),
        (ConfigType.INT, 5, 5),
        (ConfigType.LONG, 2**40, 2**40),
        (ConfigType.DOUBLE, 2, 2.0),
        (ConfigType.LIST, ["a", "b"], ("a", "b")),
        (ConfigType.LIST, (int, "b"), (int, "b")),
        (ConfigType.CLASS, dict, dict),
        (ConfigType.PASSWORD, Password("x"), Password("x")),
        (ConfigType.STRING, None, None),
    ],
)
def test_a_python_value_of_the_right_type_is_taken(config_type: ConfigType, raw: object, value: Value) -> None:
    assert parse("some.name", config_type, raw) == value


@pytest.mark.parametrize(
    ("config_type", "raw", "why"),
    [
        (ConfigType.BOOLEAN, 1, "Expected value to be either true or false"),
        (ConfigType.INT, True, "Expected value to be a 32-bit integer, but it was a bool"),
        (ConfigType.INT, 1.0, "Expected value to be a 32-bit integer, but it was a float"),
        (ConfigType.SHORT, 2**15, "Not a number of type SHORT"),
        (ConfigType.LONG, 2**63, "Not a number of type LONG"),
        (ConfigType.INT, "9" * 10_000, "Not a number of type INT"),
        (ConfigType.DOUBLE, True, "Expected value to be a double, but it was a bool"),
        (ConfigType.STRING, 5, "Expected value to be a string, but it was a int"),
        (ConfigType.LIST, 5, "Expected a comma separated list."),
        (ConfigType.LIST, [1], "Expected a comma separated list."),
        (ConfigType.CLASS, "", "Expected a class or the dotted name of one."),
        (ConfigType.PASSWORD, 5, "Expected value to be a string, but it was a int"),
    ],
)
def test_a_python_value_of_another_type_is_refused(config_type: ConfigType, raw: object, why: str) -> None:
    with pytest.raises(ConfigError, match=f"for configuration some.name: {re.escape(why)}$"):
        parse("some.name", config_type, raw)


def test_a_password_is_never_shown() -> None:
    secret = Password("hush")
    assert secret.reveal() == "hush"
    assert "hush" not in f"{secret} {secret!r} {[secret]} {render(secret)}"
    with pytest.raises(ConfigError) as caught:
        parse("ssl.key.password", ConfigType.PASSWORD, b"hush")
    assert str(caught.value).startswith("Invalid value [hidden] for configuration ssl.key.password")


@given(st.floats(allow_nan=False))
def test_a_double_survives_its_text(number: float) -> None:
    text = render(number)
    assert text is not None
    assert parse("some.name", ConfigType.DOUBLE, text) == number


@given(st.lists(st.text("ab.-", min_size=1), min_size=1))
def test_a_list_survives_its_text(items: list[str]) -> None:
    assert parse("some.name", ConfigType.LIST, render(tuple(items))) == tuple(items)


def test_a_class_setting_takes_a_class_an_alias_or_a_dotted_path() -> None:
    aliases = {"org.example.JavaMap": "collections.OrderedDict"}
    for value in (dict, "builtins.dict"):
        assert load_class("some.class", value, aliases) is dict
    assert load_class("some.class", "org.example.JavaMap", aliases).__name__ == "OrderedDict"
    for unknown in ("org.example.Other", "collections.NoSuch", "dict", "collections.abc", ""):
        with pytest.raises(ConfigError, match=r"could not be found\. Java names known here: org\.example\.JavaMap\."):
            load_class("some.class", unknown, aliases)


def test_classes_are_rendered_by_their_dotted_names() -> None:
    assert render((Path, "b")) == "pathlib.Path,b"
