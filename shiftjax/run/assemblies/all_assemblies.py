"""`branches`: all assemblies of a mechanism at given inputs. Host code.

Problem: every q at which all closures hold while some coordinates stand where the inputs say.
Properties: a group of a plane with two assemblies is solved in closed form, any other one by following all roots of a
generic complex mechanism to it; real roots are moved to rounding on the closures of runs, and certified. What is no
system of closures of turns, shifts and balls with as many rows as coordinates is searched from spread poses, and said
to be not proven. Refused: inputs that leave freedoms, and inputs of coordinates that there are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_mapping
from shiftjax.formats.files import load
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.run.assemblies.named_parts import named_parts
from shiftjax.run.assemblies.parts import PartAssemblies
from shiftjax.run.assemblies.table import Branches
from shiftjax.run.closing.host_evaluation import deciding_drivers, stated_coordinates
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.watching import Progress, nobody, share, watched

MOST = 100_000  # assemblies of one design


def branches(
    model: Model | str,
    at: Mapping[str, Any] | None = None,
    *,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    progress: Progress = nobody,
) -> Branches:
    """All assemblies of a mechanism, or of many variants of it, at given inputs.

    Limits of joints are not asked. A loop of a plane with three unknown motions closes where two circles, or a circle
    and a line, meet. Of other groups all complex poses of a generic mechanism of their kind are known (found once by
    monodromy and kept in the user's cache), and are followed while its numbers become those of the design: what they
    end at are all poses of it, the real ones among them its assemblies (Sommese, Wampler, The Numerical Solution of
    Systems of Polynomials, 2005, chapter 7).

    Args:
        model: a Model, a library name or a path.
        at: coordinate -> its place, a number or (B,) of them [rad or m]. With drivers of the model, which count at
            time 0, as many as there are freedoms.
        vary: number path -> (B,) values, one a design. assign, derive: as those of `simulate`.
        progress: called with the fraction done, again and again; what it raises ends the search.

    Returns:
        a `Branches`: the assemblies with their names, coordinates and certificates, and whether they are all. Where JAX
        traces numbers of `vary` or `at`, its coordinates are JAX arrays with first derivatives; how many assemblies
        there are must be known, so not inside of jax.jit and jax.vmap.

    Raises:
        ModelError: inputs that leave freedoms or give one twice, no such coordinates, anything the model makes
            impossible.
    """
    model = model if isinstance(model, Model) else load(model)
    need_mapping("at", at or {})
    given = options_of(vary=vary, assign=assign, derive=derive)
    design = given.design.worked_out(model)
    prepared = prepare(model, design.vary or {}, given.changed(vary=design.vary, assign=design.assign))
    inputs = _inputs(prepared, at or {})
    lengths = {len(x) for x in inputs.values() if len(x) > 1} | ({prepared.members} if prepared.vary else set())
    if len(lengths) > 1:
        raise ModelError(
            "at", f"{sorted(lengths)} values", "one length for all inputs and vary", "Give as many of each."
        )
    members = max(lengths, default=1)
    which = np.arange(members) if prepared.vary else np.zeros(members, int)
    q = stated_coordinates(prepared.lane_of(which, 1.0), members)
    for k, values in inputs.items():
        q[prepared.plan.coordinates[k].q] = values
    fixed = {*inputs, *deciding_drivers(prepared.plan)}
    every, parts = named_parts(prepared, fixed), []
    with watched(progress):
        for k, part in enumerate(every):
            with share(k, len(every)):
                parts.append(part.at(q, which))
    return _together(prepared, q, [part for part in parts if part is not None])


def _inputs(prepared: Prepared, at: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """Coordinate of the plan -> (1,) or (B,) places."""
    out: dict[int, np.ndarray] = {}
    plan, driven = prepared.plan, deciding_drivers(prepared.plan)
    index = {one.path: k for k, one in enumerate(plan.coordinates)}
    for name, value in at.items():
        path = plain_coordinate(prepared.model, name, "at")
        k, values = index[path], real_array(value)
        if values is None or values.ndim > 1 or not np.isfinite(values).all() or not values.size:
            raise ModelError(f"at {path}", repr(value)[:60], "a finite number, or (B,) of them", "Give rad or m.")
        if k in out:
            raise ModelError(f"at {path}", "the same coordinate twice", "each once", "Leave one of them out.")
        if k in driven:
            todo = "Leave it out here, or deactivate its driver."
            raise ModelError(f"at {path}", f"a coordinate that {driven[k].name} drives", "free ones", todo)
        out[k] = np.atleast_1d(values)
    return out


def _together(prepared: Prepared, q: np.ndarray, parts: list[PartAssemblies]) -> Branches:
    """Every assembly of one substructure with every one of the others."""
    plan, members = prepared.plan, q.shape[1]
    member = np.arange(members)
    rows = np.zeros((0, members), int)  # of every part, which of its assemblies
    complex_, lost = np.ones(members, int), np.zeros(members, int)
    real = np.ones(members, int)
    for part in parts:
        counts = np.bincount(part.member, minlength=members)
        firsts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        if (most := np.bincount(member, counts[member]).max(initial=0)) > MOST:
            fault, todo = f"{most:.0f} assemblies of one design", "Ask for a part of the mechanism."
            raise ModelError("branches", fault, f"at most {MOST}", todo)
        repeats = counts[member]
        within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.vstack([np.repeat(rows, repeats, axis=1), np.repeat(firsts[member], repeats) + within])
        member = np.repeat(member, repeats)
        complex_, real, lost = complex_ * (part.total), real * counts, lost + part.lost
    pose = q[:, member].copy()
    numbers = {name: np.zeros(len(member)) for name in ("h", "radius", "residual")}
    numbers |= {name: np.full(len(member), np.inf) for name in ("alone", "margin")}
    names = np.full(len(member), "", dtype=object)
    for part, which in zip(parts, rows, strict=True):
        pose[part.rows] = part.q[:, which]
        for name, so_far in numbers.items():
            worse = np.minimum if name in ("alone", "margin") else np.maximum
            numbers[name] = worse(so_far, getattr(part, name)[which])
        names = names + np.where(names == "", "", " ") + part.names[which]
    lacking = tuple(dict.fromkeys(text for part in parts for text in part.lacking))
    if not lacking and not (numbers["h"] <= 0.5).all():
        lacking = ("an assembly is too near a singular pose to be certified",)
    sources = tuple(dict.fromkeys(text for part in parts for text in part.sources))
    coordinates = {one.path: pose[one.places].T if one.nq > 1 else pose[one.q] for one in plan.coordinates}
    return Branches(
        names=tuple(names), member=member, q=coordinates, complex=complex_ - real, lost=lost,
        complete="not proven" if lacking else "proven", reason="; ".join(lacking or sources or ("no loops",)),
        units={one.path: one.unit for one in plan.coordinates}, **numbers,
    )  # fmt: skip
