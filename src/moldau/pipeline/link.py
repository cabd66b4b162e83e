"""A process's connection to one Kafka cluster, kept between batches.

Spark starts Python processes of several kinds and uses each again: for the next batch of a query, or for another query.
What is kept in a module survives there, and so the second batch finds its connections open and the cluster known. A
process may end at any time, and a forked one has none of its parent's threads; so nothing is kept but what can be made
anew, and it is kept for this process alone.

    link = link_to({"bootstrap.servers": "localhost:9092"})
    metadata = link.run(link.cluster.update())
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.clients.background import BackgroundLoop
from moldau.clients.errors import TimedOut
from moldau.clients.network.cluster import Cluster
from moldau.clients.settings import client_settings

if TYPE_CHECKING:
    from moldau.clients.admin.admin import Admin

Result = TypeVar("Result")

# What a call may take if it does not say; a call's own limits are shorter and say more.
RUN_S_MAX: Final = 300.0
# Clusters that one process talks to; the one that was not used for longest makes room.
LINKS_MAX: Final = 16
_CLOSING_S: Final = 5.0

_Key = tuple[int, Scope, bool, frozenset[tuple[str, str]]]

_lock = threading.Lock()
_links: dict[_Key, Link] = {}
_loops: dict[int, BackgroundLoop] = {}


class Link:
    """The cluster and an admin on the same settings; `run` is how to use them from outside of their loop."""

    def __init__(
        self, settings: Mapping[str, str], scope: Scope, background: BackgroundLoop, *, creates_topics: bool = False
    ) -> None:
        self.settings = dict(settings)
        self._background = background
        self._admin: Admin | None = None
        self.cluster = self.run(_cluster(self.settings, scope, creates_topics))

    def run(self, work: Coroutine[Any, Any, Result], timeout_s: float = RUN_S_MAX) -> Result:
        """Do something in the loop, and wait here until it is done."""
        try:
            return self._background.run(work, timeout_s)
        except TimeoutError:
            servers = self.settings.get("bootstrap.servers")
            raise TimedOut(f"the cluster at {servers} did not answer within {timeout_s:g} s") from None

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Begin something in the loop; its result is waited for later, or it is cancelled."""
        try:
            self._background.check()
        except BaseException:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, self._background.loop)

    @property
    def admin(self) -> Admin:
        """Made when it is first asked for: a task needs none, and its modules take a while to load."""
        if self._admin is None:
            self._admin = _new_admin(self.settings) if self._background.is_here else self.run(_admin(self.settings))
        return self._admin

    @property
    def usable(self) -> bool:
        return self._background.unusable is None

    def close(self) -> None:
        """Let go of its connections."""
        if self.usable:
            self.run(self.cluster.close(), _CLOSING_S)
            if self._admin is not None:
                self.run(self._admin.close(), _CLOSING_S)


def link_to(settings: Mapping[str, str], scope: Scope = Scope.CONSUMER, *, creates_topics: bool = False) -> Link:
    """This process's link to the cluster of these settings, made when it is first asked for.

    Nothing is connected before it is used. `scope` says whose settings they are: a source's are those of a consumer, a
    sink's those of a producer. With `creates_topics`, brokers that do so for a producer create a topic that it asks for
    and that is missing; the topic of decisions must never come into being like that.
    """
    key = (os.getpid(), scope, creates_topics, frozenset(settings.items()))
    with _lock:
        link = _links.pop(key, None)
        if link is None or not link.usable:
            link = Link(settings, scope, _loop(), creates_topics=creates_topics)
        _links[key] = link  # the last used is the last
        unused = [] if len(_links) <= LINKS_MAX else [_links.pop(next(iter(_links)))]
    for each in unused:
        each.close()
    return link


def close_links() -> None:
    """Let go of all links of this process: for tests, and for who ends before the process does."""
    with _lock:
        links = [*_links.values()]
        _links.clear()
    for each in links:
        each.close()


def _loop() -> BackgroundLoop:
    loop = _loops.get(os.getpid())
    if loop is None or loop.unusable is not None:
        _loops.clear()
        loop = _loops[os.getpid()] = BackgroundLoop("moldau-pipeline")
    return loop


async def _cluster(settings: dict[str, str], scope: Scope, creates_topics: bool) -> Cluster:
    """It has to be made inside the loop, and so has an admin."""
    return Cluster(client_settings(scope, settings, {}), allow_auto_topic_creation=creates_topics)


async def _admin(settings: dict[str, str]) -> Admin:
    return _new_admin(settings)


def _new_admin(settings: dict[str, str]) -> Admin:
    """With what an admin knows of the settings."""
    from moldau.clients.admin.admin import Admin

    known = schema_of(Scope.ADMIN)
    return Admin({name: value for name, value in settings.items() if known.find(name) is not None})


def _after_fork() -> None:
    """A lock that another thread of the parent held at the fork would be held for ever."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
