"""What stands in the decision log, as bytes.

Keys are JSON lists, so that compaction keeps the last of each: `["decision", sink, query]`, `["done", sink, query]`.
Values are JSON objects with a version. Whatever is not understood belongs to somebody else, or is an error.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from moldau.pipeline.sink.errors import SinkError
from moldau.pipeline.sink.values import Decision, Done, Term, Transaction

_VERSION: Final = 1


class Entry(NamedTuple):
    """A record of the log; None instead of a decision or a mark says that there is none any more."""

    kind: str
    query_id: str
    content: Decision | Done | None


def key_of(kind: str, sink_name: str, query_id: str) -> bytes:
    return json.dumps([kind, sink_name, query_id], separators=(",", ":")).encode()


def decision_value(decision: Decision, sink_name: str) -> bytes:
    """The ids without the sink's name, which all begin with: a decision may have thousands."""
    return _dumped(
        {
            "version": _VERSION,
            "batch": decision.batch_id,
            "term": [decision.term.producer_id, decision.term.epoch],
            "transactions": [
                [each.transactional_id.removeprefix(sink_name), each.producer_id, each.epoch]
                for each in decision.transactions
            ],
            "partitions": {topic: list(numbers) for topic, numbers in decision.partitions.items()},
        }
    )


def done_value(done: Done) -> bytes:
    completed = None if done.completed is None else [done.completed.producer_id, done.completed.epoch]
    return _dumped(
        {
            "version": _VERSION,
            "batch": done.batch_id,
            "term": [done.term.producer_id, done.term.epoch],
            "completed": completed,
            "clean": done.clean,
        }
    )


def read_entry(key: bytes | None, value: bytes | None, sink_name: str) -> Entry | None:
    """A record of this sink; None if it is another's."""
    try:
        kind, name, query_id = json.loads(key or b"null")
    except (ValueError, TypeError):
        return None
    if name != sink_name or kind not in ("decision", "done"):
        return None
    if value is None:
        return Entry(kind, query_id, None)
    try:
        fields = json.loads(value)
        if fields["version"] != _VERSION:
            raise SinkError(
                f"the decision log has a record of version {fields['version']} of sink {sink_name}: a newer Moldau "
                "wrote it, and this one must not go on where that one stopped"
            )
        term = Term(*map(int, fields["term"]))
        if kind == "done":
            completed = fields["completed"]
            done = Done(int(fields["batch"]), term, None if completed is None else Term(*completed), fields["clean"])
            return Entry(kind, query_id, done)
        transactions = tuple(Transaction(sink_name + tail, *numbers) for tail, *numbers in fields["transactions"])
        partitions = {topic: tuple(numbers) for topic, numbers in fields["partitions"].items()}
        return Entry(kind, query_id, Decision(query_id, int(fields["batch"]), term, transactions, partitions))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SinkError(
            f"the decision log has a record of sink {sink_name} that cannot be read: {value[:200]!r}"
        ) from error


def _dumped(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
