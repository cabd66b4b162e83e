"""The test kit: what a test needs to run Moldau, or a whole cluster of it, inside itself.

Nouns: `simulation` (virtual time, a network in memory, both seeded).
Invariants: nothing here is imported by the product; a failure found under a seed is found again under it.
May import: everything.
"""

from __future__ import annotations
