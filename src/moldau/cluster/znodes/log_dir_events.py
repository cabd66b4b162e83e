"""/log_dir_event_notification/log_dir_event_<n>: a broker tells the controller of a failed directory (KIP-112)."""

from __future__ import annotations

from moldau.cluster.znodes.content import JsonObject, encode_json

VERSION = 1
LOG_DIR_FAILED = 1


def encode_log_dir_event(broker_id: int) -> bytes:
    return encode_json({"version": VERSION, "broker": broker_id, "event": LOG_DIR_FAILED})


def decode_log_dir_event(path: str, data: bytes | None) -> int:
    """The broker whose directory failed."""
    content = JsonObject.parse(path, data)
    content.expect_version(VERSION)
    if (event := content.integer("event")) != LOG_DIR_FAILED:
        content.fail(f"event is {event}, expected {LOG_DIR_FAILED}")
    return content.integer("broker")
