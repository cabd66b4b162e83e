"""Freed memory stays with the process: what is allocated again is not handed out anew by the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from moldau.base.freed_memory import keep_freed_memory
{before}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use():
    return [bytes(1024) for _ in range(4096)]
use()
first = faults()
for _ in range(20):
    use()
print(faults() - first)
"""


def faults(before: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)], capture_output=True, text=True, check=True, timeout=60
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the C library of GNU gives memory back in this way")
def test_memory_that_was_freed_is_there_again() -> None:
    assert faults("keep_freed_memory()") < faults("") / 10
