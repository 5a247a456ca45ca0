"""A stored study explained: one HTML page without a network, and its figures as PNG. Reads the store, runs nothing."""

from __future__ import annotations

from shiftjax.ensembles.report.writing import write

__all__ = ["write"]
