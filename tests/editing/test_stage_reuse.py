"""What stays while a part of a mechanism is dragged is made once, and changes no bit of what it comes to. M7, M22."""

import numpy as np
import pytest

import shiftjax
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.stages import StageLoops
from shiftjax.models.scissor_tower import scissor_tower

FLOORS, PARTS, TOP = 2, 4, "tower:platform_2"
FOOT = np.zeros(3)


def by_floors() -> shiftjax.Model:
    edit, base = shiftjax.Editor(shiftjax.load(scissor_tower(FLOORS))), ("fixed", "foot")
    for k in range(1, FLOORS + 1):
        edit.abstract(base, f"platform_{k}", f"floor_{k}")
        base = f"platform_{k}"
    return edit.limit("floor_2_prismatic", 0.1, 0.98).model


MODEL = by_floors()


def dragged(poser: shiftjax.Poser, way: np.ndarray) -> list[bytes]:
    """Coordinates of all parts of a drag of the top, and of its end."""
    begun, out = poser.poses[TOP][1], list[bytes]()
    for k in range(1, PARTS + 1):
        poser.drag_on(TOP, FOOT, begun + k / PARTS * way)
        out.append(poser.coordinates.tobytes())
    return [*out, poser.drop().coordinates.tobytes()]


def steps(poser: shiftjax.Poser) -> list[object]:
    """Drags with goals that are kept, locked, out of reach, undone."""
    out: list[object] = [dragged(poser, np.array([0.1, -0.05, 0.0]))]
    poser.keep(name="top").drag("tower:platform_1", FOOT, poser.poses["tower:platform_1"][1] + [0.02, 0.02, 0.0])
    out += [poser.coordinates.tobytes(), poser.goal_states["top"].text]
    poser.release().lock("floor_1_prismatic")
    out += [dragged(poser, np.array([0.3, 2.0, 0.0])), poser.missed, [one.text for one in poser.hand_states]]
    poser.undo()
    poser.unlock()
    out += [dragged(poser, np.array([0.0, 0.05, 0.0])), poser.turn("floor_2_prismatic", 1.1).coordinates.tobytes()]
    return [*out, poser.notes, poser.gap]


def test_what_is_kept_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """M22: the same with all searches, and loops of all poses, made anew."""
    monkeypatch.setattr("shiftjax.editing.posing.pose_history.PICTURE", 1e9)  # or the machine's speed would count
    kept = steps(shiftjax.Poser(MODEL))
    with monkeypatch.context() as anew:
        anew.setattr(PositionSearch, "with_numbers", lambda *_: None)
        anew.setattr(StageLoops, "_evaluated", StageLoops._values_at)
        assert steps(shiftjax.Poser(MODEL)) == kept


def test_parts_of_a_drag_share_what_they_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """M7: a drag makes one search, and a stage that follows asks for its loops once a step, and where it is led."""
    counts = {"searches": 0, "loops": 0}

    def counted(name: str, function):
        def counting(*args, **words):
            counts[name] += 1
            return function(*args, **words)

        return counting

    poser = shiftjax.Poser(MODEL)
    dragged(poser, np.array([0.02, 0.02, 0.0]))
    monkeypatch.setattr(PositionSearch, "__init__", counted("searches", PositionSearch.__init__))
    monkeypatch.setattr(StageLoops, "_values_at", counted("loops", StageLoops._values_at))
    way, begun = np.array([0.001, -0.0005, 0.0]), poser.poses[TOP][1]
    for k in range(1, PARTS + 1):
        poser.drag_on(TOP, FOOT, begun + k * way)
        assert poser.gap < 1e-12
    assert counts["searches"] == 0  # that of the drag before has the same goals but for their numbers
    assert counts["loops"] <= 4 * FLOORS * PARTS  # where it is led, and after three steps of Newton's
    poser.drag_on("tower:platform_1", FOOT, poser.poses["tower:platform_1"][1])
    assert counts["searches"] == 1


def test_edits_make_all_anew() -> None:
    """M22: a limit that is set between two drags holds in the second one, as of a model that had it before."""
    bench = shiftjax.Workbench(MODEL).do("drag", "platform_2", FOOT, [0.2, 1.6, 0.0])
    bench.do("limit", "floor_1_prismatic", 0.3, 0.85).do("drag", "platform_2", FOOT, [0.2, 2.5, 0.0])
    again = shiftjax.Workbench(MODEL).replay(bench.script)
    assert bench.values == again.values
    assert bench.values["tower:floor_1_prismatic"] == pytest.approx(0.85, abs=1e-9)
    bench.undo()
    bench.undo()
    bench.do("drag", "platform_2", FOOT, [0.2, 2.5, 0.0])
    assert bench.values["tower:floor_1_prismatic"] > 0.86
