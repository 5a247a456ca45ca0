"""What the process that simulates members again says to the one that asked: JSON, and arrays beside it. No jax.

A message is a byte that says its kind, its length as JSON in ten digits, the JSON, and its arrays as .npz.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

READY, PROGRESS, FOUND, DONE, FAILED = b"r", b"p", b"+", b".", b"-"
DIGITS = 10  # of the length of the JSON
NOTHING: Mapping[str, np.ndarray] = {}


def packed(kind: bytes, about: Any = None, arrays: Mapping[str, np.ndarray] = NOTHING) -> bytes:
    """A message of one kind."""
    text = json.dumps(about).encode()
    tail = io.BytesIO()
    if arrays:
        np.savez(tail, allow_pickle=False, **dict(arrays))
    return kind + b"%0*d" % (DIGITS, len(text)) + text + tail.getvalue()


def unpacked(message: bytes) -> tuple[bytes, Any, dict[str, np.ndarray]]:
    """Kind, JSON and arrays of a message."""
    end = 1 + DIGITS + int(message[1 : 1 + DIGITS])
    about, tail = json.loads(message[1 + DIGITS : end]), message[end:]
    if not tail:
        return message[:1], about, {}
    with np.load(io.BytesIO(tail), allow_pickle=False) as arrays:
        return message[:1], about, dict(arrays)
