"""Producer, consumer and admin: the library that programs are written against; it works with any Kafka from 0.10.2 on.

One core, two faces. The core is asyncio (`moldau.aio`); the plain faces (`moldau.Producer`, `Consumer`, `Admin`) run it
in a loop of their own in a daemon thread. Names, settings and errors are the same.

Nouns, bottom-up:

    settings        ClientSettings: what was given, by Kafka's names or as keywords, checked, and the plug-ins it names
    records         TopicPartition, OffsetAndMetadata, GroupMetadata, RecordMetadata
    errors          what a client raises beside the errors of `base`
    serialization   values to bytes and back
    network/        Cluster: connections, metadata, coordinators, retries
    background      BackgroundLoop: where the plain faces run the core
    producer/  consumer/  admin/

Invariants: what decides is a plain object without I/O; every wait has a limit, and an error that ends one says what was
waited for and what failed last; nothing is connected before it is needed; what a user's callable raises never ends a
client.
May import: `net`, `records`, `protocol`, `metrics` and `base`. Nothing is imported here: a producer does not pay for a
consumer.
"""

from __future__ import annotations
