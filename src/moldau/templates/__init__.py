"""Configuration files to begin with: Kafka's own names, every line explained in our words.

Nouns: a template, by the name of the file in Kafka's `config` directory.
Invariants: every setting in them is known, and a broker or client takes the file as it is.
May import: nothing.
"""

from __future__ import annotations

NAMES = ("server.properties", "zookeeper.properties", "producer.properties", "consumer.properties")


def template(name: str) -> str:
    from importlib.resources import files  # it costs more to load than the rest of a --help

    assert name in NAMES
    return files(__name__).joinpath(name).read_text(encoding="ascii")
