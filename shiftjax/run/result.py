"""What a simulation gives back: NumPy arrays with named paths, one certificate and one status for every member.

Host only, no jax. `B` members, `n` output instants, `K` kept members. Without `vary` the member axis is absent
everywhere: `channels[path]` is (n, ...), `certificate[name]` and `status` are ().
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.run.schedule import Schedule

CERTIFICATE: dict[str, str] = {
    "gap": "m",
    "velocity_gap": "m/s",
    "energy_error": "1",
    "repartitions": "1",
    "pivot_ratio": "1",
    "steps": "1",
    "rejected": "1",
}


@record
class Result:
    """The outcome of `simulate`.

    Attributes:
        time: (n,) output instants [s].
        channels: path -> (B, n, ...) what was asked to be recorded; NaN after a member ended early.
        units: channel path or design path -> unit.
        certificate: name of `CERTIFICATE` -> (B,) accuracy figures.
        status: (B,) `Outcome` of every member.
        messages: what happened to each member, "" when good; one entry without `vary`.
        poses: body path -> (K, n, 7) position [m] and unit quaternion, w first, in the world.
        kept: (K,) the members whose poses were recorded.
        design: varied path -> (B,) values.
        model: the model that was run.
        report: the topology report of `shiftjax info --json`.
        settings: span, step, method, output_step, backend, precision ... as they were used.
        log: repartitions: mappings of time, member, substructure, old, new.
        programs: compiled pieces of code.
        compile_s: seconds of compilation.
        wall_s: seconds of the whole call.
        notes: what the user said of the start and the loops do not allow, one sentence each.
        final: name -> (B, ...) the state at the end, from which `start=` goes on.
        schedule: the partitions and moved steps of every member, with which `schedule=` repeats the run.
    """

    time: np.ndarray
    channels: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    certificate: Mapping[str, np.ndarray]
    status: np.ndarray
    messages: tuple[str, ...]
    poses: Mapping[str, np.ndarray]
    kept: np.ndarray
    design: Mapping[str, np.ndarray]
    model: Model
    report: Mapping[str, Any]
    settings: Mapping[str, Any]
    log: tuple[Mapping[str, Any], ...] = ()
    programs: int = 0
    compile_s: float = 0.0
    wall_s: float = 0.0
    notes: tuple[str, ...] = ()
    final: Mapping[str, np.ndarray] | None = None
    schedule: Schedule | None = None

    @property
    def batched(self) -> bool:
        """True where every array has a member axis in front."""
        return np.ndim(self.status) == 1

    @property
    def members(self) -> int:
        return len(self.status) if self.batched else 1

    @property
    def failed(self) -> np.ndarray:
        """Numbers of the members that ended early."""
        return np.flatnonzero(np.atleast_1d(self.status) > 0)

    def outcomes(self) -> list[tuple[Outcome, np.ndarray]]:
        """Every outcome that occurs, good ones first, with its members."""
        status = np.atleast_1d(self.status)
        order = sorted({int(s) for s in status}, key=lambda s: (s != 0, s))
        return [(Outcome(s), np.flatnonzero(status == s)) for s in order]

    def document(self) -> dict[str, Any]:
        """The object that `shiftjax run --json` prints; a single run only."""
        if self.batched:
            raise ValueError("a document holds one run; this result has a member axis")
        return {
            "status": Outcome(int(self.status)).name,
            "notes": list(self.notes),
            "settings": plain(self.settings),
            "certificate": {name: plain(value) for name, value in self.certificate.items()},
            "programs": int(self.programs),
            "compile_s": float(self.compile_s),
            "wall_s": float(self.wall_s),
            "time": plain(self.time),
            "channels": {path: plain(value) for path, value in self.channels.items()},
        }


def plain(value: Any) -> Any:
    """Lists and numbers that JSON can hold; a number that is not finite becomes None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def remedy(outcome: Outcome) -> str:
    """Cause of an outcome and what to do about it; empty for a good one."""
    return REMEDY.get(outcome, "")


def members_to_keep(keep: int | str, members: int) -> np.ndarray:
    """(K,) member numbers squared_condition evenly over an ensemble; `keep` is "all", "none" or how many."""
    if keep == "all":
        return np.arange(members)
    if keep != "none" and not (isinstance(keep, int) and keep >= 0):
        raise ModelError("keep", repr(keep), '"all", "none" or a number of members', "Choose one of them.")
    count = 0 if keep == "none" else min(int(keep), members)
    return np.unique(np.linspace(0, members - 1, count).round().astype(np.int64))
