"""Settings of every client: what it speaks and how it logs in."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, OneOfAnyCase
from moldau.base.config.schema import BOOLEAN, IMPLEMENTED, LOW, MEDIUM, NOT_IMPLEMENTED, STRING, Section, Setting

# fmt: off
SECURITY: Final = Section("Security", "What a client says about itself.", (
    Setting("security.protocol", STRING, "PLAINTEXT", OneOfAnyCase("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"),
        MEDIUM, IMPLEMENTED,
        "What is spoken with brokers: plain or TLS, with or without SASL. All but PLAINTEXT are refused so far."),
    Setting("security.providers", STRING, None, ANY, LOW, NOT_IMPLEMENTED,
        "Java classes that supply security providers."),
    Setting("sasl.mechanism", STRING, "GSSAPI", ANY, MEDIUM, NOT_IMPLEMENTED,
        "SASL mechanism to log in with."),
    Setting("sasl.oauthbearer.header.urlencode", BOOLEAN, False, ANY, LOW, NOT_IMPLEMENTED,
        "Whether client id and secret are URL-encoded in the request for a token."),
))
