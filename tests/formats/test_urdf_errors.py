"""What a URDF cannot have is refused by its place, its line and its name, and nothing else is done (M61, D3)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftjax import ModelError, load
from shiftjax.formats.robots.urdf.robot import read
from tests.support.damaged_texts import damaged
from tests.support.models.urdf_text import joint, link, robot

WORLD, ARM, TURN = link("world"), link("arm", 1.0, inertia=(1, 1, 1, 0, 0, 0)), joint("turn", "world", "arm")
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LIMIT = '<limit lower="{}" upper="{}" effort="1" velocity="1"/>'
TWO = (WORLD, ARM, link("hand"), TURN)


def with_inertial(inside: str) -> tuple[str, ...]:
    return WORLD, link("arm", inside=f"<inertial>{inside}</inertial>"), TURN


def with_joint(inside: str, type: str = "continuous", **more: str) -> tuple[str, ...]:
    return WORLD, ARM, joint("turn", "world", "arm", type, inside=inside)


def with_shape(geometry: str, more: str = "") -> tuple[str, ...]:
    visual = f"<visual><geometry>{geometry}</geometry>{more}</visual>"
    return WORLD, link("arm", inside=visual), TURN


REFUSED = {
    "no link": ((), "line 2: robot 'r'.*no <link>"),
    "two roots": ((WORLD, ARM), "2 links without a parent: world, arm.*one root link"),
    "a loop": (
        (*TWO, joint("b", "arm", "hand"), joint("c", "world", "hand")),
        "joint 'c': .*second parent.*'b'.*Editor",
    ),
    "a circle": (
        (WORLD, ARM, link("hand"), joint("a", "arm", "hand"), joint("b", "hand", "arm")),
        "own ancestors: arm",
    ),
    "itself": ((WORLD, ARM, joint("a", "arm", "arm")), "own ancestors: arm"),
    "a missing link": ((WORLD, ARM, joint("a", "world", "amr")), "joint 'a'/child.*link='amr'.*Did you mean 'arm'"),
    "two of a name": ((WORLD, ARM, ARM, TURN), "line 5: robot 'r'/link 'arm'.*a second link 'arm'.*line 4"),
    "no name": ((WORLD, "<link/>"), "no attribute 'name'"),
    "a bad name": ((WORLD, link("a:b"), joint("a", "world", "a:b")), "name='a:b'"),
    "a reserved name": ((WORLD, link("fixed"), joint("a", "world", "fixed")), "other than 'fixed'"),
    "a macro": ((WORLD, '<xacro:include filename="x"/>'), "<xacro:include>.*Expand the macros first: `xacro FILE`"),
    "an unknown element": (
        (*TWO[:2], TURN, "<springs/>"),
        "line 6.*<springs>.*not known whether it changes the motion",
    ),
    "an unknown word": ((WORLD, ARM, TURN.replace("<parent", "<parent massless='1'")), "attribute 'massless'"),
    "an unknown element of a joint": (with_joint("<spring/>"), "joint 'turn'/spring: found element <spring>"),
    "a text": ((WORLD, link("arm", inside="1.0"), TURN), "text '1.0'"),
    "no mass": (with_inertial(INERTIA), "no <mass>"),
    "no inertia": (with_inertial('<mass value="1"/>'), "no <inertia>"),
    "a negative mass": (with_inertial(f'<mass value="-1"/>{INERTIA}'), "mass: found a mass of -1 kg"),
    "no number": (with_inertial(f'<mass value="heavy"/>{INERTIA}'), "value='heavy'.*one finite number"),
    "a macro's number": (with_inertial(f'<mass value="${{m}}"/>{INERTIA}'), "Expand the macros"),
    "nan": (with_inertial(f'<mass value="nan"/>{INERTIA}'), "value='nan'"),
    "infinite": (with_inertial(f'<mass value="1e999"/>{INERTIA}'), "value='1e999'"),
    "two numbers": (with_inertial(f'<origin xyz="1 2"/><mass value="1"/>{INERTIA}'), "xyz='1 2'.*3 finite numbers"),
    "two origins": (with_inertial(f'<origin/><origin/><mass value="1"/>{INERTIA}'), "<origin> a second time"),
    "two inertials": ((WORLD, link("arm", 1.0, inside="<inertial/>"), TURN), "<inertial> a second time"),
    "rpy twice": (
        with_inertial(f'<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/><mass value="1"/>{INERTIA}'),
        "both rpy and",
    ),
    "no quaternion": (with_inertial(f'<origin quat_xyzw="0 0 0 2"/><mass value="1"/>{INERTIA}'), "of length 2"),
    "a type": ((WORLD, ARM, joint("turn", "world", "arm", "ball")), "type='ball'.*revolute"),
    "no parent": ((WORLD, ARM, '<joint name="turn" type="fixed"><child link="arm"/></joint>'), "no <parent>"),
    "an axis": ((WORLD, ARM, joint("turn", "world", "arm", axis=(0, 0, 0))), "axis '0.0 0.0 0.0'.*a direction"),
    "limits": (with_joint(LIMIT.format(1, -1), "revolute"), "limit: found limits 1 and -1.*Exchange them"),
    "a stiff joint": (with_joint('<dynamics damping="1" stiffness="5"/>'), "dynamics: found stiffness='5'"),
    "negative damping": (with_joint('<dynamics damping="-1"/>'), "damping -1.*0 or more"),
    "a rubbing plane": (with_joint('<dynamics friction="1"/>', "planar"), "friction 1 of a planar joint"),
    "a plane that follows": (with_joint('<mimic joint="x"/>', "planar"), "a planar joint that follows another"),
    "no leader": (with_joint('<mimic joint="x"/>'), "mimic: found joint='x'"),
    "its own leader": (with_joint('<mimic joint="turn"/>'), "joint 'turn' follows itself"),
    "leaders in a circle": (
        (
            *TWO,
            *(
                joint(name, "arm", f"{name}_link", inside=f'<mimic joint="{leader}"/>') + link(f"{name}_link")
                for name, leader in (("a", "b"), ("b", "c"), ("c", "b"))
            ),
            joint("d", "arm", "hand"),
        ),
        "joint 'c'/mimic: found joint 'b' follows itself",
    ),
    "nearly a limit": (
        with_joint('<limit lowr="-1" upper="1"/>', "revolute"),
        "limit: found attribute 'lowr'.*'lower'",
    ),
    "an inertia beyond numbers": (
        with_inertial('<origin rpy="1 1 1"/><mass value="1"/>' + INERTIA.replace('ixy="0"', 'ixy="1.7e308"')),
        "inertia: found moments that are too large when turned by rpy",
    ),
    "two shapes": (with_shape('<sphere radius="1"/><sphere radius="1"/>'), "geometry: found 2 shapes"),
    "an unknown shape": (with_shape('<torus radius="1"/>'), "element <torus>"),
    "no size": (with_shape('<box size="1 0 1"/>'), "size='1 0 1'.*above 0"),
    "a flat cylinder": (with_shape('<cylinder radius="1" length="0"/>'), "lengths 1, 0"),
    "a mesh of a server": (with_shape('<mesh filename="http://x/y.stl"/>'), "filename='http://x/y.stl'"),
    "a mesh of no size": (with_shape('<mesh filename="y.stl" scale="1 0 1"/>'), "scale='1 0 1'"),
    "a colour": (
        with_shape('<box size="1 1 1"/>', '<material><color rgba="255 0 0 1"/></material>'),
        "numbers from 0 to 1",
    ),
    "a material twice": ((WORLD, '<material name="a"/>', '<material name="a"/>'), "a second material 'a'"),
    "a loop for Gazebo": (
        (WORLD, '<gazebo><joint name="close"/></gazebo>'),
        "joint 'close': .*<joint> for another program.*Editor",
    ),
    "a spring for Gazebo": ((WORLD, "<gazebo><springStiffness>3</springStiffness></gazebo>"), "<springStiffness> for"),
    "a link that is led": ((WORLD, link("arm", inside="<kinematic>true</kinematic>"), TURN), "<kinematic> for another"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_m61_what_urdf_cannot_have_is_refused_where_it_stands(case: str) -> None:
    elements, fault = REFUSED[case]
    with pytest.raises(ModelError, match=fault) as caught:
        read(robot(*elements, name="r"), "r.urdf")
    assert re.match(r"r\.urdf, line \d+: robot 'r'", str(caught.value))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "r.urdf, line 1: found no element found"),
        ("<robot name='r'>\n<link name='a'>", "line 2: found no element found; allowed: well-formed XML"),
        ("<robot name='r'>\n<link name='a' name='b'/></robot>", "line 2: found duplicate attribute"),
        ("<sdf version='1.6'/>", "line 1: sdf: found the root element <sdf>; allowed: <robot>"),
        ("<robot name='r' version='3.0'><link name='a'/></robot>", "version='3.0'"),
        ("<robot><link name='a'/></robot>", "no attribute 'name'"),
        ("<robot name='r'>" + "<link>" * 200, "elements nested at most 100 deep"),
    ],
)
def test_m61_texts_that_are_no_urdf(text: str, fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        read(text, "r.urdf")


def test_m61_entities_are_never_expanded() -> None:
    """Neither those that grow by factors of ten, nor those that name files; the refusal takes no time."""
    laughs = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(12))
    for inside in (f'<!ENTITY l0 "lol">{laughs}', '<!ENTITY file SYSTEM "file:///etc/hostname">', ""):
        begun = time.process_time()
        with pytest.raises(ModelError, match=r"line 2: found a document type; allowed: XML without <!DOCTYPE>"):
            read(f'<?xml version="1.0"?>\n<!DOCTYPE robot [{inside}]><robot name="&l12;&file;"/>', "r.urdf")
        assert time.process_time() - begun < 1.0


SEED = robot(
    WORLD,
    link("arm", 1.0, inertia=(1, 1, 1, 0, 0, 0), inside='<visual><geometry><box size="1 1 1"/></geometry></visual>'),
    joint("turn", "world", "arm", "revolute", axis=(0, 0, 1), inside=LIMIT.format(-1, 1) + '<dynamics damping="1"/>'),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_m61_a_damaged_text_is_a_model_or_one_error(seed: int) -> None:
    """Of texts with parts cut out, doubled and exchanged."""
    try:
        load(read(damaged(SEED, seed), "x.urdf")[0])
    except ModelError as error:
        assert error.where and error.allowed and error.todo
