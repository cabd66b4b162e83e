"""Broker settings: authorization, identity, SASL, TLS and secrets.

TLS and SASL settings are those that clients have too. They differ in that a running broker takes new values of
most of them, that Kafka ranks some higher, and that it does not limit when a broker renews its logins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from moldau.base.config.allowed import ANY, NON_NULL, OneOf, at_least
from moldau.base.config.schema import (
    BOOLEAN,
    CLASS,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    NOT_IMPLEMENTED,
    PASSWORD,
    PER_BROKER,
    STRING,
    Section,
    Setting,
)
from moldau.base.config.tables.security import KERBEROS, OAUTHBEARER, RENEWAL, SASL, TLS

_LOW_AT_BROKER: Final = (
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.secure.random.implementation",
)


def _tls_at_broker(row: Setting) -> Setting:
    """As a broker has it: changeable while it runs, and with no suite named instead of null."""
    return replace(
        row,
        dynamic=PER_BROKER,
        importance=LOW if row.name in _LOW_AT_BROKER else MEDIUM,
        default=() if row.name == "ssl.cipher.suites" else row.default,
    )


# fmt: off
SECTIONS: Final = (
    Section("Authorization and identity", "Who a connection is taken for, and what it may do.", (
        Setting("authorizer.class.name", STRING, "", NON_NULL, LOW, NOT_IMPLEMENTED,
            "Class that decides who may do what; empty means that everybody may do everything."),
        Setting("super.users", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Principals who may do everything, separated by semicolons.", listed=False),
        Setting("allow.everyone.if.no.acl.found", BOOLEAN, False, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Whether a resource without any ACL is open to all.", listed=False),
        Setting("principal.builder.class", CLASS,
            "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", ANY, MEDIUM,
            NOT_IMPLEMENTED,
            "Class that makes a principal of a connection.", dynamic=PER_BROKER),
        Setting("ssl.principal.mapping.rules", STRING, "DEFAULT", ANY, LOW, NOT_IMPLEMENTED,
            "Rules that turn the name in a client's certificate into a user name."),
        Setting("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), ANY, MEDIUM, NOT_IMPLEMENTED,
            "Rules that turn a Kerberos principal into a user name.", dynamic=PER_BROKER),
        Setting("security.inter.broker.protocol", STRING, "PLAINTEXT",
            OneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), MEDIUM, NOT_IMPLEMENTED,
            "Protocol brokers speak with each other, where no listener is named for it."),
        Setting("ssl.client.auth", STRING, "none", OneOf("required", "requested", "none"), MEDIUM, NOT_IMPLEMENTED,
            "Whether clients need a certificate: required, requested or none.", dynamic=PER_BROKER),
        Setting("ssl.allow.dn.changes", BOOLEAN, False, ANY, LOW, NOT_IMPLEMENTED,
            "Whether a new certificate may carry another name."),
        Setting("ssl.allow.san.changes", BOOLEAN, False, ANY, LOW, NOT_IMPLEMENTED,
            "Whether a new certificate may carry other host names."),
        Setting("security.providers", STRING, None, ANY, LOW, NOT_IMPLEMENTED,
            "Java classes that supply security providers."),
    )),
    Section("SASL on the broker", "Which mechanisms are offered, and how brokers log in with each other.", (
        Setting("sasl.enabled.mechanisms", LIST, ("GSSAPI",), ANY, MEDIUM, NOT_IMPLEMENTED,
            "Mechanisms that clients may log in with.", dynamic=PER_BROKER),
        Setting("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", ANY, MEDIUM, NOT_IMPLEMENTED,
            "Mechanism brokers log in with at each other.", dynamic=PER_BROKER),
        Setting("sasl.mechanism.controller.protocol", STRING, "GSSAPI", ANY, HIGH, NOT_IMPLEMENTED,
            "Mechanism brokers log in with at KRaft controllers."),
        Setting("sasl.server.callback.handler.class", CLASS, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Class that answers a mechanism's questions on the server's side."),
        Setting("sasl.server.max.receive.size", INT, 524288, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Most bytes a client may send in one step of its login."),
        Setting("connections.max.reauth.ms", LONG, 0, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Time after which a client must log in again; 0 is never."),
    )),
    Section("Delegation tokens and stored passwords",
        "Tokens that stand for a user, and how passwords in dynamic settings are kept.", (
        Setting("delegation.token.secret.key", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Secret with which tokens are signed, the same on all brokers; without it there are no tokens."),
        Setting("delegation.token.master.key", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Older name of delegation.token.secret.key."),
        Setting("delegation.token.max.lifetime.ms", LONG, 604800000, at_least(1), MEDIUM, NOT_IMPLEMENTED,
            "Longest life of a token with all renewals."),
        Setting("delegation.token.expiry.time.ms", LONG, 86400000, at_least(1), MEDIUM, NOT_IMPLEMENTED,
            "How long a token lives unless it is renewed."),
        Setting("delegation.token.expiry.check.interval.ms", LONG, 3600000, at_least(1), LOW, NOT_IMPLEMENTED,
            "How often expired tokens are removed."),
        Setting("password.encoder.secret", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Secret with which passwords in dynamic settings are encrypted."),
        Setting("password.encoder.old.secret", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "The value of password.encoder.secret before it was changed, to read what is stored."),
        Setting("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", ANY, LOW, NOT_IMPLEMENTED,
            "Cipher that passwords in dynamic settings are encrypted with."),
        Setting("password.encoder.keyfactory.algorithm", STRING, None, ANY, LOW, NOT_IMPLEMENTED,
            "How the key is derived from password.encoder.secret; null is the best there is."),
        Setting("password.encoder.key.length", INT, 128, at_least(8), LOW, NOT_IMPLEMENTED,
            "Length in bits of the key derived from password.encoder.secret."),
        Setting("password.encoder.iterations", INT, 4096, at_least(1024), LOW, NOT_IMPLEMENTED,
            "Rounds in deriving the key from password.encoder.secret."),
    )),
    replace(TLS, settings=tuple(map(_tls_at_broker, TLS.settings))),
    SASL.with_rows(replace(SASL["sasl.jaas.config"], dynamic=PER_BROKER)),
    replace(RENEWAL, settings=tuple(
        replace(row, dynamic=PER_BROKER, importance=MEDIUM, allowed=ANY) for row in RENEWAL.settings
    )),
    OAUTHBEARER,
    replace(KERBEROS, settings=tuple(
        replace(row, dynamic=PER_BROKER, importance=MEDIUM) for row in KERBEROS.settings
    )),
)
