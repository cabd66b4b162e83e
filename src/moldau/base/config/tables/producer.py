"""Producer settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from moldau.base.config.allowed import ANY, NON_EMPTY, NON_NULL, OneOf, RangeOrMinusOne, at_least, between
from moldau.base.config.schema import (
    BOOLEAN,
    CLASS,
    HIGH,
    IMPLEMENTED,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    NOT_IMPLEMENTED,
    REQUIRED,
    STRING,
    Section,
    Setting,
)
from moldau.base.config.tables.client_connection import CONNECTION, METRICS
from moldau.base.config.tables.client_security import SECURITY
from moldau.base.config.tables.security import KERBEROS, OAUTHBEARER, RENEWAL, SASL, TLS

# fmt: off
SECTIONS: Final = (
    Section("Producer", "How records are serialized, partitioned, collected into batches and sent.", (
        Setting("key.serializer", CLASS, REQUIRED, ANY, HIGH, IMPLEMENTED,
            "Turns keys into bytes."),
        Setting("value.serializer", CLASS, REQUIRED, ANY, HIGH, IMPLEMENTED,
            "Turns values into bytes."),
        Setting("acks", STRING, "all", OneOf("all", "-1", "0", "1"), LOW, IMPLEMENTED,
            "Who must have a batch before it is acknowledged: nobody (0), the leader (1), all in-sync replicas "
            "(all)."),
        Setting("retries", INT, INT_MAX, between(0, INT_MAX), HIGH, IMPLEMENTED,
            "How often a batch that failed for a passing reason is sent again."),
        Setting("delivery.timeout.ms", INT, 120000, at_least(0), MEDIUM, IMPLEMENTED,
            "Time from send to success or failure, with all retries."),
        Setting("enable.idempotence", BOOLEAN, True, ANY, LOW, IMPLEMENTED,
            "Whether each record is written exactly once to its partition, in order, in spite of retries."),
        Setting("max.in.flight.requests.per.connection", INT, 5, at_least(1), LOW, IMPLEMENTED,
            "Requests sent to a broker and not yet answered."),
        Setting("buffer.memory", LONG, 33554432, at_least(0), HIGH, IMPLEMENTED,
            "Bytes of records that may wait to be sent."),
        Setting("max.block.ms", LONG, 60000, at_least(0), MEDIUM, IMPLEMENTED,
            "How long send waits for memory or for knowledge of the topic."),
        Setting("batch.size", INT, 16384, at_least(0), MEDIUM, IMPLEMENTED,
            "Bytes at which a batch is sent without further waiting; 0 turns batching off."),
        Setting("linger.ms", LONG, 0, at_least(0), MEDIUM, IMPLEMENTED,
            "How long a batch that is not full waits for more records."),
        Setting("max.request.size", INT, 1048576, at_least(0), MEDIUM, IMPLEMENTED,
            "Largest request, and so the largest record before compression."),
        Setting("compression.type", STRING, "none", OneOf("none", "gzip", "snappy", "lz4", "zstd"), HIGH,
            IMPLEMENTED,
            "Codec in which batches are sent."),
        Setting("compression.gzip.level", INT, -1, RangeOrMinusOne(1, 9), MEDIUM, IMPLEMENTED,
            "Effort of gzip, 9 being the most; -1 is the library's own choice."),
        Setting("compression.lz4.level", INT, 9, between(1, 17), MEDIUM, IMPLEMENTED,
            "Effort of lz4, 17 being the most."),
        Setting("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM, IMPLEMENTED,
            "Effort of zstd, 22 being the most and negative ones the fastest."),
        Setting("partitioner.class", CLASS, None, ANY, MEDIUM, IMPLEMENTED,
            "Chooses the partition; null takes the hash of the key, or a sticky partition where there is none."),
        Setting("partitioner.ignore.keys", BOOLEAN, False, ANY, MEDIUM, IMPLEMENTED,
            "Whether the partition is chosen as if there were no key."),
        Setting("partitioner.adaptive.partitioning.enable", BOOLEAN, True, ANY, LOW, IMPLEMENTED,
            "Whether brokers that answer faster are given more of the records without key."),
        Setting("partitioner.availability.timeout.ms", LONG, 0, at_least(0), LOW, NOT_IMPLEMENTED,
            "Partitions whose broker takes nothing for this long are left out; 0 is never."),
        Setting("interceptor.classes", LIST, (), NON_NULL, LOW, IMPLEMENTED,
            "Classes that see every record before it is sent and every acknowledgement."),
        Setting("metadata.max.idle.ms", LONG, 300000, at_least(5000), LOW, IMPLEMENTED,
            "A topic not written to for this long is no longer refreshed."),
        Setting("transactional.id", STRING, None, NON_EMPTY, LOW, IMPLEMENTED,
            "Name of the producer across restarts; setting it makes transactions possible."),
        Setting("transaction.timeout.ms", INT, 60000, ANY, LOW, IMPLEMENTED,
            "Time after which the coordinator aborts an open transaction."),
    )),
    CONNECTION.with_rows(replace(CONNECTION["receive.buffer.bytes"], default=32768)),
    METRICS, SECURITY, TLS, SASL, RENEWAL, OAUTHBEARER, KERBEROS,
)
