"""Fetching ahead, and turning what came into records.

Nouns: `Fetcher` (what to ask of whom, and what came), `FetchSession` (what a broker knows already, KIP-227),
`CompletedFetch` (one partition's part of an answer while it is given out).
Invariants: one fetch is under way for each broker; at most four completed fetches of a partition wait, and together no
more than fetch.max.bytes before another is sent; nothing is decoded before it is asked for.
May import: the rest of `clients.consumer` but `group`, `clients.network`, `records`, `protocol`, `base`.
"""
