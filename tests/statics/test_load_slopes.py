"""Slopes of load paths by numbers of the design: snaps, buckling, equilibria, events. M8b, M19. Row 20 of
kinematics."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.statics import probing
from tests.statics.test_equilibrium import ARCH, REST, STIFF, B, resistance
from tests.statics.test_load_path import COLUMN, LENGTH, MOST, SNAP, TORSION

CRITICAL = 1e-9  # relative: critical poses are good to 1e-11
DIFFERENCED = 1e-6  # of differences of second order
K, PRELOAD = "arch:left.coefficients[0][0]", "arch:left.coefficients[0][1]"
SAME: dict[str, Any] = {  # both springs of one stiffness, their length as it is
    PRELOAD: f"-{REST} * {{{K}}}",
    "right.coefficients[0][0]": f"{{{K}}}",
    "right.coefficients[0][1]": f"-{REST} * {{{K}}}",
}


def arch(load: float = -1.2 * MOST, **more: Any) -> shiftjax.LoadPath:
    return shiftjax.load_path(ARCH, {"load.load": (0.0, load)}, poses=60, distance=0.1, **more)


def test_a_snap_goes_with_the_stiffness_of_the_springs() -> None:
    """P = k f(y): the load of the snap is in proportion to k, and its place stays; under one load dy/dk = -f/(k f')."""
    path = arch(derive=SAME, slopes=["left.coefficients[0][0]"], channels=["way.q"])
    for pose, side in zip(path.critical, (1.0, -1.0), strict=True):
        slopes = pose.slopes[K]
        assert slopes["arch:load.load"] == pytest.approx(-side * MOST / STIFF, rel=CRITICAL)
        assert slopes["factor"] == pytest.approx(side / STIFF / 1.2, rel=CRITICAL)
        assert abs(slopes["arch:way"]) < CRITICAL * SNAP
    y = path.q["arch:way"][0]
    exact = -resistance(y) / STIFF / (2.0 * STIFF * (REST * B * B / (B * B + y * y) ** 1.5 - 1.0))
    here = np.isfinite(y) & (np.abs(np.abs(y) - SNAP) > 0.02)
    assert here.sum() > 15
    for name in ("arch:way", "way.q"):
        assert np.abs(path.design_slopes[K][name][0] - exact)[here].max() < CRITICAL * np.abs(exact[here]).max()
    assert path.slopes == {} and np.isnan(path.design_slopes[K]["way.q"][0, ~np.isfinite(y)]).all()


def test_one_spring_alone_pulls_a_snap_aside() -> None:
    """Both loads and places against differences of paths, of a stiffness and of where an arch stands."""
    paths = (K, "fixed:left.T[0]")
    slopes = arch(slopes=paths)
    for path in paths:
        h = 1e-5 * abs(ARCH.numbers()[path])
        one, two = (arch(assign={path: ARCH.numbers()[path] + side * h}).critical for side in (1.0, -1.0))
        for pose, more, less in zip(slopes.critical, one, two, strict=True):
            for name, a, b in (("arch:load.load", more.loads, less.loads), ("arch:way", more.q, less.q)):
                known = (a[name] - b[name]) / (2.0 * h)
                assert pose.slopes[path][name] == pytest.approx(known, rel=DIFFERENCED), (path, name)


def test_a_column_buckles_later_where_it_is_stiffer_or_shorter() -> None:
    """P = k (1/L + 1/L'): its slopes by all three; an eccentric pin takes buckling away, so that there is none."""
    lower, upper, aside = (f"column:{name}" for name in ("lower:tip.T[2]", "upper:tip.T[2]", "lower:tip.T[0]"))
    path = shiftjax.load_path(
        COLUMN, {"load.load": (0.0, -240.0)}, poses=40, slopes=["spring.k", lower, upper, aside], branches=0,
        vary={"spring.k": [TORSION, 0.8 * TORSION]},
    )  # fmt: skip
    for pose, k in zip(path.critical, (TORSION, 0.8 * TORSION), strict=True):
        load = {name: slopes["column:load.load"] for name, slopes in pose.slopes.items()}
        assert load["column:spring.k"] == pytest.approx(-2.0 / LENGTH, rel=CRITICAL)
        assert load[lower] == pytest.approx(k / LENGTH**2, rel=CRITICAL)
        assert load[upper] == pytest.approx(k / LENGTH**2, rel=CRITICAL)
        assert all(np.isnan(x) for x in pose.slopes[aside].values())
        assert pose.slopes[lower]["column:slide"] == pytest.approx(1.0, rel=CRITICAL)
        assert abs(pose.slopes[lower]["column:pin"]) < CRITICAL


def steep_arch(rest: float) -> Model:
    """A block between two springs on a half width of 0.3 m, free to the side, too."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.frame("left", T=(-0.3, 0.0, 0.0)).frame("right", T=(0.3, 0.0, 0.0))
    a = builder.assembly("arch")
    a.body("slide", mass=0.1, inertia=(0.1,) * 3).body("block", mass=1.0, inertia=(0.1,) * 3)
    a.joint("side", "Tx", child="slide")
    a.joint("way", "Tz", parent="slide", child="block", initial_displacement=float(np.sqrt(rest**2 - 0.09)))
    for name in ("left", "right"):
        a.restraint(
            name, "spring", frames=[("fixed", name), ("block", "origin")], coefficients=[[100.0, -100.0 * rest]]
        )
    a.force("load", "constant_load", joint="way", load=0.0)
    return builder.build()


def leaving(rest: float) -> tuple[float, float]:
    """Where a steep arch leaves its way, and the load there: 1 - L y^2 / r^3 = 0 with r^2 = b^2 + y^2."""
    roots = np.roots([1.0, -rest, 0.0, rest * 0.09])
    r = max(float(root.real) for root in roots if abs(root.imag) < 1e-12 and 0.3 < root.real < rest)
    y = float(np.sqrt(r * r - 0.09))
    return y, -200.0 * (rest / r - 1.0) * y


def test_a_branch_point_on_a_curved_path_goes_with_what_keeps_its_symmetry() -> None:
    """Where a steep arch leaves its way, by the length of both springs; one alone makes it lean before."""
    left, right = (f"arch:{name}.coefficients[0][1]" for name in ("left", "right"))
    path = shiftjax.load_path(
        steep_arch(1.0), {"load.load": (0.0, -100.0)}, poses=30, derive={right: f"{{{left}}}"}, slopes=[left],
        branches=0,
    )  # fmt: skip
    first, h = path.critical[0], 1e-5
    (y, load), (before_y, before) = leaving(1.0 + h), leaving(1.0 - h)
    slopes = first.slopes[left]  # of the preload, -100 N/m times the length
    assert first.kind == "branch"
    assert -100.0 * slopes["arch:load.load"] == pytest.approx((load - before) / (2.0 * h), rel=DIFFERENCED)
    assert -100.0 * slopes["arch:way"] == pytest.approx((y - before_y) / (2.0 * h), rel=DIFFERENCED)
    assert abs(slopes["arch:side"]) < CRITICAL
    alone = shiftjax.load_path(
        steep_arch(1.0), {"load.load": (0.0, -100.0)}, poses=30, slopes=[left], branches=0
    ).critical[0]  # fmt: skip
    assert np.isnan(alone.slopes[left]["arch:load.load"])


def test_loops_reactions_and_derived_loads_have_slopes() -> None:
    """A four-bar on springs under more gravity, of which a derived mass takes a share: equilibria on either side."""
    given: dict[str, Any] = {
        "channels": ["rocker_pivot.q", "coupler:tip.position", "rocker_pivot.reaction_force"],
        "derive": {"rocker.mass": "{coupler.mass} * {model_parameters.gravity[2]} / 9.81"},
    }
    load, number = "model_parameters.gravity[2]", "four_bar:coupler.mass"
    path = shiftjax.load_path(
        "four_bar", {load: (9.81, 12.0)}, poses=4, distance=0.4, slopes=[number, "coupler:tip.T[1]"], **given
    )  # fmt: skip
    here, h = np.isfinite(path.factor[0]), 1e-5
    mass = shiftjax.load("four_bar").numbers()[number]
    one, two = (shiftjax.equilibrium("four_bar", vary={load: path.loads[load][0, here], number: np.full(
        here.sum(), mass + side * h)}, **given) for side in (1.0, -1.0))  # fmt: skip
    slopes = path.design_slopes[number]
    for name in given["channels"]:
        known = (one.channels[name] - two.channels[name]) / (2.0 * h)
        assert np.abs(slopes[name][0, here] - known).max() < 1e-6 * max(np.abs(known).max(), 1e-2), name
    assert np.abs(slopes["rocker_pivot.reaction_force"][0, here]).max() > 1.0
    assert np.isnan(path.design_slopes["four_bar:coupler:tip.T[1]"]["rocker_pivot.q"]).all()  # it opens the loop


def test_events_go_with_the_design() -> None:
    """A probe meets its stop at L = T(bound) / (m g cos bound), and tips over at L = T(t) / (m g cos t) with T = (M +
    m) g a: by the mass of the tip."""
    tips = {"tips": {"of": probing.FEET, "action": "stop"}}
    mass = "prober:tip.mass"
    path = shiftjax.load_path(
        probing.prober(), {"probe": (0.1, 2.5)}, poses=60, distance=0.1, events=tips, slopes=[mass, "body.mass"]
    )
    meets, topples = path.events
    assert meets.slopes[mass]["prober:probe"] == pytest.approx(-probing.HIT / probing.TIP, rel=CRITICAL)
    assert abs(meets.slopes[mass]["prober:hip"]) < CRITICAL
    t, length = topples.q["prober:hip"], topples.loads["prober:probe"]
    lever = probing.G * probing.FOOT
    turned = lever / float(probing.stiffness(np.array(t)))  # dt/dm of T(t) = (M + m) g a
    assert topples.slopes[mass]["prober:hip"] == pytest.approx(turned, rel=CRITICAL)
    grows = length * (lever / probing.torque(np.array(t)) + np.tan(t) * turned)
    assert topples.slopes["prober:body.mass"]["prober:probe"] == pytest.approx(float(grows), rel=CRITICAL)
    assert topples.slopes[mass]["prober:probe"] == pytest.approx(float(grows) - length / probing.TIP, rel=CRITICAL)


def test_what_is_no_number_of_the_design_is_refused() -> None:
    with pytest.raises(ModelError, match=r"slopes load\.load: found a load"):
        arch(slopes=["load.load"])
    with pytest.raises(ModelError, match="Did you mean"):
        arch(slopes=["left.coefficient[0][0]"])
    with pytest.raises(ModelError, match="a list of paths"):
        arch(slopes="spring.k")
