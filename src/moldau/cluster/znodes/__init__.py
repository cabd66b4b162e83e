"""What Kafka keeps in the coordination store: where, and in which JSON.

Nouns: `layout` (the paths), one file per kind of znode with a dataclass, `encode` and `decode`.
Invariants: what is written is what Kafka 3.9 writes, byte for byte in the order of its keys; what is read may have
been written by any broker or tool, older or hostile, so that content that makes no sense is a `MalformedZnode` that
names the path; unknown keys are left alone.
May import: base, and the store's seam and errors.
"""
