"""What a simulation gives back: NumPy arrays with named paths, one certificate and one status for every member.

Host only, no jax. `B` members, `n` output instants, `K` kept members. Without `vary` the member axis is absent
everywhere: `channels[path]` is (n, ...), `certificate[name]` and `status` are ().
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.writer import to_dict
from shiftjax.markup import html_lines
from shiftjax.measures.aims import Aim
from shiftjax.measures.certificate import CERTIFICATE as CERTIFICATE
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.run.advance.ending import Ending
from shiftjax.run.advance.repeats import RepeatedEnds
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.results.event_history import EventHistory
from shiftjax.run.results.plain_values import is_known
from shiftjax.run.results.plain_values import members_to_keep as members_to_keep
from shiftjax.run.results.plain_values import plain as plain
from shiftjax.run.results.plotting import plot
from shiftjax.run.results.summary import summary
from shiftjax.viewing import view

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataTree


@record
class Result:
    """The outcome of `simulate`.

    Attributes:
        time: (n,) output instants [s].
        channels: path -> (B, n, ...) what was asked to be recorded; NaN after a member ended early.
        units: channel path or design path -> unit.
        metrics: name -> (B,) numbers over all steps; NaN where a member ended early. `metric_units` has their units,
            `metric_texts` what they are, `metric_aims` what is good of those that say so.
        events: the instants of the events that were asked for, an `EventHistory`; None where none were.
        extremes: channel path -> (B, 2, ...) the smallest and the largest value over all steps, where asked for.
        certificate: name of `CERTIFICATE` -> (B,) accuracies, plain numbers without `vary`.
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
        branch: (B,) texts: the signs by which the assemblies of the loops differ, one an Assur group ("+-").
        final: name -> (B, ...) the state at the end: "q", "v", "states", the "time" at which a member stands [s], and
            by their paths the numbers that events have set.
        ending: the lanes at the end, from which `start=` goes on to the last bit; a stored result has none.
        repeated: where members that ran again at half the step ended, from which those of a run that goes on begin; a
            stored result has none.
        schedule: the partitions and moved steps of every member, with which `schedule=` repeats the run.
    """

    time: np.ndarray
    channels: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    certificate: Mapping[str, Any]
    status: np.ndarray
    messages: tuple[str, ...]
    poses: Mapping[str, np.ndarray]
    kept: np.ndarray
    design: Mapping[str, np.ndarray]
    model: Model
    report: Mapping[str, Any]
    settings: Mapping[str, Any]
    log: Sequence[Mapping[str, Any]] = ()
    programs: int = 0
    compile_s: float = 0.0
    wall_s: float = 0.0
    notes: tuple[str, ...] = ()
    final: Mapping[str, np.ndarray] | None = None
    schedule: Schedule | None = None
    branch: np.ndarray | None = None
    ending: Ending | None = None
    repeated: RepeatedEnds | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    extremes: Mapping[str, np.ndarray] = field(default_factory=dict)
    metric_units: Mapping[str, str] = field(default_factory=dict)
    metric_texts: Mapping[str, str] = field(default_factory=dict)
    metric_aims: Mapping[str, Aim] = field(default_factory=dict)
    events: EventHistory | None = None

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
        _need_known(self.status)
        return np.flatnonzero(np.atleast_1d(self.status) > 0)

    def outcomes(self) -> list[tuple[Outcome, np.ndarray]]:
        """Every outcome that occurs, good ones first, with its members."""
        _need_known(self.status)
        status = np.atleast_1d(self.status)
        order = sorted({int(s) for s in status}, key=lambda s: (s != 0, s))
        return [(Outcome(s), np.flatnonzero(status == s)) for s in order]

    def __repr__(self) -> str:
        return "\n".join(summary(self))

    def _repr_html_(self) -> str:
        return html_lines(summary(self))

    def view(self, members: int | str | Sequence[int] = "", *, height: int = 480) -> Any:
        """The motion as a page with sliders for member and time, design values, metrics and curves of what was
        recorded. A notebook shows it where a cell ends with it; of what is returned, `show()` opens a browser,
        `window()` the window of `shiftjax view`, `save(path)` writes the page.

        Args:
            members: a choice as of `shiftjax view --member`, as "worst:5 of kept", or numbers; left out, those whose
                poses were recorded, else the first one. A page has 12 at most; without poses they are simulated again.
            height: of the frame in the notebook [pixels].

        Raises:
            ModelError: no such member, or none that started; no packages of the viewer.
        """
        _need_known(self.status, *self.channels.values(), *self.design.values())
        return view(self, members, height=height)

    def to_xarray(self, keep: int | str = "all") -> DataTree:
        """The result as one tree of labelled arrays with units: the groups that `store.read` gives of a stored result,
        and `channels`, what was recorded of all members, where the former has those that were kept.

        Args:
            keep: of the members whose poses were recorded, "all", "none" or how many have trajectories in it.
        """
        from shiftjax.run.results.labelled import whole_tree

        _need_known(self.status, *self.channels.values(), *self.design.values())
        return whole_tree(self, keep)

    def to_pandas(self) -> DataFrame:
        """One row a member: design, name of the status, certificate; of every channel the last value recorded, the
        smallest and the largest. `attrs["units"]` has the unit of each column."""
        from shiftjax.run.results.data_frame import to_frame

        _need_known(self.status, *self.channels.values(), *self.design.values())
        return to_frame(self)

    def plot(self, *channels: str) -> Any:
        """Draws channels over time, all that were recorded where none is named, and returns the figure of pyplot.

        Raises:
            ModelError: no matplotlib (of the extra `plot`), nothing recorded, a channel that was not.
        """
        _need_known(self.status, *self.channels.values(), *self.design.values())
        return plot(self, *channels)

    def model_document(self) -> dict[str, Any]:
        """The model that was run as an object of the Shift format."""
        return to_dict(self.model)

    def document(self) -> dict[str, Any]:
        """The object that `shiftjax run --json` prints; a single run only."""
        _need_known(self.status, *self.channels.values(), *self.design.values())
        if self.batched:
            raise ModelError("document", "a result with a member axis", "a single run", "Take to_xarray or to_pandas.")
        return {
            "status": Outcome(int(self.status)).name,
            "notes": list(self.notes),
            "settings": plain(self.settings),
            "certificate": {name: plain(value) for name, value in self.certificate.items()},
            "metrics": {name: plain(value) for name, value in self.metrics.items()},
            "events": [one._asdict() for one in self.events.of()] if self.events else [],
            "programs": int(self.programs),
            "compile_s": float(self.compile_s),
            "wall_s": float(self.wall_s),
            "time": plain(self.time),
            "channels": {path: plain(value) for path, value in self.channels.items()},
        }


def _need_known(*arrays: Any) -> None:
    """Raises where JAX traces one of the arrays."""
    if not all(map(is_known, arrays)):
        fault, allowed = "arrays that JAX traces", "numbers, outside of jax.grad, jax.jvp and jax.jit"
        raise ModelError("result", fault, allowed, "Give its channels or metrics back from the traced function.")


def remedy(outcome: Outcome) -> str:
    """Cause of an outcome and what to do about it; empty for a good one."""
    return REMEDY.get(outcome, "")
