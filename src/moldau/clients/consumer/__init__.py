"""The consumer: which partitions, from where on, and their records.

Nouns, bottom-up:

    assignors/          who of a group reads what
    subscription        what is subscribed, what is assigned, and where each partition is read: `SubscriptionState`
    fetching/           sessions, what came, and its records: `Fetcher`, `CompletedFetch`, `ConsumerRecord`
    offsets             offsets by time, ends of logs, resets and truncation: `OffsetLookup`
    group/              membership as a table of states, the coordinator's requests, commits: `Membership`
    consumer, plain     `Consumer`, twice

Invariants: a record is given out only if its partition is assigned, fetchable and its offset is the position; the
position moves when records are given out, never before; commits name the position, so that what was not given out is
read again; listeners run in the caller of `poll`, in the order revoked, lost, assigned.
May import: `clients` (not producer or admin), `net`, `records`, `protocol`, `base`.
"""

from __future__ import annotations
