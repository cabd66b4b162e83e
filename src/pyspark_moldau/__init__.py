"""How Spark finds `format("moldau")` by itself.

It imports every package whose name begins with `pyspark_`, in each of its driver's Python processes, and looks for
`DefaultSource`. So this imports little, and never fails: one that did would hide the data sources of all others.
"""

from __future__ import annotations

from moldau.pipeline.datasource import MoldauDataSource as DefaultSource

__all__ = ["DefaultSource"]
