"""The curves of a plot: of the member shown, of those behind it and of the design by hand, as they are or against one
of them; their colours and names; the numbers at the time cursor. No GL, no GUI library.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record
from shiftjax.viewer.gui.state.colours import BY_HAND, of_set
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders
from shiftjax.viewer.gui.state.study.plots import PlotCurves, at
from shiftjax.viewer.members.ghost_choice import MOST_GHOSTS
from shiftjax.viewer.members.member_sets import first_of
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion.curve_differences import minus, table_of
from shiftjax.viewer.motion.curves import Curve
from shiftjax.viewer.scene.palette import CATEGORIES
from shiftjax.viewer.scene.ramp import ramp

__all__ = ["BY_DESIGN", "COLOURS", "RIGHT", "Reading", "PlottedCurve", "compared", "csv_of", "readings", "shown"]

RGB = tuple[float, float, float]
COLOURS: tuple[RGB, ...] = tuple((red, green, blue) for red, green, blue, _ in CATEGORIES[:4])  # of components
STEEL: RGB = (0.55, 0.65, 0.8)
FEW = len(COLOURS)  # curves that have a colour and a name each
RIGHT, BY_DESIGN = "right half", "design by hand"  # references of differences beside members


@record
class PlottedCurve:
    """A curve in a plot.

    Attributes:
        name: of whom it is. current: whether of the member shown. colour: of all its components, None where each has
            its own. named: whether the legend names it. against: of whom the reference is that is taken away from it,
            "" for none.
    """

    study: StudyLike
    member: int
    curve: Curve
    name: str
    current: bool
    colour: RGB | None
    named: bool
    against: str = ""


@record
class Reading:
    """The numbers of a curve at the time cursor; of a set the mean, the least and the largest of its members there."""

    name: str
    colour: RGB | None
    values: tuple[str, ...]  # one of each component


def compared(state: WindowState) -> list[tuple[StudyLike, int]]:
    """Members whose curves are behind the current one's: ghosts, cells of a grid, the right half, a design by hand."""
    choice, cells = state.choice, state.explorer.cells
    ghosts = choice.others if choice.ghosts_on else choice.chosen[:0]
    ghosts = ghosts[evenly_spaced(len(ghosts), MOST_GHOSTS)]
    pairs: list[tuple[StudyLike, int]] = [(state.study, int(member)) for member in (*ghosts, *cells)]
    if state.beside is not None:
        pairs.append((state.beside.study, state.beside.member))
    if (tried := state.pane_data(DesignSliders).tried) is not None:
        pairs.append((tried.study, 0))
    return [pair for pair in dict.fromkeys(pairs) if pair != (state.study, choice.member)]


def shown(state: WindowState, name: str) -> list[PlottedCurve]:
    """The curves of a plot, that of the member shown last, over all others; those without one are left out.

    Raises:
        ModelError: the member shown has no such curve, or the reference has none.
    """
    plot_curves = state.pane_data(PlotCurves)
    current = plot_curves.get(state.study, state.choice.member, name)
    lines = plot_curves.lines(compared(state), name)
    colours = _colours(state, [(line.study, line.member) for line in lines])
    few = len(lines) <= FEW
    curves = []
    for k, (line, colour) in enumerate(zip(lines, colours, strict=True)):
        alone = COLOURS[(k + 1) % FEW] if few else STEEL
        otherwise = alone if len(line.curve.labels) == 1 else None
        named = few or colour == BY_HAND[:3]
        curves.append(PlottedCurve(line.study, line.member, line.curve, name_of(state, line.study, line.member), False,
                                 colour or otherwise, named))  # fmt: skip
    member = state.choice.member
    curves.append(PlottedCurve(state.study, member, current, f"member {member}", True, None, True))
    return _against(state, curves, name)


def name_of(state: WindowState, study: StudyLike, member: int) -> str:
    """Of whom a curve is."""
    tried = state.pane_data(DesignSliders).tried
    if tried is not None and study is tried.study:
        return study.title(0)
    return f"member {member}{'' if study is state.study else f' of {study.model.name or study.where}'}"


def _colours(state: WindowState, members: Sequence[tuple[StudyLike, int]]) -> list[RGB | None]:
    """By the metric that colours ghosts, else of the sets that members are in; None of those that are in none."""
    metric, tried = state.choice.colour_by, state.pane_data(DesignSliders).tried
    values = [study.value(metric, k) if metric in study.metrics else math.nan for study, k in members]
    ramped = ramp(np.array(values)) if metric else np.zeros((0, 3))
    colours: list[RGB | None] = []
    for k, (study, member) in enumerate(members):
        place = int(first_of(state.explorer.sets, np.array([member]))[0]) if study is state.study else -1
        if tried is not None and study is tried.study:
            colours.append(BY_HAND[:3])
        elif metric:
            colours.append((float(ramped[k][0]), float(ramped[k][1]), float(ramped[k][2])))
        elif place >= 0:
            colours.append(of_set(place)[:3])
        else:
            colours.append(None)
    return colours


# -- against a reference -----------------------------------------------------------------------------------------------


def reference(state: WindowState) -> tuple[StudyLike, int] | None:
    """Whose curve all others are drawn against; None where they are drawn as they are, or it is gone."""
    which = state.pane_data(PlotCurves).reference
    tried = state.pane_data(DesignSliders).tried
    if which == RIGHT:
        return None if state.beside is None else (state.beside.study, state.beside.member)
    if which == BY_DESIGN:
        return None if tried is None else (tried.study, 0)
    return (state.study, int(which)) if which else None


def references(state: WindowState) -> list[str]:
    """What differences may be taken to: "" for none, a member by its number, what is beside it."""
    chosen = state.pane_data(PlotCurves).reference
    current = str(state.choice.member)
    members = [current, chosen] if chosen.isdigit() and chosen != current else [current]
    there = [RIGHT] if state.beside is not None else []
    there += [BY_DESIGN] if state.pane_data(DesignSliders).tried is not None else []
    return ["", *members, *there]


def reference_words(which: str) -> str:
    """A reference in the list."""
    if not which:
        return "values as they are"
    return f"differences to {f'member {which}' if which.isdigit() else f'the {which}'}"


def _against(state: WindowState, curves: list[PlottedCurve], name: str) -> list[PlottedCurve]:
    """The curves less that of the reference, which would be 0 and is left out unless it is the current one."""
    pair = reference(state)
    if pair is None:
        return curves
    of = state.pane_data(PlotCurves).get(*pair, name)
    where = f"differences to {name_of(state, *pair)}"
    left = [one for one in curves if one.current or (one.study, one.member) != pair]
    against = name_of(state, *pair)
    return [dataclasses.replace(one, curve=minus(one.curve, of, where), against=against) for one in left]


# -- numbers -----------------------------------------------------------------------------------------------------------


def readings(state: WindowState, curves: Sequence[PlottedCurve]) -> list[Reading]:
    """At the time cursor: of the member shown, of each set among those behind it, then of these one by one."""
    time = state.clock.time
    numbers = [at(one.curve, time) for one in curves]
    rows = [
        Reading(one.name, one.colour, tuple(f"{value:.6g}" for value in values))
        for one, values in zip(curves, numbers, strict=True)
        if one.current
    ]
    for one_set in state.explorer.sets:
        inside = [
            values
            for one, values in zip(curves, numbers, strict=True)
            if one.study is state.study and one_set.mask[one.member] and np.isfinite(values).all()
        ]
        if inside:
            stacked = np.stack(inside)
            means, low, high = stacked.mean(0), stacked.min(0), stacked.max(0)
            texts = (f"{m:.5g} ({a:.4g} to {b:.4g})" for m, a, b in zip(means, low, high, strict=True))
            rows.append(Reading(f"set {one_set.name}, {len(inside)} here", of_set(one_set.colour)[:3], tuple(texts)))
    rows += [
        Reading(one.name, one.colour, tuple(f"{value:.6g}" for value in values))
        for one, values in zip(curves, numbers, strict=True)
        if not one.current
    ]
    return rows


def csv_of(state: WindowState, names: Sequence[str]) -> str:
    """What the plots of some curves show, within the ends of their time axes: an instant a line, with full digits."""
    heads, curves = ["t [s]"], list[Curve]()
    for name in names:
        for one in reversed(shown(state, name)):  # the member shown first
            words = f"[{one.curve.unit}] {one.name}{f' - {one.against}' if one.against else ''}"
            heads += [" ".join(filter(None, (name, label, words))) for label in one.curve.labels]
            curves.append(one.curve)
    span = state.pane_data(PlotCurves).span or state.span
    time, values = table_of(curves, span)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    for k, instant in enumerate(time.tolist()):
        row = [number for rows in values for number in rows[k].tolist()]
        writer.writerow([repr(instant), *("" if math.isnan(number) else repr(number) for number in row)])
    return text.getvalue()
