"""The same mechanism written differently: lists permuted, nested, a joint turned round, moved in the world.

Works on documents of the second dialect with one flat assembly, as the library's files are.
"""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import numpy as np

from shiftjax.models import path

Document = dict[str, Any]
GRID = 2.0**-30  # m; lengths rounded to it stay exact when 8192 m are added
SCALARS = ("Rx", "Ry", "Rz", "Tx", "Ty", "Tz", "revolute", "prismatic")


def library(name: str) -> Document:
    return json.loads(path(name).read_text())


def assembly_of(document: Document) -> Document:
    (assembly,) = document["assemblies"]
    return assembly


def permuted(document: Document, seed: int) -> Document:
    """All lists of bodies, joints, restraints and frames in another order."""
    rng = np.random.default_rng(seed)
    out = copy.deepcopy(document)
    assembly = assembly_of(out)
    lists = [assembly["bodies"], assembly["joints"], assembly.get("restraints") or [], out["frames"]]
    for entries in [*lists, *(body.get("frames") or [] for body in assembly["bodies"])]:
        rng.shuffle(entries)
    return out


def nested(document: Document, depth: int = 5) -> Document:
    """Bodies dealt out over assemblies that lie in each other, joints and restraints beside their first body."""
    out = copy.deepcopy(document)
    assembly = assembly_of(out)
    levels: list[Document] = [{"name": f"level{k}", "bodies": [], "joints": [], "restraints": []} for k in range(depth)]
    for upper, lower in pairwise(levels):
        upper["assemblies"] = [lower]
    level_of = {body["name"]: k % depth for k, body in enumerate(assembly["bodies"])}

    def full(end: list[Any]) -> list[Any]:
        body = _body(end)
        return end if body == "fixed" else [[f"level{k}" for k in range(level_of[body] + 1)] + [body], end[1]]

    for body in assembly["bodies"]:
        levels[level_of[body["name"]]]["bodies"].append(body)
    home: dict[str, int] = {}
    for joint in assembly["joints"]:
        home[joint["name"]] = level_of[next(b for b in map(_body, (joint["child"], joint["parent"])) if b != "fixed")]
        joint["parent"], joint["child"] = full(joint["parent"]), full(joint["child"])
        levels[home[joint["name"]]]["joints"].append(joint)
    for restraint in assembly.get("restraints") or []:
        if "body_frame_pair" in restraint:
            restraint["body_frame_pair"] = [full(end) for end in restraint["body_frame_pair"]]
            levels[0]["restraints"].append(restraint)
        else:
            levels[home[restraint["joint"]]]["restraints"].append(restraint)
    out["assemblies"] = levels[:1]
    return out


def _body(end: list[Any]) -> str:
    return end[0] if isinstance(end[0], str) else end[0][-1]


def turned_round(document: Document, name: str) -> Document:
    """Joint `name` with parent and child exchanged: its coordinate is the inverse motion, its forces follow."""
    out = copy.deepcopy(document)
    assembly = assembly_of(out)
    joint = next(j for j in assembly["joints"] if j["name"] == name)
    joint["parent"], joint["child"] = joint["child"], joint["parent"]
    if joint["type"] in SCALARS:
        for key in {"initial_displacement", "initial_velocity"} & joint.keys():
            joint[key] = -joint[key]
    else:
        place = joint.get("initial_displacement") or {}
        R, T = np.array(place.get("R", np.eye(3)), float), np.array(place.get("T", np.zeros(3)), float)
        inverse = {"R": R.T.tolist()} | ({"T": (-R.T @ T).tolist()} if joint["type"] != "spherical" else {})
        if "initial_displacement" in joint:
            joint["initial_displacement"] = inverse
        if joint["type"] == "spherical" and "initial_velocity" in joint:
            rates = np.ravel(joint.get("initial_velocity", 0.0)) * np.ones(3)
            joint["initial_velocity"] = (-R @ rates).tolist()
    for key in ("stiffness", "damping"):
        if joint.get(key):
            joint[key] = [-c * (-1) ** k for k, c in enumerate(joint[key])]
    for restraint in assembly.get("restraints") or []:
        if restraint.get("joint") == name:
            restraint["knot_points"] = [-k for k in reversed(restraint.get("knot_points") or [])]
            pieces = [[-c * (-1) ** (len(p) - 1 - k) for k, c in enumerate(p)] for p in restraint["coefficients"]]
            restraint["coefficients"] = pieces[::-1]
    return out


def on_the_grid(document: Document) -> Document:
    """Lengths of all frames rounded to `GRID`, and every frame on ground named, so that the whole can be moved."""
    out = copy.deepcopy(document)
    assembly = assembly_of(out)
    out["frames"] = [*(out.get("frames") or []), {"name": "ground_origin", "T": [0.0, 0.0, 0.0]}]
    ends = [joint[key] for joint in assembly["joints"] for key in ("parent", "child")]
    ends += [end for r in assembly.get("restraints") or [] for end in r.get("body_frame_pair") or []]
    for end in ends:
        if _body(end) == "fixed" and end[1] == "origin":
            end[1] = "ground_origin"
    for frame in [*out["frames"], *(f for body in assembly["bodies"] for f in body.get("frames") or [])]:
        frame["T"] = [round(x / GRID) * GRID for x in frame.get("T", (0, 0, 0))]
    return out


def moved(document: Document, offset: float) -> Document:
    """A document of `on_the_grid` with all frames on ground moved by the offset [m] along x, -y and z."""
    out = copy.deepcopy(document)
    for frame in out["frames"]:
        frame["T"] = [x + sign * offset for x, sign in zip(frame["T"], (1, -1, 1), strict=True)]
    return out
