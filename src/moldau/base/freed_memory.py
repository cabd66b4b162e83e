"""Memory that is freed, and needed again a moment later, should not go back to the system in between.

The C library of Linux gives the end of its heap back when more than a threshold is free there, and whoever needs memory
next gets it anew, page by page: a sixth of the time of a producer of large batches. The threshold follows what a
program does: it is twice the largest block that was mapped by itself and freed, up to 32 MB (mallopt(3), on
`M_MMAP_THRESHOLD`). So one such block, allocated and freed, is all it takes. None of it is touched, so it costs
nothing. With other C libraries nothing changes.
"""

from __future__ import annotations

from functools import cache

BLOCK_BYTES = 16 << 20


@cache
def keep_freed_memory() -> None:
    """From now on up to 32 MB of freed memory stay with the process."""
    bytes(BLOCK_BYTES)
