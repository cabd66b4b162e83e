"""The settings of several brokers on one machine, out of those of one: what must differ counts up.

Ids and ports count up from those that were given, and each log directory gets a directory `broker-<id>` for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from moldau.base.config.broker_config import load_broker_config
from moldau.broker.log_storage import log_dirs_of

_PORT = re.compile(r":(\d+)\s*(?=,|$)")
DEFAULT_LISTENERS = "PLAINTEXT://:9092"


def settings_of_each(settings: Mapping[str, str], count: int) -> list[dict[str, str]]:
    """The settings of brokers 0 to `count` - 1, or from `broker.id` on."""
    if count == 1:
        return [dict(settings)]
    directories = log_dirs_of(load_broker_config(settings))
    return [_settings_of(settings, number, directories) for number in range(count)]


def store_directory(settings: Mapping[str, str]) -> Path:
    """Where what all of them share is: in the first log directory, beside the brokers' own."""
    return log_dirs_of(load_broker_config(settings))[0]


def _settings_of(settings: Mapping[str, str], number: int, directories: list[Path]) -> dict[str, str]:
    broker_id = max(int(settings.get("broker.id", "0")), 0) + number
    own = {
        # A process ends as a whole: there is no other broker to hand leaderships to.
        "controlled.shutdown.enable": "false",
        **settings,
        "broker.id": str(broker_id),
        "listeners": _shifted(settings.get("listeners", DEFAULT_LISTENERS), number),
        "log.dirs": ",".join(str(directory / f"broker-{broker_id}") for directory in directories),
    }
    if "advertised.listeners" in settings:
        own["advertised.listeners"] = _shifted(settings["advertised.listeners"], number)
    return own


def _shifted(listeners: str, number: int) -> str:
    """Every port higher by `number`; 0 stays, since the system chooses then."""
    return _PORT.sub(lambda found: f":{int(found[1]) + number if int(found[1]) else 0}", listeners)
