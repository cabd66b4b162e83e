"""Broker settings: KRaft, which this product does not have; since a cluster is coordinated through ZooKeeper."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, HOST_AND_PORT, QUORUM_VOTERS, EachOneOf, at_least
from moldau.base.config.schema import (
    HIGH,
    IMPLEMENTED,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    NOT_IMPLEMENTED,
    STRING,
    Section,
    Setting,
)

# fmt: off
SECTIONS: Final = (
    Section("KRaft", "Coordination without ZooKeeper, through a quorum of controllers; not part of this product.", (
        Setting("process.roles", LIST, (), EachOneOf("broker", "controller"), HIGH, NOT_IMPLEMENTED,
            "Whether the process is a broker, a controller or both; empty means ZooKeeper mode."),
        Setting("node.id", INT, -1, ANY, HIGH, IMPLEMENTED,
            "Number of this node; the same as broker.id."),
        Setting("controller.quorum.voters", LIST, (), QUORUM_VOTERS, HIGH, NOT_IMPLEMENTED,
            "Controllers of a fixed quorum as id@host:port."),
        Setting("controller.quorum.bootstrap.servers", LIST, (), HOST_AND_PORT, HIGH, NOT_IMPLEMENTED,
            "Controllers to ask first where the quorum can change."),
        Setting("controller.listener.names", STRING, None, ANY, HIGH, NOT_IMPLEMENTED,
            "Listeners on which controllers are reached, the first being the one brokers use."),
        Setting("controller.quorum.election.timeout.ms", INT, 1000, ANY, HIGH, NOT_IMPLEMENTED,
            "How long to wait for an elected leader before a new election."),
        Setting("controller.quorum.election.backoff.max.ms", INT, 1000, ANY, HIGH, NOT_IMPLEMENTED,
            "Longest pause between two elections."),
        Setting("controller.quorum.fetch.timeout.ms", INT, 2000, ANY, HIGH, NOT_IMPLEMENTED,
            "How long a follower goes on without hearing of its leader."),
        Setting("controller.quorum.request.timeout.ms", INT, 2000, ANY, MEDIUM, NOT_IMPLEMENTED,
            "How long the answer to a request of the quorum is waited for."),
        Setting("controller.quorum.retry.backoff.ms", INT, 20, ANY, LOW, NOT_IMPLEMENTED,
            "Pause before a failed request of the quorum is repeated."),
        Setting("controller.quorum.append.linger.ms", INT, 25, ANY, MEDIUM, NOT_IMPLEMENTED,
            "How long the leader collects records before it writes them."),
        Setting("broker.heartbeat.interval.ms", INT, 2000, ANY, MEDIUM, NOT_IMPLEMENTED,
            "How often a broker reports to the controller."),
        Setting("broker.session.timeout.ms", INT, 9000, ANY, MEDIUM, NOT_IMPLEMENTED,
            "A broker the controller has not heard of for this long is fenced."),
        Setting("initial.broker.registration.timeout.ms", INT, 60000, ANY, MEDIUM, NOT_IMPLEMENTED,
            "How long a starting broker tries to register."),
        Setting("metadata.log.dir", STRING, None, ANY, HIGH, NOT_IMPLEMENTED,
            "Directory of the metadata log; null is the first log directory."),
        Setting("metadata.log.segment.bytes", INT, 1073741824, at_least(12), HIGH, NOT_IMPLEMENTED,
            "Size at which the metadata log begins a new segment."),
        Setting("metadata.log.segment.ms", LONG, 604800000, ANY, HIGH, NOT_IMPLEMENTED,
            "Age at which the metadata log begins a new segment."),
        Setting("metadata.max.retention.bytes", LONG, 104857600, ANY, HIGH, NOT_IMPLEMENTED,
            "Size of metadata log and snapshots above which the oldest go."),
        Setting("metadata.max.retention.ms", LONG, 604800000, ANY, HIGH, NOT_IMPLEMENTED,
            "Age at which parts of the metadata log may go."),
        Setting("metadata.log.max.record.bytes.between.snapshots", LONG, 20971520, at_least(1), HIGH, NOT_IMPLEMENTED,
            "Bytes of metadata after which a snapshot is written."),
        Setting("metadata.log.max.snapshot.interval.ms", LONG, 3600000, at_least(0), HIGH, NOT_IMPLEMENTED,
            "Time after which a snapshot is written if anything changed; 0 is never."),
        Setting("metadata.max.idle.interval.ms", INT, 500, at_least(0), LOW, NOT_IMPLEMENTED,
            "How often an idle leader writes an empty record; 0 is never."),
    )),
)
