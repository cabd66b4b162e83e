"""The version of Moldau: the package is built with it, and clients and brokers say it of themselves."""

from __future__ import annotations

__version__ = "0.1.0"
