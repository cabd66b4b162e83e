"""Consumer settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from moldau.base.config.allowed import ANY, NON_EMPTY, NON_NULL, OffsetReset, OneOf, OneOfAnyCase, at_least
from moldau.base.config.schema import (
    BOOLEAN,
    CLASS,
    HIGH,
    IMPLEMENTED,
    INT,
    LIST,
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
    Section("Consumer", "How records are fetched and deserialized.", (
        Setting("key.deserializer", CLASS, REQUIRED, ANY, HIGH, IMPLEMENTED,
            "Turns bytes into keys."),
        Setting("value.deserializer", CLASS, REQUIRED, ANY, HIGH, IMPLEMENTED,
            "Turns bytes into values."),
        Setting("fetch.min.bytes", INT, 1, at_least(0), HIGH, IMPLEMENTED,
            "Bytes a broker should collect before it answers a fetch."),
        Setting("fetch.max.wait.ms", INT, 500, at_least(0), LOW, IMPLEMENTED,
            "How long a broker may collect fetch.min.bytes before it answers anyway."),
        Setting("fetch.max.bytes", INT, 52428800, at_least(0), MEDIUM, IMPLEMENTED,
            "Most bytes of one answer; a first batch that is larger is returned all the same."),
        Setting("max.partition.fetch.bytes", INT, 1048576, at_least(0), HIGH, IMPLEMENTED,
            "Most bytes of one partition in an answer; a first batch that is larger is returned all the same."),
        Setting("max.poll.records", INT, 500, at_least(1), MEDIUM, IMPLEMENTED,
            "Most records one poll returns."),
        Setting("isolation.level", STRING, "read_uncommitted", OneOf("read_committed", "read_uncommitted"), MEDIUM,
            IMPLEMENTED,
            "Whether records of open and aborted transactions are returned."),
        Setting("check.crcs", BOOLEAN, True, ANY, LOW, IMPLEMENTED,
            "Whether the checksum of each batch is verified."),
        Setting("auto.offset.reset", STRING, "latest", OffsetReset("latest", "earliest", "none"), MEDIUM, IMPLEMENTED,
            "Where to begin without a committed offset: at the earliest record, after the latest, or with an error."),
        Setting("allow.auto.create.topics", BOOLEAN, True, ANY, MEDIUM, IMPLEMENTED,
            "Whether subscribing may create a topic, if the broker allows that too."),
        Setting("exclude.internal.topics", BOOLEAN, True, ANY, MEDIUM, IMPLEMENTED,
            "Whether a subscribed pattern leaves out internal topics."),
        Setting("client.rack", STRING, "", ANY, LOW, IMPLEMENTED,
            "Where the consumer stands, so that it can read from a replica nearby."),
        Setting("interceptor.classes", LIST, (), NON_NULL, LOW, IMPLEMENTED,
            "Classes that see every record before poll returns it and every commit."),
        Setting("default.api.timeout.ms", INT, 60000, at_least(0), MEDIUM, IMPLEMENTED,
            "How long calls wait that are given no time of their own."),
    )),
    Section("Groups and offsets", "How a consumer shares partitions with others and remembers where it was.", (
        Setting("group.id", STRING, None, ANY, HIGH, IMPLEMENTED,
            "Group the consumer belongs to."),
        Setting("group.instance.id", STRING, None, NON_EMPTY, MEDIUM, IMPLEMENTED,
            "Name of a static member, whose restart causes no rebalance."),
        Setting("group.protocol", STRING, "classic", OneOfAnyCase("CONSUMER", "CLASSIC"), HIGH, IMPLEMENTED,
            "Whether the group's leader assigns partitions (classic) or the broker does (consumer)."),
        Setting("group.remote.assignor", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Assignor the broker should use, in the consumer protocol."),
        Setting("partition.assignment.strategy", LIST,
            ("org.apache.kafka.clients.consumer.RangeAssignor",
             "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
            NON_NULL, MEDIUM, IMPLEMENTED,
            "Assignors the member supports, best first, in the classic protocol."),
        Setting("session.timeout.ms", INT, 45000, ANY, HIGH, IMPLEMENTED,
            "A member the coordinator has not heard of for this long is removed."),
        Setting("heartbeat.interval.ms", INT, 3000, ANY, HIGH, IMPLEMENTED,
            "How often the member reports, well below the session timeout."),
        Setting("max.poll.interval.ms", INT, 300000, at_least(1), MEDIUM, IMPLEMENTED,
            "A member that does not call poll for this long leaves the group."),
        Setting("enable.auto.commit", BOOLEAN, True, ANY, MEDIUM, IMPLEMENTED,
            "Whether offsets are committed now and then without being asked."),
        Setting("auto.commit.interval.ms", INT, 5000, at_least(0), LOW, IMPLEMENTED,
            "How often offsets are committed where enable.auto.commit is on."),
    )),
    CONNECTION.with_rows(replace(CONNECTION["client.id"], importance=LOW)),
    METRICS, SECURITY, TLS, SASL, RENEWAL, OAUTHBEARER, KERBEROS,
)
