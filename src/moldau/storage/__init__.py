"""A partition's log on disk, exactly as Kafka keeps it.

Nouns: `Files` (the seam to the file system), `Segment` (a `.log` file and its indexes), `Log` (the segments of one
partition), `LeaderEpochs`, `ProducerState`, checkpoints, `LogDirectories` (all logs of a broker), `Flusher`, retention,
housekeeping, the cleaner.
Invariants: bytes that were acknowledged as flushed survive any crash; after a crash the log is a prefix of what was
written; indexes and snapshots are derived from the log and can be rebuilt from it; a record is decoded only for
compaction, conversion and searches by timestamp.
May import: records, protocol, metrics, base.
"""
