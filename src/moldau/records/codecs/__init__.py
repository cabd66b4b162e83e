"""One module per codec: `compress` and `decompress` between bytes, and what its format needs beyond a library.

Nouns: none; `moldau.records.compression` chooses the module and turns the libraries' errors into `CorruptRecord`.
Invariants: `decompress` never allocates or yields more than `limit_bytes` and a block, whatever the input claims.
May import: `moldau.base`, zlib, cramjam.
"""
