"""What members of a classic consumer group tell each other through the coordinator, which does not read it.

Subscription v1: owned partitions (KIP-429); v2: generation (KIP-792); v3: rack (KIP-881). A blob begins with its
version; a reader takes what it knows of a newer one.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int32, Message, String, Struct, message, struct, wire


@struct
class TopicPartition(Struct):
    topic: String = ""
    partitions: list[Int32] = wire(default=[])


@message(versions="0-3")
class ConsumerProtocolSubscription(Message):
    topics: list[String] = wire(default=[])
    user_data: Bytes | None = wire(default=None, null="0+")
    owned_partitions: list[TopicPartition] = wire("1+", default=[], ignorable=True)
    generation_id: Int32 = wire("2+", default=-1, ignorable=True)
    rack_id: String | None = wire("3+", default=None, null="3+", ignorable=True)


@message(versions="0-3")
class ConsumerProtocolAssignment(Message):
    assigned_partitions: list[TopicPartition] = wire(default=[])
    user_data: Bytes | None = wire(default=None, null="0+")
