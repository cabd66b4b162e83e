"""OffsetForLeaderEpoch (23): where a leader epoch ends in a leader's log.

v1: the epoch of the answer; answer + leader_epoch.
v2: fencing by leader epoch (KIP-320); request + current_leader_epoch; answer + throttle_time_ms.
v3: who asks: a follower, a consumer or a debugger; request + replica_id.
v4: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class OffsetForLeaderPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Int32 = wire("2+", default=-1, ignorable=True)
    leader_epoch: Int32 = 0


@struct
class OffsetForLeaderTopic(Struct):
    topic: String = ""
    partitions: list[OffsetForLeaderPartition] = wire(default=[])


@message(key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    replica_id: Int32 = wire("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = wire(default=[])


@struct
class EpochEndOffset(Struct):
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Int32 = wire("1+", default=-1, ignorable=True)
    end_offset: Int64 = -1


@struct
class OffsetForLeaderTopicResult(Struct):
    topic: String = ""
    partitions: list[EpochEndOffset] = wire(default=[])


@message(key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: Int32 = wire("2+", default=0, ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = wire(default=[])
