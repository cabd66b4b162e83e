"""PRODUCER_FENCED, or what clients knew before it (KIP-588): to them an old epoch is INVALID_PRODUCER_EPOCH."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call


def told_code(call: Call, code: ErrorCode, *, since_version: int) -> ErrorCode:
    """The code in the words of the request's version; PRODUCER_FENCED is known since one of them."""
    is_unknown = code is ErrorCode.PRODUCER_FENCED and call.version < since_version
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown else code
