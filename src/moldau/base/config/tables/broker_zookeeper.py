"""Broker settings: the connection to ZooKeeper."""

from __future__ import annotations

from typing import Final

from moldau.base.config.allowed import ANY, at_least
from moldau.base.config.schema import (
    BOOLEAN,
    HIGH,
    IMPLEMENTED,
    INT,
    LIST,
    LOW,
    MEDIUM,
    NOT_IMPLEMENTED,
    PASSWORD,
    STRING,
    Section,
    Setting,
)

# fmt: off
SECTIONS: Final = (
    Section("ZooKeeper", "The ensemble a cluster is coordinated through; a single process needs none.", (
        Setting("zookeeper.connect", STRING, None, ANY, HIGH, IMPLEMENTED,
            "ZooKeeper servers as host:port, comma separated, and a chroot path at the end; null: the embedded store."),
        Setting("zookeeper.connection.timeout.ms", INT, None, ANY, HIGH, IMPLEMENTED,
            "How long to try to connect; null means the session timeout."),
        Setting("zookeeper.session.timeout.ms", INT, 18000, ANY, HIGH, IMPLEMENTED,
            "A broker that ZooKeeper has not heard of for this long is taken as gone."),
        Setting("zookeeper.max.in.flight.requests", INT, 10, at_least(1), HIGH, IMPLEMENTED,
            "Requests sent to ZooKeeper and not yet answered."),
        Setting("zookeeper.set.acl", BOOLEAN, False, ANY, HIGH, IMPLEMENTED,
            "Whether znodes are protected so that only brokers can write them."),
        Setting("zookeeper.metadata.migration.enable", BOOLEAN, False, ANY, HIGH, NOT_IMPLEMENTED,
            "Whether metadata is being moved from ZooKeeper to KRaft."),
        Setting("zookeeper.clientCnxnSocket", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Java class of the connection to ZooKeeper."),
        Setting("zookeeper.ssl.client.enable", BOOLEAN, False, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Whether ZooKeeper is reached over TLS."),
        Setting("zookeeper.ssl.keystore.location", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "File with the broker's key and certificate for ZooKeeper."),
        Setting("zookeeper.ssl.keystore.password", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Password of the file with the broker's key for ZooKeeper."),
        Setting("zookeeper.ssl.keystore.type", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Format of the file with the broker's key: JKS, PKCS12 or PEM; null is told by its name."),
        Setting("zookeeper.ssl.truststore.location", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "File with the certificates that ZooKeeper's is checked against."),
        Setting("zookeeper.ssl.truststore.password", PASSWORD, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Password of the file that ZooKeeper's certificate is checked against."),
        Setting("zookeeper.ssl.truststore.type", STRING, None, ANY, MEDIUM, NOT_IMPLEMENTED,
            "Format of the file of trusted certificates: JKS, PKCS12 or PEM; null is told by its name."),
        Setting("zookeeper.ssl.protocol", STRING, "TLSv1.2", ANY, LOW, NOT_IMPLEMENTED,
            "TLS version offered to ZooKeeper first."),
        Setting("zookeeper.ssl.enabled.protocols", LIST, None, ANY, LOW, NOT_IMPLEMENTED,
            "TLS versions that may be agreed on with ZooKeeper; null is zookeeper.ssl.protocol alone."),
        Setting("zookeeper.ssl.cipher.suites", LIST, None, ANY, LOW, NOT_IMPLEMENTED,
            "Cipher suites that may be agreed on with ZooKeeper; null is the library's own choice."),
        Setting("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", ANY, LOW, NOT_IMPLEMENTED,
            "How ZooKeeper's host name is checked; empty means not at all."),
        Setting("zookeeper.ssl.crl.enable", BOOLEAN, False, ANY, LOW, NOT_IMPLEMENTED,
            "Whether revocation lists are asked about ZooKeeper's certificate."),
        Setting("zookeeper.ssl.ocsp.enable", BOOLEAN, False, ANY, LOW, NOT_IMPLEMENTED,
            "Whether ZooKeeper's certificate is checked online for revocation."),
    )),
)
