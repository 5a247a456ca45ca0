"""What SDFormat cannot have, or would change the motion and is not read, is refused by its line and name (D3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftjax import ModelError, load
from shiftjax.formats.robots.sdf import models
from shiftjax.formats.robots.sdf.document import read
from shiftjax.formats.robots.sdf.values import readable
from tests.support.damaged_texts import damaged
from tests.support.models.sdf_text import axis, joint, link, model, pose, sdf, world

A, B, TURN = link("a", mass=1.0), link("b", mass=1.0), joint("turn", "a", "b")
BOX = "<gearbox_reference_body>a</gearbox_reference_body>"


def with_joint(type: str, inside: str) -> tuple[str, ...]:
    return (model(A, B, joint("turn", "a", "b", type, inside)),)


def with_link(inside: str) -> tuple[str, ...]:
    return (model(link("a", inside=inside)),)


def with_axis(inside: str) -> tuple[str, ...]:
    return with_joint("revolute", axis(inside=inside))


def including(uri: str) -> tuple[str, ...]:
    return (model(A, f"<include><uri>{uri}</uri></include>"),)


REFUSED = {
    "nothing": ((), "neither a <world> nor a <model>"),
    "two models": ((model(A), model(A, name="n")), "model 'n': found a second <model>.*Put models into a <world>"),
    "no link": ((model(),), "no <link>"),
    "two of a name": ((model(A, A),), "line 5: .*link 'a': found a second 'a'; the first, a link, is in line 4"),
    "a joint of that name": ((model(A, B, joint("a", "a", "b")),), "joint 'a': found a second 'a'; the first, a link"),
    "a path as a name": ((model(link("x::y")),), "name='x::y'.*without '::'"),
    "a reserved name": ((model(link("__x__")),), "other than 'fixed', 'world' and __...__"),
    "an unknown element": ((model(A, "<springs/>"),), "<springs>.*not known whether it changes the motion"),
    "one nearly known": ((model(A, "<joints/>"),), "<joints>.*Did you mean 'joint'"),
    "an unknown attribute": ((model(A, attributes=' mass="1"'),), "attribute 'mass'"),
    "an attribute": ((model('<link name="a" mass="1"/>'),), "link 'a': found attribute 'mass'"),
    "a type": (with_joint("hinge", axis()), "type='hinge'.*revolute, continuous"),
    "no axis": (with_joint("revolute", ""), "no <axis>"),
    "an axis too many": (with_joint("revolute", axis() + axis(tag="axis2")), "<axis2> of a revolute joint"),
    "no direction": (with_joint("revolute", axis((0, 0, 0))), "a direction"),
    "one end": ((model(A, joint("j", "a", "a", "fixed", "")),), "both ends on link"),
    "a world that moves": ((model(A, joint("j", "a", "world", "fixed", "")),), "the child 'world'.*Exchange the ends"),
    "a missing link": ((model(A, B, joint("j", "a", "c", "fixed", "")),), "line 6: .*'c'; allowed: a link, joint"),
    "a motor": (with_joint("revolute", axis() + "<physics><ode><max_force>1</max_force></ode></physics>"), "a motor"),
    "a damper that drives": (with_axis("<dynamics><damping>-1</damping></dynamics>"), "damping -1"),
    "limits": (with_axis("<limit><lower>1</lower><upper>0</upper></limit>"), "limits 1 and 0.*Exchange them"),
    "no number": (with_axis("<limit><lower>low</lower></limit>"), "lower: found 'low'.*one finite number"),
    "a thread": (with_joint("screw", axis() + "<thread_pitch>0</thread_pitch>"), "rad/m other than 0"),
    "a skew cross": (with_joint("universal", axis() + axis((1, 0, 1), tag="axis2")), "axes at 45 degrees.*revolute2"),
    "two axes in one": (with_joint("revolute2", axis() + axis((0, 0, -2), tag="axis2")), "two axes along one line"),
    "a damped ball": (with_joint("ball", axis(inside="<dynamics><damping>1</damping></dynamics>")), "of a ball joint"),
    "a lone gearbox": (with_joint("gearbox", axis() + axis(tag="axis2") + BOX), "no revolute joint of 'a'"),
    "a mimic of nothing": (with_axis('<mimic joint="turm"/>'), "'turm'; allowed: a link, joint"),
    "a mimic of itself": (with_axis('<mimic joint="turn"/>'), "joint='turn'.*another joint"),
    "a chain of poses": (
        (model(link("a", pose("1 0 0 0 0 0", "b")), link("b", pose("1 0 0 0 0 0", "a"))),),
        "relative to itself.*relative_to",
    ),
    "a pose in what it places": (
        (model(A, model(B, name="n", more=pose("1 0 0 0 0 0", "n::b"))),),
        "relative to itself.*relative_to",
    ),
    "a chain of frames": (
        (model(A, '<frame name="f" attached_to="g"/>', '<frame name="g" attached_to="f"/>'),),
        "attached to itself|relative to itself",
    ),
    "a pose of five": (with_link(pose("0 0 0 0 0")), "6 finite numbers"),
    "a bad quaternion": (with_link(pose("0 0 0 0 0 0 2", attributes=' rotation_format="quat_xyzw"')), "of length 2"),
    "a pose in degrees": (with_link(pose("0 0 0 0 0 0", attributes=' degrees="maybe"')), "true or false"),
    "a place too far": (with_link(pose("1e300 0 0 0 0 0")), "a place up to 1e\\+100 m away"),
    "an axis too long": (with_joint("revolute", axis((1e308, 1e308, 1e308))), "line 6: .*a direction"),
    "an element as a number": (with_link("<inertial><mass><x>2</x></mass></inertial>"), "<x>.*a text alone"),
    "a mass in grams": (with_link('<inertial><mass unit="g">2</mass></inertial>'), "attribute 'unit'; allowed: no"),
    "degrees": (with_axis('<limit><lower degrees="true">-9</lower></limit>'), "lower: found attribute 'degrees'"),
    "a mass": (with_link("<inertial><mass>-1</mass></inertial>"), "a mass of -1 kg"),
    "water": (with_link("<inertial><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial>"), "added mass"),
    "no inertia": (with_link('<inertial auto="true"/>'), "left to the collisions.*shiftjax.solid"),
    "a link that is led": (with_link("<kinematic>true</kinematic>"), "a kinematic link"),
    "decay": (with_link("<velocity_decay><linear>0.1</linear></velocity_decay>"), "decay of velocities.*bushing"),
    "another program": (with_link("<drake:deformable_properties/>"), "unbound prefix|drake:deformable_properties"),
    "a world in a world": ((world(world(model(A))),), "element <world>"),
    "a population": ((world(model(A), '<population name="p"/>'),), "<population>, which makes models"),
    "a link of the world": ((world(A),), "element <link>"),
    "a server": (including("https://fuel.gazebosim.org/1.0/x/models/Cup"), "Download it. Put its folder .*<uri>Cup"),
    "a model elsewhere": (including("model://cup"), "line 5: .*'model://cup'; .*beside this file, and write <uri>cup<"),
    "a folder above": (including("../cup.sdf"), "'../cup.sdf'; allowed: a file in the folder of the first"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_d3_what_changes_the_motion_and_is_not_read_is_refused_where_it_stands(case: str) -> None:
    elements, fault = REFUSED[case]
    with pytest.raises(ModelError, match=fault) as caught:
        read(sdf(*elements), "m.sdf")
    assert re.match(r"m\.sdf, line \d+", str(caught.value))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "m.sdf, line 1: found no element found"),
        ("<robot name='r'/>", "found the root element <robot>; allowed: <sdf>"),
        ("<sdf version='1.3'><model name='m'/></sdf>", "version='1.3'; allowed: 1.4 to 1.12. Convert it"),
        ("<sdf version='2.0'/>", "version='2.0'"),
        ("<sdf/>", "no attribute 'version'"),
        ("<!DOCTYPE sdf><sdf version='1.6'/>", "a document type"),
        ("<!-- <sdf version='1.6'/>", "line 1: found"),
    ],
)
def test_d3_texts_that_are_no_sdformat(text: str, fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        read(text, "m.sdf")


def test_d3_files_that_include_each_other_or_lie_elsewhere_are_refused(tmp_path: Path) -> None:
    """Nothing outside the folder is opened, by no link either; messages name the file in which the fault is."""
    inner = tmp_path / "inner"
    inner.mkdir()
    outside = tmp_path / "outside.sdf"
    outside.write_text(sdf(model(A)), encoding="utf-8")
    (inner / "link.sdf").symlink_to(outside)
    (inner / "one.sdf").write_text(sdf(*including("two.sdf")), encoding="utf-8")
    (inner / "two.sdf").write_text(sdf(model(B, "<include><uri>one.sdf</uri></include>", name="n")), encoding="utf-8")
    (inner / "bad.sdf").write_text(sdf(model(A, "<springs/>")), encoding="utf-8")
    cases = {
        "one.sdf": "two.sdf, line 5: .*one.sdf, which includes itself",
        "none.sdf": r"line 5: .*no file 'none.sdf'; .*model.sdf",
        "link.sdf": "no file 'link.sdf'",
        "bad.sdf": "bad.sdf, line 5: .*<springs>",
    }
    for name, fault in cases.items():
        (inner / "m.sdf").write_text(sdf(*including(name)), encoding="utf-8")
        with pytest.raises(ModelError, match=fault):
            load(inner / "m.sdf")


def test_d3_files_that_include_others_twice_over_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each includes the next one twice, 30 levels deep: 2^30 models are not read."""
    monkeypatch.setattr(models, "MOST_MODELS", 200)
    for k in range(30):
        twice = "".join(f"<include><uri>{k + 1}.sdf</uri><name>n{i}</name></include>" for i in range(2))
        (tmp_path / f"{k}.sdf").write_text(sdf(model(A, twice)), encoding="utf-8")
    (tmp_path / "30.sdf").write_text(sdf(model(A)), encoding="utf-8")
    with pytest.raises(ModelError, match="one more model; allowed: at most 200"):
        load(tmp_path / "0.sdf")


def test_d3_models_that_are_placed_by_each_other_and_files_in_files_have_an_end(tmp_path: Path) -> None:
    """A chain of them is refused where it is too long, and none is too deep for the reader."""
    chain = [model(link("l"), name=f"m{k}", more=pose("1 0 0 0 0 0", f"m{k + 1}::l")) for k in range(500)]
    with pytest.raises(ModelError, match="at the end of 100 models, each placed by the next"):
        read(sdf(world(*chain, model(link("l"), name="m500"))), "m.sdf")
    backwards = sdf(world(model(link("l"), name="m500"), *chain[:-101:-1]))
    assert len(read(backwards, "m.sdf")[0]["assemblies"]) == 101
    for k in range(105):
        (tmp_path / f"{k}.sdf").write_text(sdf(model(A, f"<include><uri>{k + 1}.sdf</uri><name>n</name></include>")))
    with pytest.raises(ModelError, match=r"100\.sdf, line 5: .*by a chain of 100 files"):
        load(tmp_path / "0.sdf")


def test_d3_a_large_file_is_not_included_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MOST_ELEMENTS", 500)
    (tmp_path / "big.sdf").write_text(sdf(model(*(link(f"l{k}") for k in range(100)))), encoding="utf-8")
    many = "".join(f"<include><uri>big.sdf</uri><name>n{k}</name></include>" for k in range(10))
    with pytest.raises(ModelError, match="too much that is included; allowed: at most 500 elements in all"):
        read(sdf(world(many)), "m.sdf", tmp_path)


def test_d3_comments_and_frames_cost_what_they_are_long() -> None:
    """The search for the next comment looks at no text twice, and a chain of frames is followed once."""
    text = "<!---->" * 20_000 + "<sdf>"
    assert readable(text) == "<sdf>"
    frames = (f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(2000))
    document = read(sdf(model(A, *frames, '<frame name="f2000"/>')), "m.sdf")[0]
    assert len(document["assemblies"][0]["bodies"][0]["frames"]) == 2001


SEED = sdf(
    model(
        link("a", pose("0 0 1 0 0 0.5"), 1.0, inside='<visual name="v"><geometry><box/></geometry></visual>'),
        link("b", pose("1 0 0 0 0 0", "f"), 1.0),
        '<frame name="f" attached_to="a"/>',
        joint("j", "world", "a", inside=axis(inside="<limit><lower>-1</lower><upper>1</upper></limit>")),
        joint("k", "a", "b", "universal", axis((1, 0, 0)) + axis((0, 1, 0), tag="axis2")),
    )
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_d3_a_damaged_text_is_a_model_or_one_error(seed: int) -> None:
    """Of texts with parts cut out, doubled and exchanged."""
    try:
        load(read(damaged(SEED, seed), "x.sdf")[0])
    except ModelError as error:
        assert error.where and error.allowed and error.todo
