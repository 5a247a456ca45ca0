"""The figures that every run has of its own accuracy, with their units."""

from __future__ import annotations

CERTIFICATE: dict[str, str] = {
    "gap": "m",
    "velocity_gap": "m/s",
    "energy_error": "1",
    "angle_error": "rad",
    "repartitions": "1",
    "pivot_ratio": "1",
    "steps": "1",
    "rejected": "1",
    "start_change": "rad",
}
TAKEN = (*CERTIFICATE, "status", "message", "events", "member")  # columns of every table of members
