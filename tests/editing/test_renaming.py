"""Other names for parts of a model, with all that refers to them: the motion is the same to the bit. M28, M31, M32,
D15."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError
from shiftjax.cli import main
from shiftjax.editing.renaming import renamed
from shiftjax.formats import dumps, load, to_dict
from shiftjax.kinematics.positioning.goals import FrameGoal
from shiftjax.mechanism.named_objects import NAMEABLE, named_objects
from shiftjax.mechanism.paths import parts
from shiftjax.models import SUMMARIES
from tests.support.complete import COMPLETE, without

LATER = "!"  # behind a name it leaves the order of names as it is, of which the order of operations follows
SAME = 1e-9  # of a kinetic energy: sums in another order, over three steps
STEP, SPAN = 1e-5, 3e-5  # s, which Andrews' mechanism takes, too
SLOW = ["n_four_bar_40", "vehicle_chassis"]


def text_of(model: shiftjax.Model) -> str:
    return dumps(to_dict(model))


def name_of(what: str, path: str) -> str:
    return path.partition(".")[2] if what in NAMEABLE[-5:] else parts(path)[-1]


def all_named(model: shiftjax.Model) -> Iterator[tuple[str, str, str]]:
    """What each object is that can be renamed, its path and its name."""
    for what, path in named_objects(model):
        if not path.endswith(":origin"):
            yield what, path, name_of(what, path)


def motion(model: shiftjax.Model) -> list[np.ndarray]:
    """Of all joints in the order of the file, and the kinetic energy."""
    paths = [f"{path}.q" for path, joint in model.joints() if joint.type != "rigid"]
    run = shiftjax.simulate(model, SPAN, STEP, output_step=STEP, channels=[*paths, "energy.kinetic"])
    return [np.asarray(run.channels[path]) for path in (*paths, "energy.kinetic")]


@pytest.mark.parametrize("library", without(SUMMARIES, SLOW))
def test_each_name_of_a_library_model(library: str) -> None:
    """With one other name and then the former one again it is the former file byte for byte; a file with other names
    alone is read."""
    model = every = shiftjax.load(library)
    for what, path, name in [*all_named(model)][::-1]:
        other, moves = renamed(model, path, "fresh name", what)
        again, _ = renamed(other, moves.moved[what, path], name, what)
        assert again == model and other != model, path
        every, _ = renamed(every, path, name + LATER, what)
    assert text_of(again) == text_of(model) and load(to_dict(every)) == every
    assert all(path.endswith(LATER) for path, _ in every.joints())


@pytest.mark.parametrize("library", SUMMARIES if COMPLETE else ["four_bar", "excavator"])
def test_with_all_other_names_it_moves_the_same(library: str) -> None:
    """Bit for bit, since the order of names is the same; and all steps together are one, to take back."""
    edit = shiftjax.Editor(library)
    before, moved_before = text_of(edit.model), motion(edit.model)
    with edit.transaction():
        for what, path, name in [*all_named(edit.model)][::-1]:  # what is inside first: outer paths stay meanwhile
            edit.rename(path, name + LATER, what)
    assert edit.notes == ()
    for values, values_before in zip(motion(edit.model), moved_before, strict=True):
        assert values.tobytes() == values_before.tobytes()
    again = shiftjax.Editor(library).replay(edit.script)
    assert text_of(again.model) == text_of(edit.model)
    assert edit.undo() and text_of(edit.model) == before


def test_names_in_another_order_move_nothing() -> None:
    """Joints are worked through by name: bodies stay where they stand, energies agree to rounding."""
    edit, plain = shiftjax.Editor("four_bar"), motion(shiftjax.load("four_bar"))
    poses = edit.poses
    edit.rename("crank_pin", "zz").rename("rocker_pivot", "a", "joint").rename("rocker", "aa")
    for body, (R, place) in poses.items():
        now = edit.poses[body.replace("rocker", "aa")]
        assert abs(now[0] - R).max() < 1e-12 and abs(now[1] - place).max() < 1e-12
    assert motion(edit.model)[-1] == pytest.approx(plain[-1], rel=SAME)


NAMES = {
    ("assembly", "a"): "a", ("body", "a:one"): "one", ("joint", "a:one"): "one", ("restraint", "a:one"): "one",
    ("frame", "a:one:tip"): "tip", ("body", "a:two"): "two", ("joint", "a:two"): "two", ("frame", "a:two:tip"): "tip",
    ("force", "a:pull"): "pull", ("constraint", "a:tie"): "tie", ("driver", "a:motor"): "motor",
    ("parameter", "parameters.L"): "L", ("parameter", "parameters.k"): "k", ("point", "points.A"): "A",
    ("event", "events.low"): "low", ("frame", "fixed:post"): "post", ("light", "lights.lamp"): "lamp",
}  # fmt: skip
Names = dict[tuple[str, str], str]


def stated(n: Names) -> shiftjax.Model:
    """All that has or uses names, with a body, a joint and a spring of one path, written anew with other names: what a
    renaming must give."""
    a, one, j1, spring, tip = (n[key] for key in [*NAMES][:5])
    two, j2, tip2, pull, tie, motor, L, k, A, low, post, lamp = (n[key] for key in [*NAMES][5:])
    builder = shiftjax.ModelBuilder().parameter(L, 0.5, unit="length").parameter(k, f"4 * {L}", unit="N/m")
    builder.point(A, [0.0, f"{L} / 5", 0.0], frames=[])
    place: Any = [f"{A}.x", f"{A}.y + 0.1", 0.0]
    builder.frame(post, T=place).light(lamp, parent=(f"{a}:{one}", tip))
    builder.event(low, f"{j1}.q  -  0.9 rad  # as told", action="stop")
    builder.event("far", f"norm({one}:{tip}.position - {{{a}:{two}:{tip2}.position}}) - parameters.{L}")
    builder.event("work", f"{spring}.power + {a}:{j2}.angle.v + energy.kinetic - t", direction="up")
    feet = f"{a}:{one}:{tip}, {two}:{tip2}"
    builder.event("stands", f"{{support_margin({feet}, of={a})}} - 0.1")
    values = {
        f"{one}.mass": 3.0,
        f"{a}:{j2}.stiffness.angle[0]": 1.0,
        f"{two}:{tip2}.T[1]": "1 mm",
        f"{pull}.load": 2.0,
    }
    builder.event("later", "t - 1", action="set", values=values)
    first = builder.assembly(a)
    rod, twin = {"inertia": (0.1, 0.1, 0.1)}, {"twin": "one", "part": "A-7"}
    first.body(one, mass=f"2 * {L}", lock=True, data=twin, frames={tip: [L, 0, 0]}, **rod)
    first.body(two, mass=f"{L} + {A}.y", frames={tip2: [L, 0, 0]}, **rod)
    first.joint(j1, "revolute", child=one, axis="y", initial_displacement=0.3, target=f"{L} / 2")
    first.joint(j2, "cylindrical", parent=(one, tip), child=two, axis="y", lock=["angle"], stiffness={"angle": [1.0]})
    first.restraint(spring, "spring", joint=j1, coefficients=[[k, 0.0]])
    first.force(pull, type="constant_load", joint=f"{j2}.slide", load=f"{k} / 10")
    first.constraint(tie, "equation", joints=[j1, f"{j2}.angle"], equation="q[0] - q[1]")
    first.driver(motor, "constant_speed", joint=f"{j2}.slide", speed=0.1)
    other = builder.assembly("b")
    other.body("three", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": [0.1, 0, 0]})
    other.joint("last", "revolute", parent=(f"{a}:{two}", tip2), child="three", axis="y")
    return builder.build()


@pytest.mark.parametrize("key", [*NAMES], ids=lambda key: "-".join(key))
def test_all_that_refers_to_it_follows(key: tuple[str, str]) -> None:
    """The renamed model is the one that is written with the other name; and back."""
    what, path = key
    model, other = stated(NAMES), stated({**NAMES, key: "fresh"})
    now, moves = renamed(model, path, "fresh", what)
    assert now == other and now != model and load(to_dict(now)) == now
    back, _ = renamed(now, moves.moved[what, path], NAMES[key], what)
    assert back == model and text_of(back) == text_of(model)


def test_short_paths_stay_those_of_their_objects() -> None:
    """A short path in an event that would mean two joints is written in full; other characters in backticks."""
    builder = shiftjax.ModelBuilder().event("low", "hinge.q - 1")
    for name, joint in (("a", "hinge"), ("b", "pin")):
        assembly = builder.assembly(name)
        assembly.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)).joint(joint, "revolute", child="rod", axis="y")
    edit = shiftjax.Editor(builder.build()).rename("pin", "hinge")
    assert edit.model.events["low"]["of"] == "a:hinge.q - 1"
    edit.rename("a:hinge", "the 1st").rename("a", "left.")
    assert edit.model.events["low"]["of"] == "`left.`:`the 1st`.q - 1"
    run = shiftjax.simulate(edit.model, 0.01, 1e-3)
    assert run.events is not None and run.events.names == ("low",)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "rename('crank', 'coupler')",
            r"rename four_bar:crank: found a body four_bar:coupler; allowed: a name that is",
        ),
        ("rename('crank', '')", r"the name ''; allowed: 1 to 200 printable"),
        ("rename('crank', 'a:b')", r"the name 'a:b'"),
        ("rename('crank', 'fixed')", r"the name 'fixed'"),
        ("rename('crank', 3)", r"rename four_bar:crank: found 3; allowed: a name"),
        ("rename('crank', 'crank')", r"the name 'crank', which it has"),
        ("rename('nobody', 'x')", r"rename: found 'nobody', no object of the model"),
        ("rename('tip', 'x')", r"'tip', of which there are 3; allowed: .*what='frame'"),
        ("rename('fixed', 'x')", r"'fixed', ground, which has no other name"),
        ("rename('crank:origin', 'x')", r"the origin of a body, which has no other name"),
        ("rename('crank', 'x', what='wheel')", r"what: found 'wheel'; allowed: assembly"),
        ("rename('crank', 'x', what='joint')", r"'crank', no joint of the model"),
    ],
)
def test_what_cannot_be_renamed(step: str, message: str) -> None:
    edit = shiftjax.Editor("four_bar")
    before = edit.model
    with pytest.raises(ModelError, match=message):
        edit.replay(step)
    assert edit.model is before and edit.script == ""


def test_names_of_expressions_are_letters() -> None:
    edit = shiftjax.Editor(stated(NAMES))
    for path in ("L", "points.A", "low"):
        with pytest.raises(ModelError, match="letters, digits and _, not pi"):
            edit.rename(path, "a b")
    with pytest.raises(ModelError, match=r"a parameter parameters\.k; allowed: a name that is not taken"):
        edit.rename("L", "k")
    with pytest.raises(ModelError, match="of which there are 3"):
        edit.rename("a:one", "x")


def test_a_channel_of_two_elements_is_of_both() -> None:
    """The power of a joint with a stiffness and of a spring of its path is one channel: neither is renamed alone."""
    builder = shiftjax.ModelBuilder().event("work", "hinge.power - 1")
    a = builder.assembly("a").body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("hinge", "revolute", child="rod", axis="y", stiffness=[1.0])
    a.restraint("hinge", "spring", joint="hinge", coefficients=[[1.0, 0.0]])
    edit = shiftjax.Editor(builder.build())
    with pytest.raises(ModelError, match=r"event work: found a:hinge\.power, of several objects"):
        edit.rename("hinge", "pin", "joint")
    edit.rename("a", "b")
    assert edit.model.events["work"]["of"] == "hinge.power - 1"


def test_what_is_left_is_told(tmp_path: Path) -> None:
    """Data of the user's, and studies that stand beside the file: what they name is theirs."""
    model = tmp_path / "two.json"
    shiftjax.save(stated(NAMES), model)
    (tmp_path / "range.toml").write_text('model = "two.json"\n[vary]\n"a:one.mass" = [1, 2]\n')
    (tmp_path / "other.toml").write_text('model = "someone.json"\n')
    edit = shiftjax.Editor(model).rename("a:one", "bar", "body")
    assert "data of a:one names 'one', and is kept as it is" in edit.notes
    assert "studies beside the model still name 'one': range.toml" in edit.notes
    assert dict(edit.model.bodies())["a:bar"].data["twin"] == "one"


def test_an_included_file_stays_as_it_is(tmp_path: Path) -> None:
    """What is written holds all; the file that was included is not touched."""
    shiftjax.save(shiftjax.load("four_bar"), tmp_path / "part.json")
    part = (tmp_path / "part.json").read_bytes()
    builder = shiftjax.ModelBuilder()
    builder.assembly("whole").include("left", "part.json")
    (tmp_path / "whole.json").write_text(json.dumps(builder.document))
    edit = shiftjax.Editor(tmp_path / "whole.json").rename("crank", "handle")
    edit.save(tmp_path / "renamed.json")
    assert "whole:left:four_bar:handle" in dict(shiftjax.load(tmp_path / "renamed.json").bodies())
    assert (tmp_path / "part.json").read_bytes() == part


def test_a_body_that_floats_is_carried_as_before() -> None:
    builder = shiftjax.ModelBuilder()
    builder.assembly("a").body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    edit = shiftjax.Editor(builder.build())
    before = text_of(edit.model)
    edit.rename("rod", "bar").rename("a", "b")
    assert [path for path, _ in edit.model.joints()] == ["b:rod_float"] and edit.freedoms == 6
    edit.rename("bar", "rod").rename("b", "a")
    assert text_of(edit.model) == before and edit.notes == ()


def test_on_the_workbench_locks_and_goals_follow() -> None:
    bench = shiftjax.Workbench("four_bar").do("set", {"crank:tip.T[0]": 0.12}).do("lock", "crank_pivot", "coupler")
    bench.do("keep", "coupler:tip", T=[0.6, 0.0, -0.3])
    bench.do("rename", "crank_pivot", "motor").do("rename", "four_bar", "m").do("rename", "m:crank", "handle")
    assert bench.locks == {"m:motor", "m:coupler"} and bench.notes == ()
    assert bench.numbers_set == ("m:handle:tip.T[0]",)
    bench.do("rename", "m:coupler:tip", "end")
    (goal,) = bench.goals.values()
    assert isinstance(goal, FrameGoal) and goal.frame.base == "m:coupler:end" and "m:motor" in bench.values
    again = shiftjax.Workbench("four_bar").replay(bench.script)
    assert text_of(again.model) == text_of(bench.model)
    while bench.undo():
        pass
    assert text_of(bench.model) == text_of(shiftjax.load("four_bar"))


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "renamed.json"
    step: Any = "rename('crank', 'handle')"
    assert main(["edit", "four_bar", "--do", step, "--out", str(target)]) == 0
    assert step in capsys.readouterr().out
    assert "four_bar:handle" in dict(shiftjax.load(target).bodies())
    assert main(["edit", "four_bar", "--do", "rename('crank', 'rocker')"]) != 0
    assert "a name that is not taken" in capsys.readouterr().err
