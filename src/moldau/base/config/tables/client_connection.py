"""Settings of every client: how to find brokers, how to keep in touch, how to measure."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, NON_NULL, OneOf, OneOfAnyCase, at_least
from moldau.base.config.schema import (
    BOOLEAN,
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
CONNECTION: Final = Section("Connection", "What every client needs to find brokers and to keep in touch with them.", (
    Setting("bootstrap.servers", LIST, (), NON_NULL, HIGH, IMPLEMENTED,
        "Brokers to ask first, as host:port; the rest of the cluster is learned from them."),
    Setting("client.id", STRING, "", ANY, MEDIUM, IMPLEMENTED,
        "Name under which the client appears in the broker's logs, metrics and quotas."),
    Setting("client.dns.lookup", STRING, "use_all_dns_ips",
        OneOf("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"), MEDIUM, NOT_IMPLEMENTED,
        "Whether all addresses of a host name are tried, or host names are first made canonical."),
    Setting("request.timeout.ms", INT, 30000, at_least(0), MEDIUM, IMPLEMENTED,
        "How long the answer to a request is waited for."),
    Setting("connections.max.idle.ms", LONG, 540000, ANY, MEDIUM, IMPLEMENTED,
        "A connection without traffic for this long is closed."),
    Setting("reconnect.backoff.ms", LONG, 50, at_least(0), LOW, IMPLEMENTED,
        "Pause before connecting again to a broker that could not be reached."),
    Setting("reconnect.backoff.max.ms", LONG, 1000, at_least(0), LOW, IMPLEMENTED,
        "Limit up to which the pause between attempts to connect doubles."),
    Setting("retry.backoff.ms", LONG, 100, at_least(0), LOW, IMPLEMENTED,
        "Pause before a failed request is repeated."),
    Setting("retry.backoff.max.ms", LONG, 1000, at_least(0), LOW, IMPLEMENTED,
        "Limit up to which the pause between repetitions of a request doubles."),
    Setting("socket.connection.setup.timeout.ms", LONG, 10000, ANY, MEDIUM, IMPLEMENTED,
        "Time to wait for a connection to be made."),
    Setting("socket.connection.setup.timeout.max.ms", LONG, 30000, ANY, MEDIUM, IMPLEMENTED,
        "Limit up to which the waiting time for a connection doubles with each failed attempt."),
    Setting("send.buffer.bytes", INT, 131072, at_least(-1), MEDIUM, IMPLEMENTED,
        "Send buffer of the socket in bytes; -1 leaves it to the operating system."),
    Setting("receive.buffer.bytes", INT, 65536, at_least(-1), MEDIUM, IMPLEMENTED,
        "Receive buffer of the socket in bytes; -1 leaves it to the operating system."),
    Setting("metadata.max.age.ms", LONG, 300000, at_least(0), LOW, IMPLEMENTED,
        "Age at which knowledge of the cluster is refreshed even if nothing seems to have changed."),
    Setting("metadata.recovery.strategy", STRING, "none", OneOfAnyCase("REBOOTSTRAP", "NONE"), LOW, IMPLEMENTED,
        "Whether a client that can reach no known broker starts again from bootstrap.servers."),
))

METRICS: Final = Section("Metrics", "How a client measures itself and who is told.", (
    Setting("metric.reporters", LIST, (), NON_NULL, LOW, NOT_IMPLEMENTED,
        "Classes that are told of every metric."),
    Setting("metrics.num.samples", INT, 2, at_least(1), LOW, NOT_IMPLEMENTED,
        "Samples from which a rate or an average is computed."),
    Setting("metrics.sample.window.ms", LONG, 30000, at_least(0), LOW, NOT_IMPLEMENTED,
        "Length of one sample of a metric."),
    Setting("metrics.recording.level", STRING, "INFO", OneOf("INFO", "DEBUG", "TRACE"), LOW, NOT_IMPLEMENTED,
        "Least important metrics that are recorded."),
    Setting("auto.include.jmx.reporter", BOOLEAN, True, ANY, LOW, NOT_IMPLEMENTED,
        "Whether a reporter over JMX is added, which needs a Java process."),
    Setting("enable.metrics.push", BOOLEAN, True, ANY, LOW, NOT_IMPLEMENTED,
        "Whether the client sends the broker the metrics it asks for (KIP-714)."),
))
