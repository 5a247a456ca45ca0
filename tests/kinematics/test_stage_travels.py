"""Travels of joints of sublinkages: what is driven never limits what drives it, which stays. M22, M23."""

import re
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.kinematics.ranges.travels import travels
from tests.support.models.reaching_arms import five_bar

EXACT = 1e-9  # rad: dead points are solved to rounding, angles of triangles have its root at most near them
SAME = 1e-12  # rad: the same ends of the same loops, in another order of coordinates
LOOP = [f"four_bar:{name}" for name in ("crank_pivot", "crank_pin", "rocker_pin", "rocker_pivot")]


def with_follower() -> shiftjax.Editor:
    """The four-bar, whose crank turns round, and two bars from its coupler to ground, which reach not so far."""
    edit = shiftjax.Editor("four_bar")
    tip, foot = np.array([0.75, 0.0, 0.75]), np.array([1.4, 0.0, 0.6])
    knee = np.array([1.1, 0.0, 0.9])
    edit.add_body("near", "four_bar", at=tip, mass=1.0).add_body("far", "four_bar", at=foot, mass=1.0)
    for name, parent, child, at in (
        ("tip", "coupler", "near", tip), ("knee", "near", "far", knee), ("foot", "fixed", "far", foot)
    ):  # fmt: skip
        edit.add_joint(name, "revolute", parent, child, at=at, axis="y")
    return edit


BOTH = with_follower()
DRIVEN = shiftjax.Editor(BOTH.model).sublinkage("follower", ["tip", "knee", "foot"], disposition="driven")


def ends(model: shiftjax.Model | str, joint: str, **given: Any) -> np.ndarray:
    one = shiftjax.travel(model, joint, **given)
    return np.array([one.begin, one.low, one.high])


def test_what_is_driven_never_limits_what_drives_it() -> None:
    """M22: joints that drive go as far as without what they drive; all loops at once are asked for by name."""
    for joint in (LOOP[0], LOOP[3]):
        alone, staged = ends("four_bar", joint), ends(DRIVEN.model, joint)
        together = ends(DRIVEN.model, joint, together=True)
        assert staged == pytest.approx(alone, abs=SAME)
        assert together == pytest.approx(ends(BOTH.model, joint), abs=SAME)
        assert np.isfinite(together).all() and alone[1] <= together[1] + SAME and together[2] <= alone[2] + SAME
    margins = [shiftjax.travel(model, "crank_pivot").turning_margin for model in ("four_bar", DRIVEN.model)]
    assert margins[0] == pytest.approx(margins[1], abs=SAME)
    assert shiftjax.travel(BOTH.model, "crank_pivot").turning_margin is None


def test_slopes_of_what_drives_are_those_without_what_is_driven() -> None:
    """M22: d end / d length of the coupler, traced."""
    import jax

    path = "four_bar:coupler:tip.T[0]"
    length = shiftjax.load("four_bar").numbers()[path]
    slopes = [
        float(jax.grad(lambda x, of=model: shiftjax.travel(of, "rocker_pivot", vary={path: x[None]}).high[0])(length))
        for model in (shiftjax.load("four_bar"), DRIVEN.model)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=EXACT) and abs(slopes[0]) > 0.1


def ends_beside_a_still_crank(model_lengths: tuple[float, ...], left: np.ndarray) -> np.ndarray:
    """(2, B) ends of the right crank of a five-bar whose left one stays: the law of cosines."""
    ground, l1, l2, r1, r2 = model_lengths
    way = np.stack([l1 * np.cos(left) - ground, l1 * np.sin(left)])
    far = np.hypot(*way)
    swing = np.arccos((r1**2 + far**2 - (l2 + r2) ** 2) / (2.0 * r1 * far))
    assert (np.abs(r1 - far) > abs(l2 - r2)).all()  # so that it never comes too near
    middle = np.arctan2(way[1], way[0])
    return np.stack([middle - swing, middle + swing])


LENGTHS = 1.5, 0.5, 0.5, 0.6, 0.45
FIVE_BAR = five_bar(LENGTHS[0], LENGTHS[1:3], LENGTHS[3:])
DRIVES = shiftjax.Editor(FIVE_BAR).sublinkage("crank", ["left"], disposition="driving").model


def test_what_drives_stays_where_it_is() -> None:
    """M22: of a five-bar whose left crank drives the right one goes as far as a four-bar about the still crank."""
    left = np.array([0.2, 0.5, 0.9, 1.2])
    many = shiftjax.travel(DRIVES, "right", vary={"left.initial_displacement": left})
    low, high = ends_beside_a_still_crank(LENGTHS, left)
    turns = np.round((many.begin - 0.5 * (low + high)) / (2.0 * np.pi)) * 2.0 * np.pi
    assert many.low == pytest.approx(low + turns, abs=EXACT) and many.high == pytest.approx(high + turns, abs=EXACT)
    assert many.at_low["a:left"] == pytest.approx(left, abs=0.0) and many.assembled.all()
    assert many.turning_margin is None
    for k in range(len(left)):
        one = shiftjax.travel(DRIVES, "right", assign={"left.initial_displacement": float(left[k])})
        assert (one.low, one.high) == (many.low[k], many.high[k])
    assert shiftjax.travel(DRIVES, "left", vary={"left.initial_displacement": left}).unlimited.all()
    with pytest.raises(shiftjax.ModelError, match="1 freedom that no driver leads"):
        shiftjax.travel(DRIVES, "right", together=True)


def test_what_a_stage_does_not_leave_free_does_not_move() -> None:
    """M22: a crank of a four-bar whose rocker drives stays; the rocker goes beyond its dead points."""
    model = shiftjax.Editor("four_bar").sublinkage("rest", LOOP[:3], disposition="driven").model
    crank, rocker = (shiftjax.travel(model, name) for name in ("crank_pivot", "rocker_pivot"))
    assert crank.low == crank.high == crank.begin and rocker.unlimited
    assert shiftjax.travel(model, "rocker_pivot", together=True).high == pytest.approx(ends("four_bar", LOOP[3])[2])


def test_what_has_no_answer_in_stages_is_refused_by_name() -> None:
    import jax

    def high(x: Any) -> Any:
        return shiftjax.travel(DRIVES, "right", vary={"l2:tip.T[0]": x[None]}).high[0]

    with pytest.raises(shiftjax.ModelError, match=r"slopes are asked, of a joint whose stage depends on a:left"):
        jax.grad(high)(0.9)
    with pytest.raises(shiftjax.ModelError, match=r"branch: found a branch, .*together=True"):
        shiftjax.travel(DRIVEN.model, "crank_pivot", branch="1")
    with pytest.raises(shiftjax.ModelError, match=r"together: found 1"):
        shiftjax.travel("four_bar", "crank_pivot", together=1)  # pyright: ignore[reportArgumentType]
    edit = shiftjax.Editor(BOTH.model).change_type("tip", "spherical").change_type("foot", "spherical")
    edit.sublinkage("ends", ["tip"], disposition="driving")
    with pytest.raises(shiftjax.ModelError, match=r"tip of an earlier stage, which turns any way"):
        shiftjax.travel(edit.model, "knee")


def test_ways_of_sliders_are_those_of_stages() -> None:
    """M22, M23: by hand, also where loops of what is driven are open."""
    poser = shiftjax.Poser(DRIVEN.model)
    alone = ends("four_bar", "rocker_pivot")
    far = 0.5 * (alone[2] + ends(DRIVEN.model, "rocker_pivot", together=True)[2])
    way = poser.way_of("rocker_pivot")
    assert (way.low, way.high) == pytest.approx(alone[1:], abs=SAME) and len(way.dead) == 2
    poser.turn("rocker_pivot", far)  # where the follower does not reach
    assert poser.missed < EXACT and poser.open_loops
    way = poser.way_of("rocker_pivot")
    assert (way.low, way.high) == pytest.approx(alone[1:], abs=1e-8)  # from another pose of the same loop
    at, (low, high) = poser.values["four_bar:knee"], (poser.way_of("knee").low, poser.way_of("knee").high)
    assert (low, high) == pytest.approx((at - np.pi, at + np.pi))  # its own loops are open: there is no travel
    poser.undo()
    knee = poser.way_of("knee")
    assert (knee.low, knee.high) == pytest.approx([poser.values["four_bar:knee"]] * 2, abs=EXACT) and not knee.dead


def test_the_command_says_both(shell, tmp_path) -> None:
    path = tmp_path / "driven.json"
    shiftjax.save(DRIVEN.model, path)
    for words, together in (((), False), (("--together",), True)):
        code, out, _ = shell("travel", str(path), "rocker_pivot", *words)
        line = out.splitlines()[1].split()
        assert code == 0 and [float(x) for x in line[1:4]] == pytest.approx(
            ends(DRIVEN.model, "rocker_pivot", together=together), rel=1e-8
        )


def test_results_say_what_travels_make_of_sublinkages(shell, tmp_path) -> None:
    """M22: a study of travels says that ends are of stages, never that all loops close at once; the command, too."""
    metrics = {"high": "high(rocker_pivot)"}
    staged, plain = (travels(model, metrics=metrics) for model in (DRIVEN.model, BOTH.model))
    assert staged.metrics["high"] == pytest.approx(ends("four_bar", LOOP[3])[2], abs=SAME) and not plain.notes
    (note,) = staged.notes
    assert re.fullmatch(r"sublinkages follower: ends .* stage.*", note) and "at once here" not in note
    shiftjax.save(DRIVEN.model, path := tmp_path / "driven.json")
    for words, said in (((), note), (("--together",), "")):
        code, _, err = shell("travel", str(path), "rocker_pivot", *words)
        assert code == 0 and err.strip() == (f"note: {said}" if said else "")
    together = shiftjax.Editor(DRIVEN.model).sublinkage("follower", disposition="simultaneous").model
    for one in (travels(together, metrics=metrics).metrics["high"], shiftjax.travel(together, "rocker_pivot").high):
        assert one == pytest.approx(ends(DRIVEN.model, "rocker_pivot", together=True)[2], abs=SAME)
    with pytest.raises(shiftjax.ModelError, match="simultaneous"):  # what a study can do, which has no together=
        travels(DRIVEN.model, metrics=metrics, branch="1")


def test_what_closes_all_loops_at_once_says_so() -> None:
    """M22: paths and workspaces do not go in stages."""
    path = shiftjax.follow(DRIVEN.model, {"crank_pivot": np.linspace(1.05, 1.1, 3)})
    space = shiftjax.workspace(DRIVES, "l2:tip", searched=8)
    for notes in (path.notes, space.notes):
        assert any(re.search("sublinkages (crank|follower): .* all loops close at once", note) for note in notes)
