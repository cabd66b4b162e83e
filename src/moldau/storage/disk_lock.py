"""Locking a file against other brokers, in this process and in others.

A lock is a POSIX record lock, because that is what a JVM's FileLock takes: Apache Kafka and we keep each other out.
Such locks belong to the process, and closing any descriptor of the file drops them. So locks of this process are
written down here, and looked up before the file is opened.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from threading import Lock as ThreadLock

from moldau.storage.files import Lock

_LOCK_ATTEMPTS_MAX = 10
_Identity = tuple[int, int]  # device and inode
_locked_by_this_process: set[_Identity] = set()
_locking = ThreadLock()


class DiskLock(Lock):
    """A lock file of the machine, locked by this process."""

    def __init__(self, path: Path, descriptor: int, identity: _Identity) -> None:
        self._path = path
        self._descriptor = descriptor
        self._identity = identity
        self._is_held = True

    def release(self) -> None:
        with _locking:
            if not self._is_held:
                return
            self._is_held = False
            try:
                # The name goes first: whoever locks the file before that is told that somebody holds it.
                self._path.unlink(missing_ok=True)
            finally:
                _locked_by_this_process.discard(self._identity)
                os.close(self._descriptor)


def lock_file(path: Path) -> DiskLock | None:
    """Lock a file, made if need be; None if this process or another one holds it."""
    with _locking:
        for _ in range(_LOCK_ATTEMPTS_MAX):
            if _identity(path) in _locked_by_this_process:
                return None
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return None
                raise
            identity = _identity(path)
            status = os.fstat(descriptor)
            if identity == (status.st_dev, status.st_ino):
                _locked_by_this_process.add(identity)
                return DiskLock(path, descriptor, identity)
            os.close(descriptor)  # it was removed by its last holder between our open and our lock
    return None


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
