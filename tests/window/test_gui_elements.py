"""Springs, loads, constraints and drivers in the viewer: their rows in the tree, their numbers with units."""

from pathlib import Path

import pytest

from shiftjax.ensembles.store import store
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Assembly, Element
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import propertypane
from shiftjax.viewer.gui.state import elements, tree_rows
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import FAST
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.models.documents import driven
from tests.support.models.mechanisms import rod

SPEEDS = [1.0, 2.5]  # rad/s


def swinging() -> Model:
    """A rod with a coil at its hinge, a push at its tip, and a torque that says much."""
    builder = ModelBuilder()
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.body("fan", mass=1.0, inertia=(0.1, 0.1, 0.1)).joint("axle", "Rx", parent=("rod", "tip"), child="fan")
    a.restraint("coil", "spring", joint="pivot", coefficients=[[2000, 0], [0]], knot_points=[0.1])
    a.force("push", "constant_wrench", frame=("rod", "tip"), force=(0, 0, 30), axes="body")
    values = [0.0, 1.0] * 10
    a.force("brake", "table_load", joint="pivot", times=list(range(20)), values=values, outside="hold")
    return builder.build()


def texts(model: Model, path: str) -> dict[str, str]:
    item = elements.element_at(model, path)
    assert item is not None
    return dict(elements.properties(model, item))


def test_the_tree_lists_every_force_constraint_and_driver_once() -> None:
    model = load(driven())
    rows = [row for row in tree_rows.scene_rows(model) if row.kind in ("force", "driver")]
    (assembly,) = model.assemblies
    items = [*assembly.restraints, *assembly.force_modules, *assembly.drivers]
    assert [row.path for row in rows] == [f"pendulum:{item.name}" for item in items]
    assert [row.value for row in rows] == [item.type for item in items]
    assert [row.name.endswith(" (inactive)") for row in rows] == [not item.active for item in items]
    assert len({row.key for row in tree_rows.scene_rows(model)}) == len(tree_rows.scene_rows(model))


def test_groups_without_elements_are_left_out() -> None:
    rows = tree_rows.scene_rows(Model((Assembly("a", constraints=(Element("mesh", "gear"),)),)))
    assert [(row.name, row.kind, row.depth) for row in rows[-3:]] == [
        ("a", "assembly", 0),
        ("constraints", "constraints", 1),
        ("mesh", "constraint", 2),
    ]
    assert not {row.kind for row in rows} & {"forces", "drivers"}


def test_numbers_have_their_units() -> None:
    model = swinging()
    assert texts(model, "a:coil") == {
        "type": "spring",
        "joint": "a:pivot",
        "coefficients[0][0] [N m/rad]": "2000",
        "coefficients[0][1] [N m]": "0",
        "coefficients[1][0] [N m]": "0",
        "knot_points [rad]": "0.1",
    }
    wrench = {"force [N]": "0 0 30", "moment [N m]": "0 0 0", "axes": "body"}
    assert texts(model, "a:push") == {"type": "constant_wrench", "frame": "a:rod:tip", **wrench}
    assert elements.element_at(model, "a:pivot") is None, "a joint has its own properties"


def test_of_a_long_table_the_beginning_is_shown() -> None:
    shown = texts(swinging(), "a:brake")
    assert shown["times [s]"] == "0 1 2 3 4 5 ... (20)" and shown["values [N m]"] == "0 1 0 1 0 1 ... (20)"
    builder = ModelBuilder()
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.force("gust", "table_wrench", frame="rod", times=list(range(50)), forces=[(1, 0, 0)] * 50)
    shown = texts(builder.build(), "a:gust")
    assert "--paths" in shown["..."] and shown["forces[3] [N]"] == "1 0 0" and len(shown) < 40


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    """Two members, each with a speed of its own."""
    vary = {"axle_drive.speed": SPEEDS}
    result = simulate(swinging(), 0.02, 1e-3, drive={"axle": 0.0}, vary=vary, output_step=0.01, keep="all")
    place: Path = tmp_path_factory.mktemp("study") / "s.zarr"
    return ViewedStudy.open(store.write(result, place))


def test_a_click_on_a_driver_shows_its_numbers_of_the_member(study: ViewedStudy) -> None:
    with Offscreen(WindowState(MemberScenes(study), look=FAST), (1000, 700)) as window:
        state = window.state
        state.panels.opened |= {"group:a:drivers"}
        window.frames(2)
        window.click("row:drivers:a:axle_drive")
        assert state.selection.pick == "a:axle_drive"
        box, drawn = window.screen.layout.properties, []
        for member, speed in enumerate(SPEEDS):
            state.show_member(member)
            shown = dict(propertypane.properties(state))
            assert shown == {"type": "constant_speed", "joint": "a:axle", "speed [rad/s]": f"{speed:g}"}
            window.frames(2)
            drawn.append(window.image()[int(box.y) : int(box.y + box.height), int(box.x) :].copy())
        assert (drawn[0] != drawn[1]).any(), "the pane shows the number of its member"
