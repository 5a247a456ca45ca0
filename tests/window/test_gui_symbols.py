"""Signs over the view: groups of topology, routes, mobility glyphs, arrows of forces, names (M59, issue 4).

Forces are checked against the simulator by their work: what gravity and springs do is what potential energy loses.
"""

import dataclasses
import math

import numpy as np
import pytest

from shiftjax import simulate
from shiftjax.formats import load
from shiftjax.formats.writer import to_dict
from shiftjax.models import names
from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import legend
from shiftjax.viewer.gui.picture import forces, line_shapes, symbols
from shiftjax.viewer.gui.picture.ray_picking import hits_at
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.pointer import key
from shiftjax.viewer.gui.state import groups, values
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.mechanism import mechanism_from
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK, ROCKER, stored
from tests.scenes.studio import PLAIN

ROUNDING = 1e-9  # sums of a few doubles of the sizes of models
WORK = 2e-3  # of the potential's span: the trapezoidal rule over the stored instants
RATE = 1e-2  # of the largest speed: a central difference over the stored instants
SIZE = (640, 480)
NONE = (False, False, False)
WISHBONE = "double_wishbone"
SPRUNG = ("rack_guide.q", "wheel_right_bearing.q", "wheel_right_bearing.v", "energy.potential")


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    return stored(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def wishbone() -> ViewedStudy:
    return ViewedStudy.of(simulate(WISHBONE, span=2.0, step=1e-3, output_step=0.01, channels=SPRUNG, keep="all"))


def state_of(study: ViewedStudy) -> WindowState:
    return WindowState(MemberScenes(study), look=PLAIN)


# -- groups of topology ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_every_body_and_joint_is_in_one_group(name: str) -> None:
    mechanism = mechanism_from(load(name))
    things = sorted([*(path for path, _ in mechanism.model.bodies()), *mechanism.joints])
    for by in groups.BY[1:]:
        assert sorted(path for group in groups.groups(mechanism, by) for path in group.paths) == things, by


def test_bodies_of_a_loop_have_its_colour_and_those_of_none_are_grey() -> None:
    mechanism = mechanism_from(load("excavator"))
    by_loop, by_block = groups.colours(mechanism, "loop"), groups.colours(mechanism, "substructure")
    assert len(groups.groups(mechanism, "loop")) == len(mechanism.plan.loops) + 1
    assert by_loop["excavator:undercarriage"] == groups.GREY == by_block["excavator:undercarriage"]
    # both cylinders of the boom are one substructure of two loops, the bucket's linkage is another one
    assert by_block["excavator:rod_left"] == by_block["excavator:rod_right"] != by_block["excavator:bucket"]
    assert by_loop["excavator:rod_left"] != by_loop["excavator:rod_right"] != groups.GREY
    assert by_block["excavator:rod_left"] == by_block["excavator:cylinder_left"]
    assert len(set(groups.colours(mechanism, "assembly").values())) == 1 and groups.colours(mechanism, "") == {}


def test_a_key_colours_by_topology_in_the_picture_and_the_legend(bars: ViewedStudy) -> None:
    with Offscreen(state_of(bars), (900, 500)) as window:
        before = window.screen.view_image().astype(int)
        window.key("X")
        assert window.state.grouping == "loop" and "legend:loop four_bar:rocker_pin" in ui.item_boxes
        after = window.screen.view_image().astype(int)
        assert (np.abs(before - after).max(-1) > 8).mean() > 0.005
        for expected in ("substructure", "assembly", ""):
            window.key("X")
            assert window.state.grouping == expected
        assert not any(name.startswith("legend:") for name in ui.item_boxes)
        assert np.array_equal(before, window.screen.view_image().astype(int))


# -- routes and glyphs -------------------------------------------------------------------------------------------------


def test_m59_symbols_are_off_until_their_key(bars: ViewedStudy) -> None:
    for map in ("playback", "workbench"):
        state = WindowState(MemberScenes(bars), look=PLAIN, map=map)
        assert snapshot(state).symbols is None
        for letter, name in (("Y", "route"), ("Z", "glyph"), ("W", "force")):
            key(state, letter, NONE)
            assert {symbol.name for symbol in symbols.symbols(state)} == {name}
            assert snapshot(state).symbols is not None
            key(state, letter, NONE)
        assert snapshot(state).symbols is None


def test_m59_a_route_leads_from_middle_to_middle_by_way_of_its_joint(bars: ViewedStudy) -> None:
    state = state_of(bars)
    state.go_to(0.3)
    routes = {symbol.path: symbol.ends for symbol in symbols.routes(state)}
    assert set(routes) == set(state.mechanism.joints)
    bodies = dict(state.mechanism.model.bodies())
    ends = routes["four_bar:crank_pin"]
    for path, found in ((CRANK, ends[0, 0]), (COUPLER, ends[-1, 1])):
        assert np.allclose(found, to_world(state.body_poses()[path], np.array(bodies[path].center_of_mass)))
    pin = values.frame_in_world(state.mechanism, state.mechanism.joints["four_bar:crank_pin"].child, state.body_poses())
    assert np.linalg.norm(ends[:, 0] - pin[:3, 3], axis=1).min() < ROUNDING
    assert np.array_equal(ends[1:, 0], ends[:-1, 1]), "the curve is torn"


def test_m59_glyphs_turn_about_the_axis_and_fade_with_mobility(bars: ViewedStudy, wishbone: ViewedStudy) -> None:
    state = state_of(bars)
    found = {symbol.path: symbol for symbol in symbols.glyphs(state)}
    for path, symbol in found.items():
        pin = values.frame_in_world(state.mechanism, state.mechanism.joints[path].child, state.body_poses())
        rim = symbol.ends[: line_shapes.ARC_STEPS, 0] - pin[:3, 3]
        axis = values.screws(state.mechanism, path, state.body_poses())[0, :3]
        assert np.allclose(rim @ axis, 0.0, atol=ROUNDING)
        assert np.allclose(np.linalg.norm(rim, axis=1), symbols.GLYPH * state.scene.size)
        assert np.cross(rim[0], rim[1]) @ axis > 0, "the arrow turns the wrong way"
    free = present.mobility(state)
    order = sorted(found, key=lambda path: free[path])
    assert [found[path].colour[3] for path in order] == sorted(found[path].colour[3] for path in order)
    suspension = state_of(wishbone)
    count = {path: sum(s.path == path for s in symbols.glyphs(suspension)) for path in suspension.mechanism.joints}
    assert count[f"{WISHBONE}:upper_right_ball"] == 3 and count[f"{WISHBONE}:wheel_right_bearing"] == 1
    rack = next(s for s in symbols.glyphs(suspension) if s.path == f"{WISHBONE}:rack_guide")
    assert rack.colour[:3] == symbols.SLIDES[:3] and len(rack.ends) == 2 * 5  # two shafts, four barbs each


def test_m59_a_joint_that_its_loops_hold_has_no_glyph() -> None:
    """A triangle of three hinges about one direction cannot move."""
    study = ViewedStudy.of(simulate("excavator", span=0.02, step=1e-3, output_step=0.01, keep="all"))
    state = state_of(study)
    held = {path for path, share in present.mobility(state).items() if share < symbols.LOCKED}
    assert f"{'excavator'}:foot" in held
    assert {symbol.path for symbol in symbols.glyphs(state)} == set(state.mechanism.joints) - held


def test_m58_symbols_of_a_translucent_class_are_faint_and_of_hidden_joints_away(bars: ViewedStudy) -> None:
    state = state_of(bars)
    state.display.set("glyph", draw="visible")
    whole = symbols.strokes(state)
    state.display.set("glyph", draw="translucent")
    faint = symbols.strokes(state)
    assert whole is not None and faint is not None
    assert np.allclose(faint.colours[:, 3], 0.2 * whole.colours[:, 3])
    state.display.set("root closure", draw="hidden")
    root = {path for path in state.mechanism.joints if state.mechanism.class_of(path) == "root closure"}
    assert root.isdisjoint(symbol.path for symbol in symbols.symbols(state))
    state.selection.hidden.add("four_bar:crank_pin")
    assert "four_bar:crank_pin" not in {symbol.path for symbol in symbols.symbols(state)}
    state.display.set("joint", draw="hidden")
    state.display.inherit("root closure")
    assert symbols.strokes(state) is None


def test_m59_symbols_are_picked_only_when_widgets_can_be(bars: ViewedStudy) -> None:
    with Offscreen(WindowState(MemberScenes(bars), look=PLAIN, map="workbench"), (900, 500)) as window:
        state, box = window.state, window.screen.layout.view
        size = (round(box.width), round(box.height))
        state.display.set("route", draw="visible")
        ends = next(symbol.ends for symbol in symbols.routes(state) if symbol.path == "four_bar:rocker_pivot")
        places = [state.current_camera().pixel(point, size) for point in ends[:, 0]]
        x, y = next(place for place in places if not hits_at(state, *place, size))  # beside all bodies
        window.click((box.x + x, box.y + y))
        assert state.selection.pick is None
        window.key("W", (False, True, False))
        window.click((box.x + x, box.y + y))
        assert state.selection.pick == "four_bar:rocker_pivot" == hits_at(state, x, y, size)[0].path
        window.key("W", (False, True, False))
        assert not hits_at(state, x, y, size)


# -- forces ------------------------------------------------------------------------------------------------------------


def test_work_of_gravity_and_springs_is_what_potential_energy_loses(wishbone: ViewedStudy) -> None:
    """W = -dV: forces and the points they act at, from poses alone, against the simulator's own potential energy."""
    mechanism = mechanism_from(wishbone.model)
    run, track = forces.run_of(wishbone, mechanism, 0), wishbone.track(0)
    assert {item.kind for item in run.items} == {"gravity", "spring"}
    work = np.zeros(len(wishbone.time))
    for item in run.items:
        points = to_world(track[:, item.node], item.point)
        mean = 0.5 * (item.vectors[1:] + item.vectors[:-1])
        work[1:] += np.cumsum((mean * np.diff(points, axis=0)).sum(1))
    potential = wishbone.channel("energy.potential", 0)
    assert np.ptp(potential) > 1.0
    assert np.abs(work + potential - potential[0]).max() < WORK * np.ptp(potential)


def test_coordinates_count_whole_turns_and_rates_are_speeds(wishbone: ViewedStudy) -> None:
    mechanism = mechanism_from(wishbone.model)
    track = forces.Track(wishbone, mechanism, 0)
    plan = mechanism.plan
    wheel, rack = (plan.joints[plan.joint_index(f"{WISHBONE}:{k}")] for k in ("wheel_right_bearing", "rack_guide"))
    q = track.q[wheel.q]
    assert np.ptp(q) > 2 * math.pi, "it was meant to turn more than once"
    assert np.allclose(q, wishbone.channel("wheel_right_bearing.q", 0), atol=1e-7)
    assert np.allclose(track.q[rack.q], wishbone.channel("rack_guide.q", 0), atol=1e-9)
    v = wishbone.channel("wheel_right_bearing.v", 0)
    assert np.abs(track.v[wheel.v] - v)[1:-1].max() < RATE * np.abs(v).max()


def test_the_longest_arrow_of_the_run_is_a_part_of_the_models_size(wishbone: ViewedStudy) -> None:
    state = state_of(wishbone)
    longest = 0.0
    for time in wishbone.time:
        state.go_to(float(time))
        longest = max(longest, *(float(np.linalg.norm(vector)) for _, _, vector in forces.arrows(state)))
    assert longest == pytest.approx(forces.LONGEST * state.scene.size)
    state.display.set("force", draw="visible")
    told = [words for _, words in legend.lines(state)]
    assert told[:2] == ["gravity", "spring"] and f"{forces.forces_of(state).largest(torque=False):.4g} N" in told[2]
    assert any("reaction_force" in words for words in told)


def test_dampers_and_torques_of_joints_push_against_their_rates() -> None:
    """Q = -d q' about the axis of the hinge, on its child."""
    model = load("pendulum")
    path = "pendulum:pivot" if "pendulum:pivot" in dict(model.joints()) else next(iter(dict(model.joints())))
    damped = dataclasses.replace(
        model,
        assemblies=tuple(
            dataclasses.replace(a, joints=tuple(dataclasses.replace(j, damping=(0.0, 0.7)) for j in a.joints))
            for a in model.assemblies
        ),
    )
    study = ViewedStudy.of(simulate(damped, span=1.0, step=1e-3, output_step=0.01, channels=(f"{path}.v",), keep="all"))
    run = forces.run_of(study, mechanism_from(study.model), 0)
    torque = next(item for item in run.items if item.kind == "damper")
    v = study.channel(f"{path}.v", 0)
    assert torque.torque and np.abs(torque.vectors[1:-1, 2] + 0.7 * v[1:-1]).max() < RATE * np.abs(v).max()
    assert any("differences" in words for _, words in forces.legend(state_of(study)))


def test_loads_are_drawn_as_they_act() -> None:
    """A torque about a hinge that grows with time, and a constant force on a frame of a body."""
    model = load("pendulum")
    joint, body = next(iter(dict(model.joints()))), next(iter(dict(model.bodies())))
    document = to_dict(model)
    document["assemblies"][0]["force_modules"] = [
        {"name": "push", "type": "polynomial_load", "joint": joint.rpartition(":")[2], "coefficients": [1.0, 2.0]},
        {"name": "wind", "type": "constant_wrench", "frame": [[body.rpartition(":")[2]], "origin"],
         "force": [3.0, 0.0, 0.0], "moment": [0.0, 0.0, 0.5]},
    ]  # fmt: skip
    study = ViewedStudy.of(simulate(load(document), span=0.5, step=1e-3, output_step=0.05, keep="all"))
    mechanism = mechanism_from(study.model)
    items = {(item.path.rpartition(":")[2], item.torque): item for item in forces.run_of(study, mechanism, 0).items}
    push, wind, turn = items["push", True], items["wind", False], items["wind", True]
    assert {item.kind for item in (push, wind, turn)} == {"load"}
    assert np.allclose(np.linalg.norm(push.vectors, axis=1), 1.0 + 2.0 * study.time)
    assert np.allclose(wind.vectors, (3.0, 0.0, 0.0)) and np.allclose(turn.vectors, (0.0, 0.0, 0.5), atol=1e-12)


def test_recorded_reactions_act_on_the_child_at_the_joint() -> None:
    result = simulate("four_bar", span=0.1, step=1e-3, output_step=0.01, keep="all")
    push = np.stack([np.linspace(0, 30, 11), np.zeros(11), np.full(11, -5.0)], axis=1)
    name = "four_bar:crank_pin.reaction_force"
    recorded = dataclasses.replace(result, channels={**result.channels, name: push}, units={**result.units, name: "N"})
    state = state_of(ViewedStudy.of(recorded))
    state.go_to(0.055)
    item, start, vector = next(a for a in forces.arrows(state) if a[0].kind == "reaction")
    joint = state.mechanism.joints["four_bar:crank_pin"]
    assert item.path == "four_bar:crank_pin"
    assert np.allclose(start, values.frame_in_world(state.mechanism, joint.child, state.body_poses())[:3, 3])
    assert np.allclose(vector / vector[0] * 16.5, (16.5, 0.0, -5.0), atol=1e-9)
    assert not any("record" in words for _, words in forces.legend(state))
    push[6:] = np.nan  # of a member that ended early
    assert forces.forces_of(state).largest(torque=False) == pytest.approx(np.hypot(30.0, 5.0))
    ended = dataclasses.replace(recorded, channels={**result.channels, name: push})
    state = state_of(ViewedStudy.of(ended))
    assert forces.forces_of(state).largest(torque=False) == pytest.approx(np.hypot(15.0, 5.0))
    state.go_to(0.09)
    assert "reaction" not in {item.kind for item, _, _ in forces.arrows(state)}


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_stand_at_their_places_and_in_the_picture(bars: ViewedStudy) -> None:
    with Offscreen(state_of(bars), (900, 500)) as window:
        state, box = window.state, window.screen.layout.view
        before = window.image().astype(int)
        window.key("Q")
        for path in (ROCKER, "four_bar:crank_pin"):
            mark = ui.item_boxes[f"name:{path}"]
            rows, columns = slice(int(mark.y), int(mark.y + mark.height)), slice(int(mark.x), int(mark.x + mark.width))
            assert (np.abs(window.image()[rows, columns] - before[rows, columns]).max(-1) > 8).mean() > 0.1
        centre = np.array(dict(state.mechanism.model.bodies())[ROCKER].center_of_mass)
        place = to_world(state.body_poses()[ROCKER], centre)
        x, y = state.current_camera().pixel(place, (round(box.width), round(box.height)))
        assert (
            abs(ui.item_boxes[f"name:{ROCKER}"].x - box.x - x) < 10
            and abs(ui.item_boxes[f"name:{ROCKER}"].y - box.y - y) < 2
        )
        state.selection.hidden.add(ROCKER)
        window.frames()
        assert f"name:{ROCKER}" not in ui.item_boxes and f"name:{CRANK}" in ui.item_boxes
        actions.run(state, "names")
        window.frames()
        assert not any(name.startswith("name:") for name in ui.item_boxes)
