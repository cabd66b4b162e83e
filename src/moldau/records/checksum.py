"""CRC-32C, from the extension module of the crc32c package without the rest of it.

At its import the package looks up its own version, for which it loads importlib.metadata and with it email, zipfile and
sockets: about 35 of the 80 ms that importing records took. The extension needs none of that.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Protocol, cast


class Checksum(Protocol):
    """A checksum of data, going on from the checksum of what came before it."""

    def __call__(self, data: bytes | bytearray | memoryview, value: int = 0, /) -> int: ...


def _load_crc32c() -> Checksum:
    package = find_spec("crc32c")
    folders = package.submodule_search_locations if package is not None else None
    extension = PathFinder.find_spec("crc32c._crc32c", folders)
    if extension is None or extension.loader is None:
        raise ImportError("the package crc32c, which Moldau needs, has no compiled module here")
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    return cast(Checksum, module.crc32c)


crc32c = _load_crc32c()
