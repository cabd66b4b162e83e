"""Records, and the three formats in which Kafka stores and sends them.

Nouns: `Record` (what a user sees), `RecordBatch` (a view of a v2 batch's header over somebody else's bytes),
`BatchBuilder` (a producer's batch while it fills), `LegacyEntry` (one entry of a v0 or v1 message set),
`CompressionType`, `ControlRecordType`.

    record, varint, checksum, compression (codecs/)
        batch                    the header, over bytes; walk finds the batches in a buffer
            builder, reader      records in and out of a batch; control: those that brokers write for each other
                rebuild          one batch from another: other codec, fewer records
                columns/         Arrow columns instead of records
            legacy               message sets of magic 0 and 1
                convert          up for producers and down for consumers before 0.11

Invariants: a broker touches 61 bytes of a batch and its checksum, never its records; whatever bytes come
in, what comes out is records or `CorruptRecord`; nothing is decompressed past a limit the caller sets.
May import: `moldau.base`. `columns` alone imports pyarrow and numpy, and nothing else here imports it.
"""
