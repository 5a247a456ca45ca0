"""How members of a store are simulated again: the model, the designs and the settings that the store says.

Properties: with the same version on the same machine what comes of a recipe is what the store was written of, to the
last bit; what no store holds, a function of Python and the end of another run, is refused by name.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.constraints.drives import TYPES, Drive
from shiftjax.constraints.pose_drives import POSE_TYPES, PoseDrive
from shiftjax.ensembles.store.members import role_of
from shiftjax.ensembles.study.posed import POSED, posed
from shiftjax.errors import ModelError, nearest
from shiftjax.formats.files import load
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.records import Assembly, Element
from shiftjax.plugins import need_plugins
from shiftjax.record import record
from shiftjax.run.assemble import assemble
from shiftjax.run.results.labelled import with_origin
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.run.start.driven.pose_drives import posed_joint

KEYWORDS = "step method precision repartition move_steps hold independent cut cluster backend strict_start".split()
KEYWORDS += ["branch", "strict_inertia", "singular", "accuracy", "error_growth"]
LIMITS = ("energy_limit", "gap_limit", "angle_limit")  # a limit that is infinite is null in JSON
STILL = ("channels", "metrics", "hold", "branch", "backend", "precision", "strict_start", "derive", "drive", "keep",
         "threads", "announce")  # fmt: skip  # keywords that mean something where nothing moves
AS_STORED: Mapping[str, float] = {}
FUNCTION = " of recorded channels"  # the end of the text of a metric that is a function of Python


@record
class Recipe:
    """How members that have one model are simulated again.

    Attributes:
        members: (k,) their numbers in the store.
        model: with their switches and drives.
        vary: number path -> (k,) values.
        settings: further keywords of `simulate`, or of `assemble`.
        still: whether their loops are closed and nothing is run. kind: of their study, of members that do not move in
            time one of `study.posed.POSED`.
    """

    members: np.ndarray
    model: Model
    vary: Mapping[str, np.ndarray]
    settings: Mapping[str, Any]
    still: bool = False
    kind: str = "run"

    def run(self, **more: Any) -> Result:
        """The members, with further keywords of `simulate`; those that mean nothing where nothing moves in time are
        left out there."""
        given = {**self.settings, **more, "vary": dict(self.vary)}
        if self.still:
            return assemble(self.model, **{name: given[name] for name in (*STILL, "vary") if name in given})
        if self.kind in POSED:
            return posed(self.kind, self.model, given)
        return simulate(self.model, **given)


def designs_of(rows: xr.Dataset) -> dict[str, np.ndarray]:
    """Number path -> (k,) values of what varies, of some rows of the table of members, in its order."""
    about = {str(values.attrs.get("path", name)): (str(name), values) for name, values in rows.data_vars.items()}
    return {
        path: np.asarray(values.values, float)
        for path, (name, values) in about.items()
        if role_of(name, dict(values.attrs)) == "design"
    }


def with_values(designs: Mapping[str, np.ndarray], values: Mapping[str, float], where: str) -> dict[str, np.ndarray]:
    """Designs with other values of some numbers; ModelError for one that does not vary.

    Args:
        designs: number path -> (k,). values: number path -> the value of all. where: the store's name, for messages.
    """
    for path in values:
        if path not in designs:
            allowed = f"numbers that vary there: {listed(designs)}" if designs else "nothing, no number varies there"
            raise ModelError(f"{where}: another design", path, allowed, nearest(path, designs) or "Leave it out.")
    return {**designs, **{path: np.full_like(designs[path], value) for path, value in values.items()}}


def of_result(tree: xr.DataTree, members: Sequence[int], where: str, values: Mapping[str, float] = AS_STORED) -> Recipe:
    """The recipe of members of a result, as `run` and `sweep` of a model write it.

    Args:
        tree: of `store.read`. members: (k,) numbers. where: the store's name, for messages.
        values: number path -> the value that all of them have in place of their own.

    Raises:
        ModelError: a result that went on from another one, or with functions of Python; a number that does not vary.
    """
    about, rows = tree.attrs, tree["members"].to_dataset().isel(member=np.asarray(members, np.int64))
    asked: dict[str, Any] = json.loads(about["settings"])
    need_plugins(where, about)
    if "parameter" in asked:
        raise _lost(where, "poses along a path, whose places stand in studies of kind follow only")
    if "goals" in asked:
        raise _lost(where, "poses for goals, which stand in studies of kind ik only")
    if asked.get("t0"):
        raise _lost(where, "a run that goes on from another one, the end of which no store holds")
    ties = asked.get("tie") or {}
    if lost := [name for name, tie in ties.items() if not isinstance(tie, dict)]:
        raise _lost(where, f"a tie that is a function of Python ({', '.join(lost)})")
    document = json.loads(about["model"])
    model = dataclasses.replace(load(document), source=str(about["model_source"]))
    model = with_origin(model, json.loads(about.get("model_origin", "[]")))
    model, drive, vary = _driven_again(
        model, asked.get("drive") or {}, with_values(designs_of(rows), values, where), where
    )
    still = asked["span"] == 0.0
    settings: dict[str, Any] = {name: asked[name] for name in KEYWORDS if name in asked}
    settings |= {name: math.inf if asked[name] is None else asked[name] for name in LIMITS if name in asked}
    settings |= {"span": asked["span"], "output_step": asked["output_step"]}
    if asked.get("backend_choice"):  # nobody has named it, and here another one may be at hand, with the same bits
        settings["backend"] = None
    if ties:
        settings["tie"] = {name: tie["of"] for name, tie in ties.items()}
    if isinstance(asked.get("branch"), list):  # of the members that are wanted
        settings["branch"] = [asked["branch"][k] for k in members]
    if asked.get("events"):
        settings["events"] = asked["events"]
    if settings.setdefault("accuracy", "local") != "sampled":  # versions that did not say it had no other
        settings["error_growth"] = None
    if asked.get("tolerance") is not None:  # which decides the steps; those that are stored are the unit of a clock
        settings["tolerance"] = asked["tolerance"]
        del settings["step"]
    settings |= {"metrics": _metrics(rows), "drive": drive} if drive else {"metrics": _metrics(rows)}
    return Recipe(np.asarray(members, np.int64), model, vary, settings, still)


def _metrics(rows: xr.Dataset) -> dict[str, str]:
    """The metrics that are texts."""
    texts = {str(v.attrs.get("path", name)): v.attrs.get("metric") for name, v in rows.data_vars.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str) and not text.endswith(FUNCTION)}


def _driven_again(
    model: Model, driven: Mapping[str, str], vary: Mapping[str, np.ndarray], where: str
) -> tuple[Model, dict[str, Drive | PoseDrive], dict[str, np.ndarray]]:
    """The model before `drive=` added its drivers, what `drive=` was, and the designs without the numbers of those."""
    drive: dict[str, Drive | PoseDrive] = {}
    rest = dict(vary)
    for name in driven:
        if posed := posed_joint(model, name):
            frames = dict(model.joints())[posed]
            path, item = next((p, e) for p, e in model.drivers() if e.frames == (frames.parent, frames.child))
        else:
            coordinate = plain_coordinate(model, name, "drive")
            path, item = next(((p, e) for p, e in model.drivers() if e.joints == (coordinate,)), ("", None))
            if item is None:
                raise _lost(where, f"a drive of {coordinate} that is a function of Python")
        motion = TYPES[item.type] if item.type in TYPES else POSE_TYPES[item.type.rpartition("_")[2]]
        values = {key: _with_arrays(value, f"{path}.{key}", rest) for key, value in item.values.items()}
        known = {field.name for field in dataclasses.fields(motion)}
        drive[name] = motion(**{key: value for key, value in values.items() if key in known})
        origin = _without(model.origin, item) if model.origin else None
        model = dataclasses.replace(_without(model, item), origin=origin)
    return model, drive, rest


def _with_arrays(value: Any, path: str, vary: dict[str, np.ndarray]) -> Any:
    """A number of a drive, or the values of the members, which are taken out of the designs."""
    if isinstance(value, list | tuple):
        return [_with_arrays(entry, f"{path}[{k}]", vary) for k, entry in enumerate(value)]
    return vary.pop(path, value)


def _without(model: Model, item: Element) -> Model:
    """The model without one of its drivers."""

    def change(assembly: Assembly, path: str) -> Assembly:
        return dataclasses.replace(assembly, drivers=tuple(driver for driver in assembly.drivers if driver != item))

    return dataclasses.replace(model, assemblies=rebuilt(model.assemblies, change))


def _lost(where: str, fault: str) -> ModelError:
    todo = "Run it again yourself, and keep the members that you want to see (keep=)."
    return ModelError(f"{where}: simulating members again", fault, "what its store holds", todo)
