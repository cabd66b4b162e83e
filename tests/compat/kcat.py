"""kcat, unmodified: from PATH, or unpacked from Debian's packages into `build/kcat`, which needs no root.

`apt-get` works here on lists and a cache of its own, so that nothing on the machine changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.java_tools import ROOT

FOLDER = ROOT / "build" / "kcat"
INSTALL_S_MAX = 300
COMMAND_S_MAX = 60


def find_kcat() -> Path:
    """The program; skip where it cannot be had, and fail where that must not be."""
    installed = shutil.which("kcat")
    if installed:
        return Path(installed)
    program = FOLDER / "usr" / "bin" / "kcat"
    if not program.exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            reason = "needs kcat on PATH, or Debian's package of it"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        _unpack(FOLDER)
    return program


def _unpack(folder: Path) -> None:
    making = folder.with_suffix(f".{os.getpid()}")
    lists, archives = making / "lists", making / "archives"
    for directory in (lists, archives):
        (directory / "partial").mkdir(parents=True)
    options = {
        "Dir::State::lists": lists,
        "Dir::Cache::archives": archives,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Debug::NoLocking": "1",
        "APT::Sandbox::User": "",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    for command in (["update"], ["install", "--download-only", "--yes", "--no-install-recommends", "kcat"]):
        subprocess.run([*apt, *command], check=True, capture_output=True, timeout=INSTALL_S_MAX)
    for package in archives.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, making], check=True, timeout=INSTALL_S_MAX)
    shutil.rmtree(lists)
    try:
        making.rename(folder)
    except OSError:  # another test process was faster
        shutil.rmtree(making)


def run_kcat(program: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What it prints."""
    libraries = ":".join(str(path) for path in (FOLDER / "usr" / "lib").glob("*-linux-gnu*"))
    done = subprocess.run(
        [program, *arguments],
        input=stdin,
        capture_output=True,
        timeout=COMMAND_S_MAX,
        check=False,
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
    )
    assert done.returncode == 0, f"kcat {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout
