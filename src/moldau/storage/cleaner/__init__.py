"""Log compaction: of each key only the last record stays.

Nouns: `LogCleaner` (the front: chooses, runs, reports), `CleanableLog` (how dirty a log is), `OffsetMap` (the last
offset of each key), `BatchFilter` (what stays of a batch), `LegacyFilter` (the same for magic 0 and 1), `Cleaning` (one
run over one log), `Pace` (how fast, and until when).
Invariants: offsets, order and formats never change; a batch of which everything stays is copied byte for byte; the last
record of each key, what is not decided yet and the active segment are never touched; a crash at any moment leaves the
old segments or the new one, both of which are right.
May import: the rest of storage, records, base.

A log is a clean part, a dirty part and a part that may not be cleaned yet:

    log start ── cleaned before ── first dirty offset ── dirty ── first uncleanable offset ── … ── log end
                                                                  (active segment, undecided transactions, lag)

A run reads the dirty part and notes the last offset of each key, as far as memory allows; then it copies all segments
up to there, without the records that have a later one of their key. A worker thread does it, beside the event loop:
what belongs to the loop (the list of segments, producers) is copied in the loop before, and changed in the loop after.
"""
