"""Paths of znodes: what ZooKeeper accepts as one."""

from __future__ import annotations

import re

from moldau.cluster.errors import BadArguments

ROOT = "/"

# No control characters, and nothing that needs two UTF-16 units: Java's ZooKeeper refuses them, and so does this.
_NAME = r"/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]+"
_PATH = re.compile(f"/|(?:{_NAME})+")


def validate_path(path: str) -> None:
    if _PATH.fullmatch(path) is None:
        raise BadArguments(f"{path[:200]!r} is not a path of a znode")


def parent_of(path: str) -> str:
    assert path != ROOT
    return path[: path.rindex("/")] or ROOT


def name_of(path: str) -> str:
    return path[path.rindex("/") + 1 :]
