"""Who is to be told of the next change of which path.

Two tables as in ZooKeeper: changes of a znode itself (left by `get` and `exists`) and of its children. A deletion
takes from both, and tells a callback that is in both once.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from moldau.cluster.store import EventType, Watcher, WatchEvent

Owner = TypeVar("Owner")
Watch = tuple[Owner, Watcher]


class WatchTable(Generic[Owner]):
    def __init__(self) -> None:
        self._of_znodes: dict[str, dict[Watch[Owner], None]] = {}
        self._of_children: dict[str, dict[Watch[Owner], None]] = {}

    def add(self, path: str, owner: Owner, watcher: Watcher) -> None:
        self._of_znodes.setdefault(path, {})[owner, watcher] = None

    def add_for_children(self, path: str, owner: Owner, watcher: Watcher) -> None:
        self._of_children.setdefault(path, {})[owner, watcher] = None

    def take(self, event: WatchEvent) -> list[Watch[Owner]]:
        """Those who are to be told of this event, in the order of their watches; they are told once."""
        if event.type is EventType.CHILDREN_CHANGED:
            return list(self._of_children.pop(event.path, ()))
        watches = self._of_znodes.pop(event.path, {})
        if event.type is EventType.DELETED:
            watches.update(self._of_children.pop(event.path, {}))
        return list(watches)

    def drop(self, owner: Owner) -> None:
        """A session is over: it hears of nothing any more."""
        for table in (self._of_znodes, self._of_children):
            for path, watches in list(table.items()):
                table[path] = {watch: None for watch in watches if watch[0] is not owner}
                if not table[path]:
                    del table[path]
