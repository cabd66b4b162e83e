"""/controller, the ephemeral of the broker that won the election, and /controller_epoch, which fences the losers.

The epoch is plain text. It starts as 0 in a znode of version 0 and grows by one with every write, so that the version
of the znode equals it, and `Check(CONTROLLER_EPOCH, version)` in every write of a controller refuses its predecessor's.
"""

from __future__ import annotations

from dataclasses import dataclass

from moldau.cluster.errors import MalformedZnode
from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import CONTROLLER, CONTROLLER_EPOCH

VERSION = 2
NOT_KRAFT = -1
INITIAL_CONTROLLER_EPOCH = 0
_DIGITS_MAX = 10


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    broker_id: int
    timestamp_ms: int
    kraft_controller_epoch: int = NOT_KRAFT

    def encode(self) -> bytes:
        return encode_json(
            {
                "version": VERSION,
                "brokerid": self.broker_id,
                "timestamp": str(self.timestamp_ms),
                "kraftControllerEpoch": self.kraft_controller_epoch,
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> ControllerRegistration:
        content = JsonObject.parse(CONTROLLER, data)
        content.expect_version(1, VERSION)
        return cls(
            broker_id=content.integer("brokerid"),
            timestamp_ms=content.integer_in_text("timestamp") if content.has("timestamp") else -1,
            kraft_controller_epoch=content.integer("kraftControllerEpoch", NOT_KRAFT),
        )


def encode_controller_epoch(epoch: int) -> bytes:
    return b"%d" % epoch


def decode_controller_epoch(data: bytes | None) -> int:
    if not data or not data.isdigit() or len(data) > _DIGITS_MAX:
        raise MalformedZnode(CONTROLLER_EPOCH, f"{(data or b'')[:40]!r} is not an epoch")
    return int(data)
