"""Fetch: record batches from partitions, for consumers and for followers.

Up to version 2 no answer is larger than what was asked for. Versions 0 to 3 get the older record formats. From 4 a
consumer may ask for committed records only, from 7 there are sessions, from 11 consumers may read from followers, from
13 topics go by id, and from 15 a follower says its broker epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.fetching import Fetch, Follower
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from moldau.replication.delayed_fetch import FetchIsolation
from moldau.replication.fetch_session import FetchContext
from moldau.replication.follower_watch import FollowerWatch
from moldau.replication.reading import Reading, refusal

if TYPE_CHECKING:
    from moldau.broker.node import Node

READ_COMMITTED = 1
FROM_FOLLOWERS_VERSION = 11

CONSUMER = Reading(FetchIsolation.HIGH_WATERMARK)
READINGS = {
    (READ_COMMITTED, True): Reading(FetchIsolation.TXN_COMMITTED),
    (READ_COMMITTED, False): Reading(FetchIsolation.TXN_COMMITTED, only_leader=False),
    (0, True): CONSUMER,
    (0, False): CONSUMER._replace(only_leader=False),
}
REPLICATION = Reading(FetchIsolation.LOG_END)


def refused(request: FetchRequest, code: ErrorCode, _message: str) -> FetchResponse:
    """Version 7 and later have a code for the whole, older ones have it in every partition."""
    topics = [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[refusal(partition.partition, code) for partition in topic.partitions],
        )
        for topic in request.topics
    ]
    return FetchResponse(error_code=code, responses=topics)


@handles(ApiKey.FETCH, "0-18", on_error=refused)
def fetch(node: Node, request: FetchRequest, call: Call) -> FetchResponse | None:
    follower = follower_of(request)
    context = node.fetch_sessions.context(
        request,
        call.version,
        node.metadata.topic_names,
        is_follower=follower is not None,
        now_ms=node.clock.monotonic_ms(),
    )
    if context.error:
        return context.respond((), 0)
    if follower is not None:
        return Fetch(node, request, call, context, REPLICATION, follower, watch_of(node, context, follower)).start()
    reading = READINGS.get((request.isolation_level, call.version < FROM_FOLLOWERS_VERSION), CONSUMER)
    return Fetch(node, request, call, context, reading, None).start()


def watch_of(node: Node, context: FetchContext, follower: Follower) -> FollowerWatch | None:
    """What is kept between the fetches of a follower's session, if this is one of its fetches."""
    session = context.session
    if session is None:
        return None
    watch = session.watch
    if not isinstance(watch, FollowerWatch):
        watch = FollowerWatch(node.replicas, node.timers, session, follower.broker_id)
    if watch.broker_epoch != follower.broker_epoch:  # another life of the broker: all that was known of it is void
        watch.broker_epoch = follower.broker_epoch
        watch.look_at_all(session)
    watch.fetched_ms = node.clock.monotonic_ms()
    return watch


def follower_of(request: FetchRequest) -> Follower | None:
    state = request.replica_state
    if state is not None:
        return Follower(state.replica_id, state.replica_epoch) if state.replica_id >= 0 else None
    return Follower(request.replica_id, -1) if request.replica_id >= 0 else None
