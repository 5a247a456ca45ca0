"""`load_path`: equilibria followed along a load, through the poses at which a mechanism snaps or buckles. Host code.

Every member begins at its equilibrium under the first load (`equilibrium`) and is followed by arclength
(`followed_curves`), all members at once; where another curve meets, it is followed to both sides. What is recorded is
that of the mechanism assembled at all these poses (`recorded_curves`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_count, need_number, shown
from shiftjax.formats.files import load as load_model
from shiftjax.gradients.traced import is_traced
from shiftjax.measures.channels import channels as channels_of
from shiftjax.mechanism.events import Event, of_run
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.critical_slopes import critical_slopes
from shiftjax.statics.loads.design_rates import DesignRates, named_numbers
from shiftjax.statics.loads.event_slopes import event_slopes
from shiftjax.statics.loads.load_paths import LoadPath
from shiftjax.statics.loads.path_slopes import PathSlopes
from shiftjax.statics.loads.recorded_curves import LoadSlopes, RecordedCurves
from shiftjax.statics.loads.rest_questions import WatchedExpressions
from shiftjax.statics.loads.stated_loads import stated_loads
from shiftjax.statics.loads.traced_load_paths import traced_load_path
from shiftjax.statics.search import Search


def load_path(
    model: Model | str,
    load: Mapping[str, tuple[Any, Any]],
    *,
    poses: int = 101,
    distance: float = 0.05,
    limits: tuple[float, float] = (-1.0, 1.0),
    branches: int = 1,
    unstable: bool = False,
    events: Mapping[str, Event | str | Mapping[str, Any] | None] | None = None,
    channels: Sequence[str] = (),
    slopes: bool | Sequence[str] = False,
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
) -> LoadPath:
    """Equilibria followed along a load, through snaps and buckling, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        load: number path -> its first and last value, numbers or (B,) arrays: a force, a stiffness, gravity, a length;
            or a coordinate of a joint, which a driver holds there, as that of a probe whose length is swept. All go
            together, linearly in the load factor, from 0 on.
        poses: n, of a curve at most. distance: between them, as arclength: of radians, parts of the model's length and
            of the load factor alike.
        limits: of the load factor, where curves end.
        branches: how often a curve may branch off from one that has branched off: 0 follows the first ones alone.
        unstable: whether curves may begin at an equilibrium of any kind, as that of `equilibrium`.
        events: name -> an expression of channels, a mapping or an `Event`: where it comes to zero along a curve, and
            whether that ends there, as where `support_margin(left:sole, right:sole)` does. Ends of the ways of joints
            are noted by themselves, events of the file are not: they are of runs.
        channels: paths to record at the poses, as `joint.reaction_force`. slopes: True, where how they go with the
            first load is told, too; or paths of numbers of the design: how channels and coordinates go with these under
            the same loads, and how the loads and poses do at which mechanisms snap or buckle, or an event happens. All
            are exact.
        keep: the curves that have the poses of all bodies recorded, to view them: "all", "none", how many, or a list.
        vary, assign, derive, drive, tie: as those of `equilibrium`.
        backend, precision, threads: as those of `simulate`, for what is recorded.

    Returns:
        a LoadPath. Where JAX traces numbers of `vary` it has the first curve of each design, whatever `branches` says:
        load factors, loads, arclengths, coordinates and channels as JAX arrays, and in `critical` the first eight
        critical poses of every curve, each of arrays (B,), NaN where a curve has fewer. First derivatives are those of
        `slopes`: of coordinates and channels under the same loads, of critical poses and their loads. There is nothing
        else: no kinds, no events, no `result`.

    Raises:
        ModelError: anything the model or the arguments make impossible; a load that is no pair of known numbers, or by
            which derived numbers do not go linearly; one that is varied, too, or where a joint begins; events that set
            numbers; slopes by a load that stays, or by what is no number of the model.
        Interrupted: Ctrl-C while curves are followed; a KeyboardInterrupt whose `result` is the `LoadPath` so far.
    """
    model = model if isinstance(model, Model) else load_model(model)
    need_count("poses", poses, 2)
    need_count("branches", branches, 0)
    need_number("distance", distance, "a positive number, the arclength between poses", above=0.0)
    ends = real_array(limits)
    if ends is None or ends.shape != (2,) or not ends[0] <= 0.0 < ends[1]:
        raise ModelError("limits", shown(limits), "(low, high) around 0, where curves begin", "Correct them.")
    given = options_of(
        channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie, backend=backend,
        precision=precision, threads=threads,
    )  # fmt: skip
    if any(is_traced(values) for values in (vary or {}).values()):

        def follow(
            plain: Model, numbers: Mapping[str, Any], stated: Any, wanted: Sequence[str], count: int
        ) -> LoadPath:
            return load_path(
                plain, load, poses=count, distance=distance, limits=limits, branches=0, unstable=unstable,
                channels=channels, slopes=wanted, vary=numbers, assign=stated, drive=drive, tie=tie, backend=backend,
                precision=precision, threads=threads,
            )  # fmt: skip

        refused = {"events": events, "slopes": slopes, "keep": keep != "none"}
        return traced_load_path(model, given, [*load], poses, refused, follow)
    by_numbers = [] if isinstance(slopes, bool) else slopes
    given, paths = named_numbers(model, by_numbers, given, [*load])
    loads = stated_loads(model, given, load)
    search = Search(unstable=unstable)
    plain = given.changed(channels=(), keep="none")
    begun = search.result(loads.model, plain.changed(vary=loads.first))
    watched = WatchedExpressions(search.prepared, search.q, of_run(loads.model.events, events))
    loading = loads.loading(plain, search.prepared)
    every = Branching(search, loading, distance, poses, (ends[0], ends[1]), watched)
    every.follow(np.atleast_1d(begun.status) <= 0, branches)
    observed = channels_of(search.prepared.plan, channels if slopes else (), loads.model.resolve)
    numbers = loads, given.changed(vary=loads.first), every

    def path() -> LoadPath:
        along, rates = PathSlopes(every, observed), DesignRates(loads, plain, search.prepared)
        every_slope = LoadSlopes(
            by_load=along.by_load(next(iter(loads.names))) if slopes is True else {},
            by_number={number: along.by_number(rates, number) for number in paths},
            of_critical=critical_slopes(every, rates, paths), of_events=event_slopes(every, rates, paths),
        )  # fmt: skip
        return RecordedCurves(*numbers, every_slope).path(begun)

    if every.interrupted:
        raise Interrupted(path)
    return path()
