"""The test kit: what a test needs to run Moldau, or a whole cluster of it, inside itself.

Nouns: `simulation` (virtual time, a network in memory, both seeded).
Invariants: nothing here is imported by the product; a failure found under a seed is found again under it.
May import: everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldau.testing.local_cluster import LocalCluster

__all__ = ["LocalCluster"]


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: pytest loads this package in every run, for its plugin."""
    if name == "LocalCluster":
        from moldau.testing.local_cluster import LocalCluster

        return LocalCluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
