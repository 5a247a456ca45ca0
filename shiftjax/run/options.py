"""The options of a run as records: made once from the keywords of `simulate`, taken whole by everything below it.

What each means stands in the docstring of `simulate`; here is what belongs together. `options_of` makes them, what is
left out with the values that `simulate` has, and `Options.changed` others of them, both by the names of the keywords.
What stands higher in the chain of imports has no type here: `arguments` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.derive import Formula, with_derived
from shiftjax.run.start.driven.drives import Drivable


def _nothing(about: Any) -> None:
    """Is told something, and does nothing."""


def _plain(value: Any) -> Any:
    """Fractions, numbers of NumPy and arrays of texts as numbers and lists of Python: an int8 overflows from 127 on."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and (value.dtype.kind == "U" or not value.size)):
        return value.tolist()
    return value


@record
class DesignOptions:
    """Which designs are run."""

    vary: Mapping[str, Any] | None = None
    assign: Mapping[str, float | str] | None = None
    derive: Mapping[str, Formula] | None = None

    def worked_out(self, model: Model) -> DesignOptions:
        """The same designs with the derived numbers among those that vary or are assigned.

        Raises:
            ModelError: as of `run.derive.with_derived`.
        """
        return DesignOptions(*with_derived(model, self.vary, self.assign, self.derive))


@record
class StartOptions:
    """Where they start."""

    hold: Sequence[str] = ()
    start: Any = None  # a `Result`, or None
    branch: str | int | Sequence[str | int] | None = None
    strict_start: bool = False
    strict_inertia: bool = False


@record
class MotionOptions:
    """What is prescribed."""

    drive: Mapping[str, Drivable] | None = None
    tie: Mapping[str, CoordinateFunction | str] | None = None


# In parts of the model's length, where nothing is said: some rounding of a loop's closure.
GAP_LIMITS = {"f64": 1e-6, "f32": 1e-5}


@record
class NumericsOptions:
    """How their motion is computed: steps, choice of coordinates, numbers, and what is accurate enough."""

    span: float | None = None
    step: float | None = None
    method: str | None = None  # "rk4" where left out, with a tolerance "dopri5"
    tolerance: float | None = None
    repartition: bool = True
    move_steps: bool = True
    singular: str = "pass"  # one of SINGULAR
    schedule: Schedule | None = None
    independent: Sequence[str] = ()
    cut: Sequence[str] = ()
    cluster: bool = True
    precision: str = "f64"
    energy_limit: float = 1e-3
    gap_limit: float | None = None  # by `GAP_LIMITS` where left out
    angle_limit: float = 1e-3
    accuracy: str | None = None  # one of ACCURACIES, "sampled" where left out
    error_growth: float | None = None  # of a sample, whose members need not run again

    @property
    def limits(self) -> dict[str, Any]:
        """What is accurate enough."""
        gap = GAP_LIMITS[self.precision] if self.gap_limit is None else self.gap_limit
        return {"energy_limit": self.energy_limit, "gap_limit": gap, "angle_limit": self.angle_limit}


@record
class RecordingOptions:
    """What is recorded of it."""

    output_step: float | None = None
    channels: Sequence[str] = ()
    metrics: Mapping[str, Any] | None = None  # a `run_metrics.Definition` each
    events: Mapping[str, Any] | None = None  # an expression, a mapping or an `Event` each
    extremes: bool = False
    keep: int | str | Sequence[int] = "none"
    log_jacobian: bool = False


@record
class MachineOptions:
    """What computes it, and who is told."""

    backend: str | None = None
    threads: int | None = None
    tape_memory: float | None = None
    progress: Callable[[float], None] = _nothing
    announce: Callable[[Any], None] = _nothing  # of a `memory.Need`
    watch: Callable[[Any], None] = _nothing  # of a `beginning.Begun`


@record
class Options:
    """All options of a run."""

    design: DesignOptions = DesignOptions()
    start: StartOptions = StartOptions()
    motion: MotionOptions = MotionOptions()
    numerics: NumericsOptions = NumericsOptions()
    recording: RecordingOptions = RecordingOptions()
    machine: MachineOptions = MachineOptions()

    def flat(self) -> dict[str, Any]:
        """Keyword -> value."""
        groups = (getattr(self, group.name) for group in fields(self))
        return {field.name: getattr(group, field.name) for group in groups for field in fields(group)}

    def changed(self, **given: Any) -> Options:
        """The same with other values of some keywords.

        Raises:
            TypeError: no such keyword.
        """
        if unknown := given.keys() - GROUPS.keys():
            raise TypeError(f"no options of a run: {', '.join(sorted(unknown))}")
        groups: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            groups.setdefault(GROUPS[name], {})[name] = _plain(value)
        return replace(self, **{group: replace(getattr(self, group), **named) for group, named in groups.items()})

    def judged_by_estimates(self) -> Options:
        """The same where it says what errors rest on; else no member runs again, of runs that others are made of."""
        return self if self.numerics.accuracy else self.changed(accuracy="local", error_growth=None)


# Keyword -> the group that has it.
GROUPS = {field.name: group.name for group in fields(Options) for field in fields(getattr(Options(), group.name))}


def options_of(**given: Any) -> Options:
    """Options by the keywords of `simulate`.

    Raises:
        TypeError: no such keyword.
    """
    return Options().changed(**given)
