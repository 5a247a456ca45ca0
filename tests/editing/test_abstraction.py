"""Blocks of joints that few virtual joints stand for, to any depth: a tower of scissors. M7, M22, M23."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.editing.standing import Poses
from shiftjax.formats import dumps, load, to_dict
from shiftjax.models.scissor_tower import scissor_tower

FLOORS = 3
CLOSED = 1e-12  # residual of loops, dimensionless
AGREE = 1e-9  # of a rotation matrix or [m]: levels that stand for the same pose
STAYS = 1e-12  # of a rotation matrix or [m]: what an edit does not move
FOOT = ("fixed", "foot")
TOWER = load(scissor_tower(FLOORS))
TOP = f"tower:platform_{FLOORS}"
AIM = np.array([0.45, 2.3, 0.0])


def by_floors() -> shiftjax.Editor:
    """The tower with a revolute and a prismatic joint for each floor."""
    edit, base = shiftjax.Editor(TOWER), FOOT
    for k in range(1, FLOORS + 1):
        edit.abstract(base, f"platform_{k}", f"floor_{k}")
        base = f"platform_{k}"
    return edit


ONE = by_floors()
TWO = shiftjax.Editor(ONE.model).abstract(FOOT, TOP, "whole", ("revolute", "prismatic", "revolute"))


def far(poses: Poses, others: Poses) -> float:
    """The largest difference of bodies that are in both."""
    return max(float(np.abs(x - y).max()) for path in poses.keys() & others.keys()
               for x, y in zip(poses[path], others[path], strict=True))  # fmt: skip


def test_the_tower_has_two_freedoms_a_floor() -> None:
    report = shiftjax.info(TOWER)
    assert (report["joints"], report["loops"], report["dof"]) == (11 * FLOORS, 3 * FLOORS, 2 * FLOORS)
    sizes = [(len(a["bodies"]), len(a["joints"])) for a in scissor_tower(16, 3)["assemblies"]]
    assert sizes == [(16 * 12, 272)]


def test_nothing_moves_and_all_can_be_taken_back() -> None:
    """M7: freedoms stay, the virtual joints lead, the real ones close onto them; files and scripts say it all."""
    for edit, first in ((ONE, TOWER), (TWO, ONE.model)):
        assert edit.freedoms == 2 * FLOORS and not edit.notes
        assert far(edit.poses, shiftjax.Editor(first).poses) < STAYS
        assert load(to_dict(edit.model)) == edit.model
        assert dumps(to_dict(shiftjax.Editor(first).replay(edit.script).model)) == dumps(to_dict(edit.model))
    assert ONE.notes == ()
    leads = {one["joint"]: not one["chord"] for one in shiftjax.info(TWO.model)["tree"]}
    virtual = [path for path, joint in TWO.model.joints() if joint.virtual]
    assert len(virtual) == 2 * FLOORS + 3 and all(leads[path] for path in virtual if ":whole" in path)
    undone = by_floors()
    while undone.undo():
        pass
    assert dumps(to_dict(undone.model)) == dumps(to_dict(TOWER))
    names = ("whole", "whole_block", *(f"floor_{k}{end}" for k in range(1, FLOORS + 1) for end in ("", "_block")))
    bodies = [path for path, body in TWO.model.bodies() if body.virtual]
    gone = shiftjax.Editor(TWO.model).remove(*bodies, *(f"sublinkages.{name}" for name in names))
    assert [path for path, _ in gone.model.joints()] == [path for path, _ in TOWER.joints()]
    assert gone.model.sublinkages == () and gone.freedoms == 2 * FLOORS


def test_each_level_drives_the_next_one() -> None:
    """M7, M22: three joints, then those of all floors together, then floor by floor."""
    floors = tuple(f"floor_{k}" for k in range(1, FLOORS + 1))
    blocks = [(f"{name}_block",) for name in floors]
    assert [one.names for one in shiftjax.Poser(ONE.model).stages] == [("",), floors, *blocks][1:]
    assert [one.names for one in shiftjax.Poser(TWO.model).stages] == [("whole",), floors, *blocks]
    assert [len(one.joints) for one in shiftjax.Poser(TWO.model).stages] == [3, 2 * FLOORS, *[11] * FLOORS]


def test_posing_through_it_closes_all_loops() -> None:
    """M7: the top goes where it is drawn at both levels, in parts and at once, every loop closed to rounding."""
    for model in (ONE.model, TWO.model):
        poser = shiftjax.Poser(model)
        begun = poser.poses[TOP][1]
        for share in np.linspace(0.1, 1.0, 10):
            poser.drag_on(TOP, [0.0, 0.0, 0.0], begun + share * (AIM - begun))
            assert poser.gap < CLOSED
        poser.drop()
        whole = shiftjax.Poser(model).drag(TOP, [0.0, 0.0, 0.0], AIM)
        for one in (poser, whole):
            assert one.poses[TOP][1] == pytest.approx(AIM, abs=AGREE) and one.gap < CLOSED and one.missed < AGREE
        assert not whole.open_loops and not whole.notes


def floors_of(values: dict[str, float], begun: dict[str, float]) -> dict[str, float]:
    """Virtual coordinates of floors where the real ones stand."""
    out = {}
    for k in range(1, FLOORS + 1):
        out[f"tower:floor_{k}_revolute"] = values[f"tower:lean_{k}"] - begun[f"tower:lean_{k}"]
        out[f"tower:floor_{k}_prismatic"] = values[f"tower:lift_{k}"]
    return out


def test_levels_agree() -> None:
    """M7: virtual coordinates that the really solved tower has give its poses, all bodies of it, at both levels."""
    real = shiftjax.Poser(TOWER)
    begun, top = real.values, real.poses[TOP]
    real.drag(TOP, [0.0, 0.0, 0.0], AIM)
    assert real.gap < CLOSED and real.poses[TOP][1] == pytest.approx(AIM, abs=AGREE)
    one = shiftjax.Poser(ONE.model).stand(floors_of(real.values, begun))
    assert far(one.poses, real.poses) < AGREE and one.gap < CLOSED
    R, p = real.poses[TOP]
    angles = [float(np.arctan2(*(b - a)[1::-1])) for a, b in ((0.0, top[1]), (0.0, p))]
    turned = float(np.arctan2(*(top[0].T @ R)[1::-1, 0]))
    outer = {
        "tower:whole_revolute": angles[1] - angles[0],
        "tower:whole_prismatic": float(np.linalg.norm(p)),
        "tower:whole_revolute_2": turned - angles[1] + angles[0],
    }
    two = shiftjax.Poser(TWO.model).stand({**outer, **floors_of(real.values, begun)})
    assert far(two.poses, real.poses) < AGREE and two.gap < CLOSED
    alone = shiftjax.Poser(TWO.model).stand(outer)  # floors are free to share what the whole does
    assert max(np.abs(x - y).max() for x, y in zip(alone.poses[TOP], real.poses[TOP], strict=True)) < AGREE
    assert alone.gap < CLOSED
    back = {path: alone.values[path] for path in floors_of(real.values, begun)}
    below = shiftjax.Poser(ONE.model).stand(back)
    assert far(below.poses, alone.poses) < AGREE  # the levels below it agree where it puts them


def test_a_floor_that_cannot_follow_is_open_where_its_loops_close() -> None:
    """M23: a floor longer than its bars: the others follow, what drives is where it was put, limits keep it there."""
    poser = shiftjax.Poser(ONE.model).turn("floor_2_prismatic", 1.1)  # bars reach to 1 m
    virtual = {path: value for path, value in poser.values.items() if "floor" in path}
    begun = {path: value for path, value in shiftjax.Poser(ONE.model).values.items() if "floor" in path}
    assert virtual == {**begun, "tower:floor_2_prismatic": 1.1}
    assert poser.open_loops and all("_2" in path for path in poser.open_loops)
    assert sum(gap.length for gap in poser.open_loops.values()) > 0.05 and "tower:" in poser.notes[0]
    poser.turn("floor_2_prismatic", 0.9)
    assert poser.gap < CLOSED and not poser.notes
    within = shiftjax.Poser(shiftjax.Editor(ONE.model).limit("floor_2_prismatic", 0.1, 0.98).model)
    within.turn("floor_2_prismatic", 1.1)
    assert within.gap < CLOSED and within.missed == pytest.approx(0.12, abs=AGREE)


def test_freedoms_that_a_chain_takes_away_are_noted() -> None:
    """Two floors have four freedoms, and an upper end that also turns: a revolute and a prismatic joint lock that."""
    edit = shiftjax.Editor(load(scissor_tower(2))).abstract(FOOT, "platform_2", "both")
    assert edit.notes == ("freedoms: 4 before, 3 now",)
    assert shiftjax.Poser(edit.model).stages[0].joints == ("tower:both_revolute", "tower:both_prismatic")


def test_a_chain_of_joints_that_turn_stands_for_a_leg() -> None:
    """Crank and coupler of a four-bar by two joints that turn: one freedom is left, and the rocker follows."""
    edit = shiftjax.Editor("four_bar")
    edit.abstract("fixed", "coupler", "leg", ["revolute", "revolute"], axis="y")
    assert edit.freedoms == 1 and [one.names for one in shiftjax.Poser(edit.model).stages] == [("leg",), ("leg_block",)]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("platform_1", "platform_1", "x"), "both ends on tower:platform_1"),
        ((FOOT, "platform_1", "x", ["revolute", "spherical"]), "'spherical'; allowed: revolute or prismatic"),
        ((FOOT, "platform_1", "x", []), "a list of one to three kinds"),
        ((FOOT, "platform_1", "x", ["prismatic"] * 3), "at most two prismatic"),
        ((FOOT, "platform_1", "a:b"), "the name 'a:b'"),
        ((FOOT, "nobody", "x"), "none of the bodies"),
    ],
)
def test_what_is_no_block_is_refused(words: tuple[Any, ...], match: str) -> None:
    edit = shiftjax.Editor(TOWER)
    with pytest.raises(shiftjax.ModelError, match=match):
        edit.abstract(*words)
    assert edit.model is TOWER


def test_what_has_no_plane_or_no_owner_is_refused() -> None:
    with pytest.raises(shiftjax.ModelError, match="turn about one direction"):
        shiftjax.Editor("bricard").abstract("fixed", [path for path, _ in load("bricard").bodies()][2], "x")
    edit = shiftjax.Editor(TOWER).sublinkage("some", ["lean_1", "lean_2"])
    with pytest.raises(shiftjax.ModelError, match="joints of several sublinkages: some, the whole linkage"):
        edit.abstract(FOOT, "platform_1", "x")
    apart = shiftjax.Editor("double_pendulum").add_body("other").add_joint("other_pin", "Ry", "fixed", "other")
    with pytest.raises(shiftjax.ModelError, match="no joints between double_pendulum:link2 and double_pendulum:other"):
        apart.abstract("link2", "other", "x")
    with pytest.raises(shiftjax.ModelError, match=r"a sublinkage sublinkages\.floor_1"):
        shiftjax.Editor(ONE.model).abstract("platform_1", "platform_2", "floor_1")
