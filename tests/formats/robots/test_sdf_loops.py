"""Joints of SDFormat that close loops are exact joints (F23, D3): the mechanism is that of our file, and of MJCF."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelBuilder, ModelError, load
from shiftjax.formats.robots.sdf.document import read
from shiftjax.formats.robots.urdf import robot as urdf
from shiftjax.mechanism.model import Model
from tests.formats.robots.test_mjcf_loops import (
    ANGLES,
    BASE,
    CLOSINGS,
    COUPLER,
    CRANK,
    ROCKER,
    START,
    moved,
    ours,
)
from tests.formats.robots.test_mjcf_loops import four_bar as four_bar_of_mjcf
from tests.support.models import urdf_text
from tests.support.models.sdf_text import axis, joint, link, model, pose, sdf, world
from tests.support.models.urdf_text import rpy_matrix, rpy_of

ROUNDING = 1e-12  # m, rad or 1, after Newton's method of the loops
LENGTHS = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}


def of_text(*elements: str) -> Model:
    """Joints without the `_turn` by which they differ from links, which share one list of names in SDFormat."""
    document, warnings = read(sdf(world(*elements)), "m.sdf")
    for item in document["assemblies"][0]["joints"]:
        item["name"] = item["name"].removesuffix("_turn")
    return load({**document, "comment": "\n".join(warnings)})


def four_bar() -> Model:
    """The four-bar of `ours` as a graph: links where they stand, four joints of one kind, none of which is special."""
    coupler, rocker = ANGLES
    turns = {"crank": START, "coupler": coupler, "rocker": rocker}
    starts = {"crank": (0, 0, 0), "coupler": (CRANK, 0, 0), "rocker": (BASE, 0, 0)}
    on = {"crank": "", "coupler": "crank", "rocker": ""}
    links = []
    for name, length in LENGTHS.items():
        moment = length**3 / 12
        turn = turns[name] - (START if name == "coupler" else 0.0)  # stated on the crank
        place = pose((*starts[name], 0, -turn, 0), on[name])
        links.append(link(name, place, length, (length / 2, 0, 0, 0, 0, 0), (1e-4, moment, moment)))
    about = axis((0, -1, 0))
    loop = pose((ROCKER, 0, 0, 0, 0, 0))
    return of_text(
        model(
            *links,
            joint("loop", "coupler", "rocker_end", inside=axis((0, -1, 0), expressed_in="rocker")),
            f'<frame name="rocker_end" attached_to="rocker">{loop}</frame>',
            *(joint(f"{name}_turn", on[name] or "world", name, inside=about) for name in LENGTHS),
        )
    )


def rank_of_loops(of: Model) -> int:
    """Of the rows of the loops at a pose away from the start."""
    begin = dict(of.joints())["m:crank"].initial_displacement
    at = shiftjax.configuration(of, q={"crank": float(begin) + 0.4})  # type: ignore[arg-type]
    return len(at.speed_names) - len(at.independent_names)


def test_f23_one_four_bar_of_three_formats_has_equal_rank_start_and_motion() -> None:
    """Ours, SDFormat and MJCF: freedoms, poses at the start and a good way from it, accelerations, and a run.

    A `connect` of MJCF is a ball in the loop, two rows of which the plane makes superfluous, so that its rank is
    compared by the freedoms that it leaves.
    """
    models = {"ours": ours(), "sdf": four_bar(), "mjcf": four_bar_of_mjcf(CLOSINGS["connect"])}
    assert rank_of_loops(models["ours"]) == rank_of_loops(models["sdf"])
    starts = {name: [shiftjax.configuration(one).pose(link) for link in LENGTHS] for name, one in models.items()}
    away = {name: moved(one, 0.4, 1.5) for name, one in models.items()}
    runs = {
        name: shiftjax.simulate(one, span=0.2, step=1e-3, channels=["crank.q"]).channels["crank.q"]
        for name, one in models.items()
    }
    for name in ("sdf", "mjcf"):
        assert away[name]["freedoms"] == away["ours"]["freedoms"] == 1
        assert np.abs(np.array(starts[name]) - starts["ours"]).max() < ROUNDING
        assert np.abs(away[name]["poses"] - away["ours"]["poses"]).max() < ROUNDING
        for key in ("v", "a"):
            assert away[name][key] == pytest.approx(away["ours"][key], abs=ROUNDING * 100)
        ways = [float(runs[one][-1] - runs[one][0]) for one in ("ours", name)]
        assert abs(ways[0]) > 0.1 and ways[1] == pytest.approx(ways[0], abs=1e-9)  # all take coordinates of their own


def test_f23_urdf_has_no_word_for_a_loop() -> None:
    """A second parent of a link is refused, and says what to do."""
    links = [urdf_text.link(name) for name in ("world", *LENGTHS)]
    pairs = (("world", "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("world", "rocker"))
    joints = [urdf_text.joint(f"j{k}", *pair) for k, pair in enumerate(pairs)]
    with pytest.raises(ModelError, match=r"second parent of link 'rocker'.*URDF has no loops"):
        urdf.read(urdf_text.robot(*links, *joints), "m.urdf")


# A crank, a rod on a universal joint and a ball, a nut on a screw: 1 + 2 + 3 + 1 - 6 = 1 freedom.
TURN, CROSS, NUT, PITCH = 0.5, (0.2, -0.4), 0.3, 0.05  # starts of ours [rad]; pitch [m/rad]
SPINDLE, BALL, TILT = (0.6, 0.1, 0.05), (0.1, 0.02, 0.03), (0.3, -0.2, 0.4)
MASSES = {"crank": 0.5, "rod": 0.4, "nut": 0.8}
MOMENTS = {"crank": (1e-3, 2e-3, 2.5e-3), "rod": (1e-3, 5e-3, 5.5e-3), "nut": (3e-3, 2e-3, 4e-3)}


def placed(p: Any, R: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def starts_of_space_loop() -> dict[str, np.ndarray]:
    """(4, 4) of the bodies, of the cross on the crank, and of the ball."""
    crank = placed((0, 0, 0), rpy_matrix(0, 0, TURN))
    cross = crank @ placed((0.2, 0, 0), rpy_matrix(*TILT))
    rod = cross @ placed((0, 0, 0), rpy_matrix(CROSS[0], 0, 0) @ rpy_matrix(0, CROSS[1], 0))
    nut = placed(SPINDLE, np.eye(3)) @ placed((0, 0, PITCH * NUT), rpy_matrix(0, 0, NUT))
    return {"crank": crank, "cross": cross, "rod": rod, "nut": nut, "ball": nut @ placed(BALL, np.eye(3))}


def space_loop_of_ours() -> Model:
    X = starts_of_space_loop()
    end = np.linalg.inv(X["rod"]) @ X["ball"]
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.frame("spindle", T=SPINDLE)
    parts = builder.assembly("m")
    frames: dict[str, Any] = {
        "crank": {"cross": {"T": (0.2, 0, 0), "R": rpy_matrix(*TILT)}},
        "rod": {"end": {"T": end[:3, 3]}},
        "nut": {"ball": {"T": BALL}},
    }
    for name, mass in MASSES.items():
        parts.body(name, mass=mass, inertia=(*MOMENTS[name], 0, 0, 0), center_of_mass=(0.05, 0.02, 0.01),
                   frames=frames[name])  # fmt: skip
    along = {"axis": (0, 0, 1)}
    parts.joint("crank", "revolute", parent=("fixed", "origin"), child="crank", initial_displacement=TURN, **along)
    parts.joint("cross", "universal", parent=("crank", "cross"), child="rod",
                initial_displacement={"first": CROSS[0], "second": CROSS[1]})  # fmt: skip
    parts.joint("lead", "screw", parent=("fixed", "spindle"), child="nut", pitch=PITCH, initial_displacement=NUT,
                **along)  # fmt: skip
    parts.joint("ball", "spherical", parent=("rod", "end"), child=("nut", "ball"), cut=True)
    return builder.build()


def space_loop_of_sdf() -> Model:
    """Its joints begin at zero, where ours have turned: the second axis of the cross is that of the rod there."""
    X = starts_of_space_loop()
    links = [
        link(name, pose((*X[name][:3, 3], *rpy_of(X[name][:3, :3]))), mass, (0.05, 0.02, 0.01, 0, 0, 0), MOMENTS[name])
        for name, mass in MASSES.items()
    ]
    cross = f'<frame name="on_crank" attached_to="crank">{pose((0.2, 0, 0, *TILT))}</frame>'
    axes = axis((1, 0, 0), expressed_in="on_crank") + axis((0, 1, 0), tag="axis2")
    pitch = f"<screw_thread_pitch>{PITCH * 2 * math.pi!r}</screw_thread_pitch>"
    return of_text(
        model(
            *links,
            cross,
            joint("crank_turn", "world", "crank"),
            joint("ball", "rod", "nut", "ball", "", pose((*BALL, 0, 0, 0))),
            joint("cross", "crank", "rod", "universal", axes),
            joint("lead", "world", "nut", "screw", axis() + pitch),
        )
    )


def test_f23_a_loop_of_universal_screw_and_ball_is_that_of_our_file() -> None:
    """Rank, start, poses, and accelerations of bodies a good way off, where the loop is exact; and a run of it."""
    ours, theirs = space_loop_of_ours(), space_loop_of_sdf()
    for turn, speed in ((0.0, 0.0), (0.3, 2.0)):
        sides = [
            shiftjax.configuration(one, q={"crank": begin + turn}, v={"crank": speed}, independent=["crank"])
            for one, begin in ((ours, TURN), (theirs, 0.0))
        ]
        for one in sides:
            assert len(one.independent_names) == 1 and len(one.speed_names) == 7
        for body in MASSES:
            one, other = (side.pose(body) for side in sides)
            assert np.abs(one - other).max() < ROUNDING
            one, other = (side.acceleration(body) for side in sides)
            assert np.abs(one - other).max() < 1e-10 * max(np.abs(one).max(), 1.0)
    runs = [
        shiftjax.simulate(
            one.replace({"crank.initial_velocity": 3.0}), span=0.2, step=1e-3, channels=["crank.q", "lead.q"]
        )
        for one in (ours, theirs)
    ]
    for name in ("crank.q", "lead.q"):
        ways = [float(run.channels[name][-1] - run.channels[name][0]) for run in runs]
        assert abs(ways[0]) > 1e-3 and ways[1] == pytest.approx(ways[0], abs=1e-8)
    assert runs[1].certificate["gap"] < 1e-10


def test_d3_bodies_that_are_one_rigid_body_anyway_are_joined_once() -> None:
    """Three fixed joints in a ring: two hold, the third, which the poses fulfil, is left out with a note."""
    names = ("a", "b", "c")
    ring = [joint(f"j{k}", names[k - 1], names[k], "fixed", "") for k in range(3)]
    text = model(*(link(name, mass=1.0) for name in names), *ring)
    at = shiftjax.configuration(of_text(text))
    assert len(at.speed_names) == 6 and "left out: j2" in at.model.comment
