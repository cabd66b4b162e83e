"""Broker settings: transactions and idempotent producers."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, at_least
from moldau.base.config.schema import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    IMPLEMENTED,
    INT,
    LOW,
    SHORT,
    Section,
    Setting,
)

# fmt: off
SECTIONS: Final = (
    Section("Transactions and idempotence", "The transaction coordinator, its topic, and the memory of producers.", (
        Setting("transaction.max.timeout.ms", INT, 900000, at_least(1), HIGH, IMPLEMENTED,
            "Longest transaction timeout a producer may ask for."),
        Setting("transactional.id.expiration.ms", INT, 604800000, at_least(1), HIGH, IMPLEMENTED,
            "How long a transactional id without a transaction is remembered."),
        Setting("transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH, IMPLEMENTED,
            "Replicas of the transaction topic; if set, it is not made before there are as many brokers."),
        Setting("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH, IMPLEMENTED,
            "Partitions of the transaction topic; must not change once it exists."),
        Setting("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH, IMPLEMENTED,
            "In-sync replicas the transaction topic needs to be written."),
        Setting("transaction.state.log.segment.bytes", INT, 104857600, at_least(1), HIGH, IMPLEMENTED,
            "Segment size of the transaction topic, small so that it compacts and loads fast."),
        Setting("transaction.state.log.load.buffer.size", INT, 5242880, at_least(1), HIGH, IMPLEMENTED,
            "Bytes read at once when a coordinator loads its partition."),
        Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10000, at_least(1), LOW,
            IMPLEMENTED,
            "How often transactions past their timeout are looked for and aborted."),
        Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3600000, at_least(1), LOW,
            IMPLEMENTED,
            "How often expired transactional ids are looked for and forgotten."),
        Setting("transaction.partition.verification.enable", BOOLEAN, True, ANY, LOW, IMPLEMENTED,
            "Whether a leader asks the coordinator if a transaction is open before it writes to it (KIP-890).",
            dynamic=CLUSTER_WIDE),
        Setting("producer.id.expiration.ms", INT, 86400000, at_least(1), LOW, IMPLEMENTED,
            "How long a partition remembers the sequence numbers of a producer that writes nothing.",
            dynamic=CLUSTER_WIDE),
    )),
)
