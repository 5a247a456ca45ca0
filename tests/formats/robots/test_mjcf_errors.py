"""What an MJCF cannot have, or what would move it otherwise, is refused by its place, line and name (M61, D3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftjax import ModelError, load
from shiftjax.formats.robots.mjcf.model import read
from tests.support.damaged_texts import damaged
from tests.support.models.mjcf_text import INERTIAL, mujoco

JOINT = '<joint name="h"/>'


def body(inside: str = JOINT + INERTIAL, more: str = 'name="a"') -> str:
    return f"\n<body {more}>{inside}</body>"


ARM = body()
TWO = body() + body('<joint name="i"/>' + INERTIAL, 'name="b"')
BALL = body('<joint name="o" type="ball"/>' + INERTIAL)


def equality(inside: str, world: str = TWO) -> tuple[str, tuple[str, ...]]:
    return world, (f"<equality>\n{inside}</equality>",)


def actuator(inside: str, world: str = ARM) -> tuple[str, tuple[str, ...]]:
    return world, (f"<actuator>\n{inside}</actuator>",)


def geom(attributes: str) -> tuple[str, tuple[str, ...]]:
    return body(f"{JOINT}<geom {attributes}/>"), ()


def joint(attributes: str) -> tuple[str, tuple[str, ...]]:
    return body(f"<joint {attributes}/>" + INERTIAL), ()


REFUSED: dict[str, tuple[tuple[str, tuple[str, ...]], str]] = {
    "an unknown element": ((ARM, ("<springs/>",)), "line 4: mujoco/springs: found element <springs>"),
    "an unknown word": (joint('name="h" damp="1"'), "line 3: mujoco/.*/body 'a'/joint 'h': found attribute 'damp'"),
    "a macro": ((body("<replicate count='3'/>"), ()), "found <replicate>.*mj_saveLastXML"),
    "cloth": ((ARM, ("<deformable/>",)), "<deformable>; allowed: rigid bodies"),
    "a fluid": ((ARM, ('<option density="1.2"/>',)), "option: found density='1.2', of a fluid.*Set it to 0"),
    "an unknown option": ((ARM, ('<option gravty="0 0 0"/>',)), "attribute 'gravty'.*Did you mean 'gravity'"),
    "a flag": ((ARM, ('<option><flag contact="off"/></option>',)), "contact='off'; allowed: enable or disable"),
    "global coordinates": ((ARM, ('<compiler coordinate="global"/>',)), "coordinate='global'"),
    "no euler sequence": ((ARM, ('<compiler eulerseq="xy"/>',)), "eulerseq='xy'"),
    "a missing class": ((body(more='name="a" childclass="c"'), ()), "joint 'h': found class 'c'"),
    "two classes": (
        (ARM, ('<default><default class="c"/><default class="c"/></default>',)),
        "a second class 'c'",
    ),
    "two names": ((ARM + ARM, ()), "line 4: .*body 'a': found a second body 'a'"),
    "a bad name": ((body(more='name="a:b"'), ()), "name='a:b'"),
    "two orientations": ((body(more='name="a" quat="1 0 0 0" euler="0 0 0"'), ()), "both quat and euler"),
    "no quaternion": ((body(more='name="a" quat="0 0 0 0"'), ()), "quat='0 0 0 0'.*a direction"),
    "no number": ((body(more='name="a" pos="0 x 0"'), ()), "pos='0 x 0'; allowed: 3 finite numbers"),
    "a free joint inside": ((body("<freejoint/>" + body('<freejoint/>', "")), ()), "a free joint; allowed: the only"),
    "a joint of the world": ((JOINT, ()), "<joint> of the world"),
    "a joint of a frame": ((body(f"<frame>{JOINT}</frame>"), ()), "<joint> of a <frame>"),
    "a type": (joint('type="screw"'), "type='screw'; allowed: hinge, slide, ball, free"),
    "no axis": (joint('axis="0 0 0"'), "axis='0 0 0'"),
    "limits": (joint('range="1 -1"'), "range='1 -1'.*a lower end and an upper one"),
    "a spring by its time": (joint('springdamper="0.1 1"'), "springdamper='0.1 1'"),
    "a curved spring": (joint('stiffness="1 2"'), "stiffness='1 2'; allowed: one number"),
    "negative damping": (joint('damping="-1"'), "damping -1; allowed: 0 or more"),
    "a stiff ball": (joint('type="ball" stiffness="1"'), "stiffness 1 of a joint of type ball"),
    "an armature of a ball": (joint('type="ball" armature="1"'), "armature 1 of a joint of type ball"),
    "no mass": ((body(JOINT + '<inertial pos="0 0 0"/>'), ()), "inertial: found no attribute 'mass'"),
    "a negative mass": ((body(JOINT + '<inertial pos="0 0 0" mass="-1"/>'), ()), "a mass of -1 kg"),
    "two inertias": (
        (body(JOINT + '<inertial mass="1" fullinertia="1 1 1 0 0 0" quat="1 0 0 0"/>'), ()),
        "fullinertia beside",
    ),
    "balanced": (
        (body(JOINT + '<inertial mass="1" diaginertia="1 1 3"/>'), ('<compiler balanceinertia="true"/>',)),
        "an inertia that balanceinertia would change",
    ),
    "a geom": (geom('type="torus"'), "type='torus'"),
    "no size": (geom('type="box" size="1 1"'), "size='1 1' of a box; allowed: 3 lengths above 0"),
    "a shell": (geom('size="1" shellinertia="true"'), "shellinertia"),
    "a mass of a mesh": (
        (body(JOINT + '<geom type="mesh" mesh="m"/>'), ('<asset><mesh name="m" file="m.stl"/></asset>',)),
        "the mesh 'm.stl', from which the mass of a body that moves should come; .*<inertial>",
    ),
    "a missing mesh": (geom('mesh="m" mass="0"'), "mesh='m'"),
    "two meshes": (
        (ARM, ('<asset><mesh file="m.stl"/><mesh name="m" file="n.stl"/></asset>',)),
        "a second mesh 'm'; the first is in line 4",
    ),
    "a missing material": (geom('size="1" material="m"'), "material='m'"),
    "a missing body": (equality('<connect body1="a" body2="c" anchor="0 0 0"/>'), "line 6: .*connect: found body2='c'"),
    "no anchor": (equality('<connect body1="a" body2="b"/>'), "no attribute 'anchor'"),
    "itself": (equality('<weld body1="a" body2="a"/>'), "both ends on 'a'"),
    "a site and a body": (equality('<connect site1="s" body2="b"/>'), "body2 beside sites"),
    "a missing site": (equality('<connect site1="s" site2="t"/>'), "site1='s'"),
    "a coupled ball": (equality('<joint joint1="o"/>', BALL), "joint1='o'; allowed: a joint of type hinge or slide"),
    "a follower of itself": (equality('<joint joint1="h" joint2="h"/>'), "joint 'h' follows itself"),
    "a soft body": (equality('<flex flex="f"/>'), "<flex>, of a deformable body"),
    "a muscle": (actuator('<muscle joint="h"/>'), "line 5: mujoco/actuator/muscle: found <muscle>"),
    "a missing joint": (actuator('<position joint="g"/>'), "joint='g'; allowed: a joint of type hinge or slide"),
    "nothing to act on": (actuator("<motor/>"), "no joint, tendon, site or body"),
    "a damping ratio": (actuator('<position joint="h" dampratio="1"/>'), "dampratio='1' of an actuator"),
    "a plugin": (actuator('<plugin joint="h"/>'), "found <plugin>"),
    "a tendon of a missing joint": (
        (ARM, ('<tendon><fixed><joint joint="g" coef="1"/></fixed></tendon>',)),
        "joint='g'",
    ),
    "a spring of no length": (
        (
            body('<joint name="h" springref="10"/><site name="s"/>' + INERTIAL) + '<site name="t"/>',
            ('<tendon><spatial stiffness="1"><site site="s"/><site site="t"/></spatial></tendon>',),
        ),
        "no springlength, where joint 'h' has a springref that is not its ref; .*Add springlength",
    ),
    "a ratio for a damping": (
        (ARM, ('<default><general biasprm="0 0 2"/></default>', '<actuator><position joint="h"/></actuator>')),
        "position: found a damping ratio, biasprm 2",
    ),
    "a control without 0": (
        actuator('<general joint="h" dyntype="integrator" ctrlrange="1 2"/>'),
        "ctrlrange='1 2' without 0",
    ),
    "a pulley": (
        (ARM, ('<tendon><spatial stiffness="1"><pulley divisor="2"/></spatial></tendon>',)),
        "forces along a spatial tendon; allowed: a straight way between two sites",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_m61_what_mjcf_cannot_have_is_refused_where_it_stands(case: str) -> None:
    (world, elements), fault = REFUSED[case]
    with pytest.raises(ModelError, match=fault) as caught:
        read(mujoco(*elements, world=world), "m.xml")
    assert re.match(r"m\.xml, line \d+: mujoco 'm'", str(caught.value)) or "mujoco" in str(caught.value)
    assert caught.value.allowed and caught.value.todo


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "m.xml, line 1: found no element found"),
        ("<mujoco>\n<worldbody>", "line 2: found no element found; allowed: well-formed XML"),
        ("<sdf/>", "line 1: sdf: found the root element <sdf>; allowed: <mujoco>"),
        ("<robot name='r'/>", "found URDF.*Rename the file to .urdf"),
        ("<!DOCTYPE mujoco><mujoco/>", "line 1: found a document type"),
        ("<mujoco><include file='a.xml'/></mujoco>", "file='a.xml'; allowed: a file in the folder of the model"),
    ],
)
def test_m61_texts_that_are_no_mjcf(text: str, fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        read(text, "m.xml")


SEED = mujoco(
    '<compiler angle="radian" boundmass="0.1"/>',
    '<default><joint damping="1"/><default class="c"><geom size="0.1"/></default></default>',
    '<equality><connect body1="a" body2="b" anchor="1 0 0"/><joint joint1="h" joint2="i" polycoef="0 2 1"/></equality>',
    '<actuator><position joint="h" kp="3" forcerange="-1 1"/></actuator>',
    '<tendon><fixed name="t" stiffness="1"><joint joint="h" coef="2"/></fixed></tendon>',
    world='<body name="a" pos="0 0 1" euler="1 0 0"><joint name="h" armature="0.1" range="-1 1"/>'
    '<geom class="c" mass="1"/></body>'
    '<body name="b" childclass="c"><joint name="i" type="slide" ref="0.1"/><geom density="10"/></body>',
)


@pytest.mark.parametrize(
    ("elements", "fault"),
    [
        (geom('size="1e200"'), "line 3: .*body 'a': found a mass or moments that are too large"),
        ((body(more='name="a" quat="1e308 1e308 1e308 0"'), ()), "line 3: .*quat=.*a direction"),
        (equality('<joint name="x:y" joint1="h" joint2="i"/>'), "line .*joint 'x:y': found name='x:y'.*Rename it"),
        (actuator('<position name="x:y" joint="h" kp="1"/>'), "line .*position 'x:y': found name='x:y'.*Rename it"),
    ],
)
def test_m61_numbers_that_overflow_and_names_of_what_acts(elements: tuple[str, tuple[str, ...]], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        read(mujoco(*elements[1], world=elements[0]), "m.xml")


def test_m61_files_in_files_have_an_end(tmp_path: Path) -> None:
    for k in range(101):
        (tmp_path / f"{k}.xml").write_text(f'<mujoco><include file="{k + 1}.xml"/></mujoco>', encoding="utf-8")
    with pytest.raises(ModelError, match="nested at most 100 deep"):
        load(tmp_path / "0.xml")


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_m61_a_damaged_mjcf_is_a_model_or_one_error(seed: int) -> None:
    """Of texts with parts cut out, doubled and exchanged."""
    try:
        load(read(damaged(SEED, seed), "m.xml")[0])
    except ModelError as error:
        assert error.where and error.allowed and error.todo
