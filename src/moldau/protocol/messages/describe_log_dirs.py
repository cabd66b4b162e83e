"""DescribeLogDirs (35): the log directories of a broker and what is in them.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
v3: a top-level error; answer + error_code.
v4: the size of the volume (KIP-827); answer + total_bytes, usable_bytes.
v5: cordoned directories (KIP-1066); answer + is_cordoned.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class DescribableLogDirTopic(Struct):
    topic: String = ""
    partitions: list[Int32] = wire(default=[])


@message(key=35, versions="0-5", flexible="2+")
class DescribeLogDirsRequest(Message):
    topics: list[DescribableLogDirTopic] | None = wire(default=[], null="0+")


@struct
class DescribeLogDirsPartition(Struct):
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: Bool = False


@struct
class DescribeLogDirsTopic(Struct):
    name: String = ""
    partitions: list[DescribeLogDirsPartition] = wire(default=[])


@struct
class DescribeLogDirsResult(Struct):
    error_code: Int16 = 0
    log_dir: String = ""
    topics: list[DescribeLogDirsTopic] = wire(default=[])
    total_bytes: Int64 = wire("4+", default=-1, ignorable=True)
    usable_bytes: Int64 = wire("4+", default=-1, ignorable=True)
    is_cordoned: Bool = wire("5+", default=False, ignorable=True)


@message(key=35, versions="0-5", flexible="2+")
class DescribeLogDirsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = wire("3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult] = wire(default=[])
