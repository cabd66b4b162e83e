"""Admin client settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from moldau.base.config.allowed import ANY, at_least, between
from moldau.base.config.schema import (
    HIGH,
    IMPLEMENTED,
    INT,
    INT_MAX,
    LIST,
    LOW,
    MEDIUM,
    NOT_IMPLEMENTED,
    Section,
    Setting,
)
from moldau.base.config.tables.client_connection import CONNECTION, METRICS
from moldau.base.config.tables.client_security import SECURITY
from moldau.base.config.tables.security import KERBEROS, OAUTHBEARER, RENEWAL, SASL, TLS

# fmt: off
SECTIONS: Final = (
    Section("Admin client", "What only the admin client has.", (
        Setting("bootstrap.controllers", LIST, (), ANY, HIGH, NOT_IMPLEMENTED,
            "Controllers of a KRaft quorum to ask in place of brokers."),
        Setting("default.api.timeout.ms", INT, 60000, at_least(0), MEDIUM, IMPLEMENTED,
            "How long a call waits that is given no time of its own."),
        Setting("retries", INT, INT_MAX, between(0, INT_MAX), LOW, IMPLEMENTED,
            "How often a call that failed for a passing reason is tried again."),
    )),
    CONNECTION.with_rows(
        replace(CONNECTION["bootstrap.servers"], allowed=ANY),
        replace(CONNECTION["connections.max.idle.ms"], default=300000),
    ),
    METRICS.with_rows(replace(METRICS["metric.reporters"], allowed=ANY)),
    SECURITY, TLS, SASL, RENEWAL, OAUTHBEARER, KERBEROS,
)
