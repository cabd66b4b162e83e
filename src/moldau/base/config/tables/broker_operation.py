"""Broker settings: identity, quotas and metrics."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, at_least
from moldau.base.config.schema import (
    BOOLEAN,
    CLASS,
    CLUSTER_WIDE,
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
    Section("Identity, quotas and policies", "What a broker is called and how its quotas are measured.", (
        Setting("broker.id", INT, -1, ANY, HIGH, IMPLEMENTED,
            "Number of this broker in the cluster; -1 lets one be generated."),
        Setting("broker.id.generation.enable", BOOLEAN, True, ANY, MEDIUM, IMPLEMENTED,
            "Whether a broker without number is given one above reserved.broker.max.id."),
        Setting("reserved.broker.max.id", INT, 1000, at_least(0), MEDIUM, IMPLEMENTED,
            "Largest number a person may give a broker while numbers are generated."),
        Setting("quota.window.num", INT, 11, at_least(1), LOW, NOT_IMPLEMENTED,
            "Windows over which the rates of clients are measured."),
        Setting("quota.window.size.seconds", INT, 1, at_least(1), LOW, NOT_IMPLEMENTED,
            "Length of each window over which the rates of clients are measured."),
        Setting("replication.quota.window.num", INT, 11, at_least(1), LOW, IMPLEMENTED,
            "Windows over which throttled replication is measured."),
        Setting("replication.quota.window.size.seconds", INT, 1, at_least(1), LOW, IMPLEMENTED,
            "Length of each window over which throttled replication is measured."),
        Setting("alter.log.dirs.replication.quota.window.num", INT, 11, at_least(1), LOW, IMPLEMENTED,
            "Windows over which moves between log directories are measured."),
        Setting("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, at_least(1), LOW, IMPLEMENTED,
            "Length of each window over which moves between log directories are measured."),
        Setting("controller.quota.window.num", INT, 11, at_least(1), LOW, NOT_IMPLEMENTED,
            "Windows over which changes of topics are measured."),
        Setting("controller.quota.window.size.seconds", INT, 1, at_least(1), LOW, NOT_IMPLEMENTED,
            "Length of each window over which changes of topics are measured."),
        Setting("client.quota.callback.class", CLASS, None, ANY, LOW, NOT_IMPLEMENTED,
            "Class that decides which quota a client has."),
    )),
    Section("Metrics", "How measurements are taken and who is told of them.", (
        Setting("metric.reporters", LIST, (), ANY, LOW, NOT_IMPLEMENTED,
            "Classes that are told of every metric.", dynamic=CLUSTER_WIDE),
        Setting("metrics.num.samples", INT, 2, at_least(1), LOW, NOT_IMPLEMENTED,
            "Samples from which a rate or an average is computed."),
        Setting("metrics.sample.window.ms", LONG, 30000, at_least(1), LOW, NOT_IMPLEMENTED,
            "Length of one sample of a metric."),
        Setting("metrics.recording.level", STRING, "INFO", ANY, LOW, NOT_IMPLEMENTED,
            "Least important metrics that are recorded: INFO, DEBUG or TRACE."),
        Setting("auto.include.jmx.reporter", BOOLEAN, True, ANY, LOW, NOT_IMPLEMENTED,
            "Whether a reporter over JMX is added, which needs a Java process."),
        Setting("kafka.metrics.reporters", LIST, (), ANY, LOW, NOT_IMPLEMENTED,
            "Classes of an older metrics library that are told of its metrics."),
        Setting("kafka.metrics.polling.interval.secs", INT, 10, at_least(1), LOW, NOT_IMPLEMENTED,
            "How often the classes of kafka.metrics.reporters are told."),
        Setting("telemetry.max.bytes", INT, 1048576, at_least(1), LOW, NOT_IMPLEMENTED,
            "Largest set of metrics a client may push (KIP-714)."),
    )),
)
