"""A broker that takes part in elections, and is the controller while it has a term.

Each broker watches /controller. When it is not there, whoever creates it first begins a `Term`: takes over, and from
then on carries out events. When another broker is found there, or the fence refuses a write, the term is over.

Watches tell one callback, which knows by the path what event to queue; an event for the active controller only is left
out when there is no term. What request handlers ask goes through the same queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.topic_config import TopicConfig
from moldau.base.supervision import Supervisor
from moldau.base.timers import LoopTimers
from moldau.base.wheel import Timer
from moldau.cluster.errors import ConnectionLoss, CoordinationError, SessionExpired
from moldau.cluster.store import CoordinationSession, SessionState, WatchEvent
from moldau.cluster.znodes.layout import CONTROLLER
from moldau.controller.broker_channels import BrokerChannels
from moldau.controller.election import NO_CONTROLLER, claim, find_controller, give_up
from moldau.controller.events import EventQueue, not_controller
from moldau.controller.failover import take_over
from moldau.controller.fencing import ControllerMoved
from moldau.controller.leader_elections import rebalance_leaders
from moldau.controller.term import Term, TermWork
from moldau.controller.watched_paths import work_of

logger = logging.getLogger(__name__)

FIRST_REBALANCE_MS = 5_000
ELECTION_RETRY_MS = 1_000
"""After a takeover that failed or a lost connection: not at once, since whatever it was may take its time."""

GIVE_UP_MS_MAX = 2_000
"""Resigning in so many words is a courtesy: the session ends right after it."""

Result = TypeVar("Result")


class Candidate:
    def __init__(
        self,
        broker_id: int,
        session: CoordinationSession,
        channels: BrokerChannels,
        *,
        config: Callable[[], BrokerConfig],
        topic_config: Callable[[str], Awaitable[TopicConfig]],
        supervisor: Supervisor,
        clock: Clock,
        timers: LoopTimers,
    ) -> None:
        self._broker_id = broker_id
        self._session = session
        self._channels = channels
        self._config = config
        self._topic_config = topic_config
        self._clock = clock
        self._timers = timers
        self._events = EventQueue(supervisor, self._event_failed)
        self._term: Term | None = None
        self._rebalance_timer: Timer | None = None
        self._retry_timer: Timer | None = None
        """While it runs this broker does not try to be elected."""
        self.controller_id = NO_CONTROLLER
        """Who is the controller, as far as this broker knows."""

    @property
    def is_active(self) -> bool:
        return self._term is not None and not self._session.state.is_over

    @property
    def epoch(self) -> int:
        """The own epoch while active; 0 otherwise."""
        return 0 if self._term is None else self._term.claim.epoch

    # -- life

    async def start(self) -> None:
        """To be called when the broker is registered; returns when it is known who the controller is."""
        self._events.start()
        self._session.add_listener(self._session_changed)
        with suppress(ControllerMoved):  # elected and replaced at once: that is known, too
            await self._events.call("start", self._elect)

    async def stop(self) -> None:
        """Resign, and let others be elected at once if this was the controller."""
        await self._events.stop()
        term = self._term
        self._resign()
        self._stop_waiting()
        if term is not None and self._session.state is SessionState.CONNECTED:
            try:
                async with asyncio.timeout(GIVE_UP_MS_MAX / 1000):
                    await give_up(self._session, term.claim.epoch_version)
            except (CoordinationError, TimeoutError) as error:
                logger.info("/controller stays until the session ends: %s", str(error) or "no answer")

    async def _elect(self) -> None:
        """Look who the controller is; if there is none, try to become it."""
        self.controller_id, is_ours = await find_controller(self._session, self._watched)
        if self.controller_id == self._broker_id and is_ours and self._term is not None:
            return
        self._resign()
        if (self.controller_id != NO_CONTROLLER and not is_ours) or self._retry_timer is not None:
            return
        claimed = await claim(self._session, self._broker_id, self._clock.now_ms(), again=is_ours)
        if claimed is None:
            self.controller_id, _ = await find_controller(self._session, self._watched)
            if self.controller_id == NO_CONTROLLER:
                self._elect_soon()  # whoever was faster is gone already
            return
        logger.info("broker %d is elected controller with epoch %d", self._broker_id, claimed.epoch)
        self.controller_id = self._broker_id
        term = self._term = Term(
            self._broker_id,
            claimed,
            self._session,
            self._channels,
            config=self._config,
            topic_config=self._topic_config,
            watcher=self._watched,
            enqueue=self._enqueue,
        )
        try:
            await take_over(term)
        except (ControllerMoved, ConnectionLoss, SessionExpired):
            raise
        except Exception:
            logger.exception("broker %d cannot take over as controller, and resigns", self._broker_id)
            self._resign()
            self._retry_later()
            await give_up(self._session, claimed.epoch_version)
            return
        self._rebalance_in(FIRST_REBALANCE_MS)

    def _resign(self) -> None:
        if self._rebalance_timer is not None:
            self._rebalance_timer.cancel()
            self._rebalance_timer = None
        if self._term is not None:
            logger.info("broker %d is not the controller any more", self._broker_id)
            self._term.end()
            self._term = None
        if self.controller_id == self._broker_id:
            self.controller_id = NO_CONTROLLER

    async def _event_failed(self, name: str, error: Exception) -> None:
        """An event came to no good end. Whoever is not sure to be the controller any more begins anew."""
        if isinstance(error, ControllerMoved | ConnectionLoss | SessionExpired):
            logger.info("event '%s' was broken off: %s", name, error)
            self._resign()
            if isinstance(error, ControllerMoved):
                self._elect_soon()
            elif isinstance(error, ConnectionLoss):
                self._retry_later()
            return
        logger.error("event '%s' failed", name, exc_info=error)
        if self._term is not None:
            self._term.requests.discard()

    # -- what is heard

    def _elect_soon(self) -> None:
        self._events.put_once("elect", self._elect)

    def _retry_later(self) -> None:
        self._stop_waiting()
        self._retry_timer = self._timers.add(ELECTION_RETRY_MS, self._retry)

    def _retry(self) -> None:
        self._stop_waiting()
        self._elect_soon()

    def _stop_waiting(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._retry()
        elif state.is_over:
            self._resign()  # at once: nothing that waits in the queue may be done in the next session as the controller

    def _watched(self, event: WatchEvent) -> None:
        if event.path == CONTROLLER:
            self._elect_soon()
        else:
            work = work_of(event)
            if work is not None:
                self._put_once(event.path, work)

    def _put_once(self, name: str, work: TermWork) -> None:
        self._events.put_once(name, partial(self._for_current_term, work))

    async def _for_current_term(self, work: TermWork) -> None:
        if self._term is not None:
            await work(self._term)

    def _enqueue(self, name: str, work: TermWork) -> None:
        """For a term: what it queues is done in that term or not at all."""
        term = self._term

        async def in_the_same_term() -> None:
            if term is not None and self._term is term:
                await work(term)

        self._events.put(name, in_the_same_term)

    def _rebalance_in(self, delay_ms: int) -> None:
        self._rebalance_timer = self._timers.add(delay_ms, lambda: self._put_once("rebalance leaders", self._rebalance))

    async def _rebalance(self, term: Term) -> None:
        config = self._config()
        self._rebalance_in(config.integer("leader.imbalance.check.interval.seconds") * 1000)
        if config.boolean("auto.leader.rebalance.enable"):
            await rebalance_leaders(term)

    # -- what is asked

    async def _call(self, name: str, work: Callable[[Term], Awaitable[Result]]) -> Result:
        async def as_controller() -> Result:
            if self._term is None:
                raise not_controller()
            return await work(self._term)

        if not self.is_active:
            raise not_controller()
        try:
            return await self._events.call(name, as_controller)
        except (ControllerMoved, ConnectionLoss, SessionExpired) as error:
            raise not_controller() from error
