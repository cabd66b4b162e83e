"""What every client has of a cluster: connections to its brokers, what they say about topics, and patience.

Nouns: `Cluster` (one per client), `ClusterMetadata` (an immutable snapshot), `CoordinatorKind`.
Invariants: knowledge never goes back to an older leader epoch; requests are one attempt each, and who repeats them
does so with a backoff and a limit.
May import: what `moldau.clients` may.
"""

from __future__ import annotations
