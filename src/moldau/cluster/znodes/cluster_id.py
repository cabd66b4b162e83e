"""/cluster/id: the cluster's name, made by its first broker and never changed. Its version is a string."""

from __future__ import annotations

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import CLUSTER_ID

VERSION = "1"


def encode_cluster_id(cluster_id: str) -> bytes:
    return encode_json({"version": VERSION, "id": cluster_id})


def decode_cluster_id(data: bytes | None) -> str:
    return JsonObject.parse(CLUSTER_ID, data).text("id")
