"""A node of the cluster: composes everything below it, and answers requests.

Nouns: `Dispatcher` (frames in, answers out), `Call` (one request being answered), `Session` (what is known of a
client), handlers (`handlers/`, one file per API).
Invariants: every request is answered exactly once; a handler that fails is answered with an error code and never stops
the node; what `ApiVersions` promises is exactly what has a handler.
May import: everything but `cli`, `console`, `pipeline` and `testing`.
"""
