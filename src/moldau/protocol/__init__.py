"""Kafka's wire: messages as dataclasses, compiled to straight-line encoders and decoders.

Nouns: `Message` and `Struct` (what travels), `Versions`, `ApiKey`, request and response headers, stored records.
One file per API under `messages/`, one per kind of stored record under `stored/`.
Invariants: a decoder never reads past its frame nor allocates for what the frame cannot hold; whatever the bytes,
it returns a message or raises `MalformedMessage`. An encoder never drops a value that the version cannot carry.
May import: base.
"""
