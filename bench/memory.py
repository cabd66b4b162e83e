"""Memory that is there: what a virtual machine has given back to its host is slow when it is touched again.

A guest tells its host which pages are free, and the host takes them away. Whoever writes next, to a log or anything
else, waits for each of them: 300 MB/s were seen where memory at hand took 800. Whom it hits is chance, and it says
nothing about a broker. So free memory is filled with a file of nothing but holes, read once: pages of the page cache
that are clean are taken for new data at once, and are never free.

On a machine of its own this costs a moment and changes nothing.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

FREE_BYTES = 256 << 20  # what stays free, and so may be slow
READ_BYTES = 1 << 20
SAID_BYTES = 4 << 30  # filling so much takes long enough that one would wonder
FILES_MAX = 50


def settle() -> None:
    """Let nobody pay for what others have written, nor for memory that others have freed."""
    os.sync()
    fill_free_memory()


def fill_free_memory() -> None:
    missing_bytes = _free_bytes() - FREE_BYTES
    if missing_bytes <= 0:
        return
    if missing_bytes >= SAID_BYTES:
        print(f"touching {missing_bytes >> 30} GiB of free memory, for up to a minute or two", flush=True)
    descriptor, name = tempfile.mkstemp(dir=_holes())
    try:
        os.truncate(name, missing_bytes)
        target = [bytearray(READ_BYTES)]
        for position in range(0, missing_bytes, READ_BYTES):
            os.preadv(descriptor, target, position)
    finally:
        os.close(descriptor)


def _holes() -> Path:
    """The folder of these files. They stay, and need no space: when a file is removed, its memory is free again."""
    folder = Path("build/bench-holes")
    folder.mkdir(parents=True, exist_ok=True)
    for oldest in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-FILES_MAX]:
        oldest.unlink()
    return folder


def _free_bytes() -> int:
    """Memory that nobody uses, not even as cache; nothing where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemFree:")), 0)
