"""Keyed state whose changes are in a compacted topic.

Nouns: the state, a table with a row for each key; the changelog, a compacted topic with the last row of each key, and a
tombstone where there is none any more; the position, the offsets up to which records are part of the state.

    changelog     Changelog: restores the state, writes changes and the position in one transaction
    keyed_state   KeyedState: what a batch does with the state

A batch reads its records and the state, SQL makes the rows that change, and these rows, as JSON, go into the changelog
in one transaction with the position, which is kept as the offsets of a group: so every lag tool sees it. Whatever is
killed, state and position agree. A new start reads the changelog from its first record to its last, one value for each
key, and goes on at the position, with Spark's checkpoint or without.
Invariants: who starts fences who ran before, by the transactional id; a record before the position is not counted
again.
The whole state is a table of Spark; with each batch it is written once, so this is for states of some million rows.
"""
