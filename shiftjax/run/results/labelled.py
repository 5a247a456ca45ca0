"""A result as one xarray tree: dimensions `member` and `time`, a unit on every variable. Host only, no jax."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np
import xarray as xr

from shiftjax.errors import ModelError
from shiftjax.measures.aims import NO_AIM
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.plugins import STORED, present
from shiftjax.run.results.event_history import texts_of
from shiftjax.run.results.log_table import log_dataset
from shiftjax.run.results.plain_values import FOLLOWS, members_to_keep, plain
from shiftjax.run.results.plain_values import MISSING_TEXT as MISSING_TEXT
from shiftjax.version import VERSION

COMPONENTS = ("x", "y", "z", "qw", "qx", "qy", "qz")
MISSING = -128  # of lost chunks: no status, no member
ORDER = "variables"  # attribute of a group
CHUNK_BYTES = 1 << 20  # small enough to fetch one member of a million at once, large enough for few files
FORMAT: dict[str, str | int] = {"format": "shiftjax", "format_version": 4, "shiftjax_version": VERSION}
MESSAGES = 1 << 14  # of a chunk: one of a million is read alone
NAME_BYTES = 200  # file systems take names of 255 bytes


def to_tree(result: Any, keep: int | str = "all") -> xr.DataTree:
    """The whole result; see `store` for its groups.

    Args:
        result: of `simulate`; one run becomes an ensemble of one member.
        keep: of the members whose trajectories the result holds, "all", "none" or how many are stored.
    """
    lift = (lambda a: np.asarray(a)) if result.batched else (lambda a: np.asarray(a)[None])
    rows = members_to_keep(keep, len(np.atleast_1d(result.kept)))
    posed = np.atleast_1d(np.asarray(result.kept, np.int64))[rows]
    root = xr.Dataset(
        attrs={
            **FORMAT,
            STORED: present(),
            "model": _text(result.model_document()),
            "model_source": result.model.source,
            "model_origin": _text(origin_numbers(result.model)),
            "report": _text(result.report),
            "settings": _text(result.settings),
            "notes": _text(result.notes),
            "programs": int(result.programs),
            "compile_s": float(result.compile_s),
            "wall_s": float(result.wall_s),
        }
    )
    poses = {body: lift(pose)[rows] for body, pose in result.poses.items()}
    channels = {path: lift(value)[posed] for path, value in result.channels.items()}
    groups = {
        "/": root,
        "/members": _ordered(_members(result, lift)),
        "/trajectories": _ordered(
            _trajectories(result.time, posed, channels, dict(result.units), poses, result.settings)
        ),
        "/log": log_dataset(result.log),
    }
    return xr.DataTree.from_dict(groups)


def origin_numbers(model: Model) -> list[list[Any]]:
    """Path and former value of the numbers that were replaced in a model, in their order: with them `with_origin` makes
    a model that walks to its start from where this one does."""
    numbers = {} if model.origin is None else model.origin.numbers()
    return [[path, numbers[path]] for path in model.replaced if path in numbers]


def with_origin(model: Model, numbers: Sequence[Sequence[Any]]) -> Model:
    """A model that was read from a store, as it was run.

    Args:
        numbers: what `origin_numbers` gave of the model that was run.
    """
    if not numbers:
        return model
    before = {str(path): float(value) for path, value in numbers}
    origin = replace(model.replace(before), origin=None, replaced=())
    return replace(model, origin=origin, replaced=tuple(before))


def whole_tree(result: Any, keep: int | str = "all") -> xr.DataTree:
    """The tree of a result in memory: that of a stored one, and the channels of all members in the group `channels`."""
    lift = (lambda a: np.asarray(a)) if result.batched else (lambda a: np.asarray(a)[None])
    every = {path: lift(values) for path, values in result.channels.items()}
    recorded = _trajectories(result.time, np.arange(result.members), every, dict(result.units), {}, result.settings)
    tree = to_tree(result, keep)
    tree["channels"] = xr.DataTree(recorded.drop_vars(["pose", "body", "component"]))
    return with_paths(tree)


def _ordered(dataset: xr.Dataset) -> xr.Dataset:
    """Notes the order of the variables, which zarr loses."""
    return dataset.assign_attrs({ORDER: [str(name) for name in dataset.data_vars]})


def _text(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False)


def _members(result: Any, lift: Any) -> xr.Dataset:
    """Design table, status, message and certificate: one row a member."""
    taken: set[str] = set()
    known = sorted(Outcome)
    meaning = {"flag_values": [int(o) for o in known], "flag_meanings": " ".join(o.name for o in known)}
    messages = list(result.messages) or [""] * result.members
    follows = result.model.expressions
    data: dict[str, Any] = {
        disk_name(path, taken): (
            "member", lift(values),
            _about("design", result.units.get(path, "1"), path=path, **({FOLLOWS: 1} if path in follows else {})),
        )
        for path, values in result.design.items()
    }  # fmt: skip
    for name, values in result.metrics.items():
        about = _about("metric", result.metric_units[name], path=name, metric=result.metric_texts[name])
        about |= result.metric_aims.get(name, NO_AIM).attributes
        data[disk_name(name, taken)] = ("member", lift(values), about)
    data["status"] = ("member", lift(result.status).astype(np.int16), _about("status", "1", **meaning))
    data["message"] = ("member", np.array(messages, dtype=object), _about("message", "1"))
    if result.events is not None:
        data["events"] = ("member", np.array(texts_of(result.events), dtype=object), _about("events", "1"))
    for name, values in result.certificate.items():
        data[name] = ("member", lift(values), _about("certificate", CERTIFICATE.get(name, "1")))
    member = ("member", np.arange(result.members, dtype=np.int64), {"units": "1"})
    dataset = xr.Dataset(data, coords={"member": member})
    for name in ("message", "events"):
        if name in dataset:
            dataset[name].encoding["chunks"] = (max(1, min(MESSAGES, len(messages))),)
    return dataset


def _about(role: str, units: str, **more: Any) -> dict[str, Any]:
    """Attributes of a column of the table of members: what it is of them, its unit."""
    return {"role": role, "units": units, **more}


def _trajectories(
    time: np.ndarray,
    posed: np.ndarray,
    channels: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    poses: Mapping[str, np.ndarray],
    used: Mapping[str, Any],
) -> xr.Dataset:
    """Channels and poses of the posed members, each (K, n, ...).

    Args:
        used: the settings; those of a path say what stands in the place of time.
    """
    along = {"units": used.get("parameter_unit", "s")} | (
        {"long_name": used["parameter"]} if "parameter" in used else {}
    )
    taken: set[str] = {"pose", "time", "member", "body", "component"}
    data: dict[str, Any] = {}
    for path, values in channels.items():
        dims = ("member", "time", *(f"axis_{size}" for size in values.shape[2:]))
        data[disk_name(path, taken)] = (dims, values, {"units": units.get(path, "1"), "path": path})
    shape = (len(posed), len(time), len(poses), 7)
    stacked = np.stack(list(poses.values()), axis=2) if poses else np.zeros(shape)
    about = {"units": "m, m, m, 1, 1, 1, 1", "long_name": "position and unit quaternion (w first) in the world"}
    data["pose"] = (("member", "time", "body", "component"), stacked, about)
    coords = {
        "member": ("member", posed, {"units": "1"}),
        "time": ("time", np.asarray(time, np.float64), along),
        "body": ("body", np.array(list(poses), dtype=object), {"units": "1"}),
        "component": ("component", np.array(COMPONENTS, dtype=object), {"units": "1"}),
    }
    dataset = xr.Dataset(data, coords=coords)
    for variable in dataset.data_vars.values():
        variable.encoding["chunks"] = chunks(variable.shape, variable.dtype.itemsize)
    return dataset


def chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunks of about CHUNK_BYTES: whole instants, as many as fit of one member, then as many members as fit."""
    instant = max(1, itemsize * int(np.prod(shape[2:], dtype=np.int64)))
    times = max(1, min(shape[1], CHUNK_BYTES // instant))
    members = max(1, min(shape[0], CHUNK_BYTES // (instant * times)))
    return (members, times, *(max(1, size) for size in shape[2:]))


def disk_name(path: str, taken: set[str]) -> str:
    """A variable's name on disk: its path if valid as a file name; the path itself is in the attributes."""
    name = "".join(c if c.isprintable() and c not in "/\\%" else quote(c, safe="") for c in path)
    long = len(name.encode()) > NAME_BYTES
    if long or name.casefold() in taken:  # some file systems ignore case
        digest = hashlib.sha256(path.encode()).hexdigest()[:12]
        name = f"{name.encode()[: NAME_BYTES - 20].decode(errors='ignore')}~{digest}"
    taken.add(name.casefold())
    return name


def with_paths(tree: xr.DataTree) -> xr.DataTree:
    """Gives the variables of a stored tree the names of their paths (those with a slash keep the stored name), in the
    order of the result."""

    def rename(dataset: xr.Dataset) -> xr.Dataset:
        order = dataset.attrs.pop(ORDER, [])
        if lost := [name for name in order if name not in dataset]:
            raise ModelError(f"array {lost[0]}", "an incomplete result", "a whole one", "Take a copy, or run it again.")
        dataset = dataset[[*order, *(name for name in dataset.data_vars if name not in order)]]
        names: dict[Hashable, str] = {name: str(v.attrs.get("path", name)) for name, v in dataset.variables.items()}
        return dataset.rename({old: new for old, new in names.items() if old != new and "/" not in new})

    return xr.DataTree.from_dict({node.path: rename(node.to_dataset(inherit=False)) for node in tree.subtree})


def tree_of_document(document: Mapping[str, Any]) -> xr.DataTree:
    """The tree of one run stored as JSON."""
    time = np.array(document["time"], np.float64)
    units = document["units"]
    channels = {path: np.array(v, np.float64)[None] for path, v in document["channels"].items()}
    poses = {body: np.array(v, np.float64).reshape(1, len(time), 7) for body, v in document["poses"].items()}
    data: dict[str, Any] = {
        "status": ("member", np.array([Outcome[document["status"]]], np.int16), {"units": "1"}),
        "message": ("member", np.array([document["message"]], dtype=object), {"units": "1"}),
    }
    if "event_history" in document:
        data["events"] = ("member", np.array([document["event_history"]], dtype=object), _about("events", "1"))
    for name, value in document["certificate"].items():
        data[name] = ("member", np.array([value], np.float64), {"units": CERTIFICATE.get(name, "1")})
    texts = {key: _text(document.get(key, [])) for key in ("model", "model_origin", "report", "settings", "notes")}
    plainly = ("format", "format_version", "shiftjax_version", "model_source", "programs", "compile_s", "wall_s")
    root = xr.Dataset(attrs={**{key: document[key] for key in plainly}, **texts})
    posed = np.zeros(1, np.int64)
    groups = {
        "/": root,
        "/members": xr.Dataset(data, coords={"member": ("member", posed, {"units": "1"})}),
        "/trajectories": _trajectories(time, posed, channels, units, poses, document.get("settings", {})),
        "/log": log_dataset(document["log"]),
    }
    return xr.DataTree.from_dict(groups)
