"""/latest_producer_id_block: the last thousand producer ids that were handed out, and to which broker."""

from __future__ import annotations

from dataclasses import dataclass

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import LATEST_PRODUCER_ID_BLOCK

VERSION = 1
PRODUCER_IDS_PER_BLOCK = 1000
PRODUCER_ID_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    broker_id: int
    first_producer_id: int
    last_producer_id: int

    def encode(self) -> bytes:
        return encode_json(
            {
                "version": VERSION,
                "broker": self.broker_id,
                "block_start": str(self.first_producer_id),
                "block_end": str(self.last_producer_id),
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> ProducerIdBlock | None:
        """None while no block has been handed out: the znode is made with null data."""
        if not data:
            return None
        content = JsonObject.parse(LATEST_PRODUCER_ID_BLOCK, data)
        content.expect_version(VERSION)
        first, last = content.integer_in_text("block_start"), content.integer_in_text("block_end")
        if not 0 <= first <= last <= PRODUCER_ID_MAX:
            content.fail(f"a block from {first} to {last}")
        return cls(content.integer("broker"), first, last)
