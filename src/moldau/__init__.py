"""Moldau: a Kafka-compatible streaming platform in Python, with its data pipeline on Spark."""

from __future__ import annotations

__version__ = "0.1.0"
