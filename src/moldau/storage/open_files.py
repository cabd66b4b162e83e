"""A bounded number of open files, by path.

A broker has more segments than a process may have descriptors, and few of them are in use at a time. So nobody
keeps a file: a segment and its indexes ask for theirs at every use, and what has not been asked for in a while is let
go. That is a second-chance queue: a hit is one look into a dict and marks the file; a miss opens the file and lets go
of the oldest one without a mark. Hits need no lock and may come from any thread. Who comes again and again may remember
the file, weakly, and use it as long as it `is_kept`: somebody else may hold on to one that is not.

A file that was let go is closed when nobody holds it any more (see `File`). A pinned file stays: a preallocated
one must, since only the open file knows where its next append goes. Pins are the only way over the limit.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock as ThreadLock

from moldau.storage.files import File, Files


class OpenFiles:
    def __init__(self, files: Files, limit: int) -> None:
        assert limit > 0
        self.files = files
        self.limit = limit
        self._open: OrderedDict[Path, File] = OrderedDict()
        self._changing = ThreadLock()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, path: Path, create: bool = False) -> File:
        """The open file of a path; for one use, or for a task in a thread that keeps it until it is done."""
        file = self._open.get(path)
        if file is not None:
            file.is_recent = True
            return file
        with self._changing:
            return self._open.get(path) or self._add(path, create)

    def pin(self, path: Path, create: bool = False) -> File:
        """As `get`, and the file stays open until as many calls of `unpin`, or `forget`."""
        with self._changing:
            file = self._open.get(path) or self._add(path, create)
            file.pins += 1
            return file

    def unpin(self, path: Path) -> None:
        with self._changing:
            file = self._open.get(path)
            if file is not None and file.pins:
                file.pins -= 1

    def forget(self, path: Path) -> None:
        """Let go of a file before its name goes to another one or vanishes."""
        with self._changing:
            self._let_go(path)

    def forget_directory(self, directory: Path) -> None:
        """Let go of all files under a directory before it is renamed or removed."""
        prefix = f"{directory}/"
        with self._changing:
            for path in [path for path in self._open if str(path).startswith(prefix)]:
                self._let_go(path)

    def clear(self) -> None:
        with self._changing:
            for path in list(self._open):
                self._let_go(path)

    def _let_go(self, path: Path) -> None:
        file = self._open.pop(path, None)
        if file is not None:
            file.is_kept = False

    def _add(self, path: Path, create: bool) -> File:
        file = self.files.open(path, create)
        self._evict()
        self._open[path] = file
        return file

    def _evict(self) -> None:
        """Make room for one more, unless every file is pinned; two rounds, since the first takes the marks off."""
        for _ in range(2 * len(self._open)):
            if len(self._open) < self.limit:
                break
            path, file = next(iter(self._open.items()))
            if file.is_recent or file.pins:
                file.is_recent = False
                self._open.move_to_end(path)
            else:
                self._let_go(path)
