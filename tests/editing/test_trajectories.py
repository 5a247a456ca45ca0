"""Trajectories in and out: poses by hand as a table, and the poses of a table as steps by hand, as paths and as known
motions; flips that end before they are done. S23, M46, M65."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, ModelError, Poser, Workbench
from shiftjax.ensembles.store.store import write
from shiftjax.rotations import rotation_of_vector
from tests.support.models.reaching_arms import two_links

EXACT = 1e-9  # m or rad: a goal that is met
SAME = 1e-12  # rad: closed twice to rounding
CRANK, ROCKER, COUPLER = "four_bar:crank_pivot", "four_bar:rocker_pivot", "four_bar:coupler"


def turning_joints() -> shiftjax.Model:
    """A body that floats, a ball on it, and a slide on that."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("s")
    for name in ("hull", "head", "rod"):
        rows.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"top": (0.1, 0.2, 0.3)})
    rows.joint("six", "float", child="hull").joint("ball", "spherical", parent=("hull", "top"), child="head")
    rows.joint("slide", "Tx", parent=("head", "top"), child="rod")
    return builder.build()


def by_hand() -> Workbench:
    """A four-bar whose coupler was dragged, with steps that move nothing between."""
    bench = Workbench("four_bar")
    place = bench.poses[COUPLER][1]
    for k in range(1, 5):
        bench.do("drag", "coupler", [0.0, 0.0, 0.0], (place + np.array([0.02, 0.0, 0.01]) * k).tolist())
        bench.do("lock", "crank").do("unlock")
    return bench


def table(path: Path, head: str, *rows: str) -> Path:
    path.write_text("\n".join((head, *rows)) + "\n")
    return path


def test_poses_by_hand_are_there_again_to_the_bit(tmp_path: Path) -> None:
    """Written and read, they are the same steps; joints that turn any way by their quaternions; a script has them
    without the file."""
    bench = by_hand()
    written = bench.trajectory(["coupler:tip"])
    assert written.count == 5 and [*written.q] == [CRANK, ROCKER, "four_bar:crank_pin", "four_bar:rocker_pin"]
    R, p = bench.poses[COUPLER]
    assert written.positions[f"{COUPLER}:tip"][-1] == pytest.approx(R @ [0.5, 0.0, 0.0] + p, abs=1e-15)
    file = written.write(tmp_path / "poses.csv")
    read = bench.read_trajectory(file)
    again = Workbench("four_bar")
    assert again.go_through(read) == {} and np.array_equal(again.coordinates, bench.coordinates)
    assert again.script.count("\n") == 5 and "# pose 4 of poses.csv" in again.script
    assert np.array_equal(Workbench("four_bar").replay(again.script).coordinates, bench.coordinates)
    assert np.array_equal(again.trajectory().q[ROCKER], written.q[ROCKER])
    assert again.undo() and again.values[CRANK] == written.q[CRANK][3]

    model = turning_joints()
    poser = Workbench(model).do("rotate", "hull", "y", 0.4).do("rotate", "head", "x", -0.3).do("turn", "slide", 0.2)
    file = poser.trajectory().write(tmp_path / "turning.csv")
    assert "s:six.q[0] [m]" in file.read_text() and "s:ball.q[3] [1]" in file.read_text()
    other = Workbench(model)
    assert other.go_through(other.read_trajectory(file)) == {}
    assert np.array_equal(other.coordinates, poser.coordinates)


@pytest.mark.parametrize("kind", ["planar", "universal", "spherical", "float"])
def test_joints_of_several_numbers_are_there_again(kind: str, tmp_path: Path) -> None:
    """Each coordinate of one number by its name, as tables of runs have it, too."""
    builder = shiftjax.ModelBuilder()
    builder.assembly("s").body("b", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("j", kind, child="b")
    bench, again = Workbench(builder.build()), Workbench(builder.build())
    bench.do("rotate", "b", "z", 0.3)
    for k, coordinate in enumerate(bench.values):
        bench.do("turn", coordinate, 0.1 * (k + 1))
    file = bench.trajectory(["b"]).write(tmp_path / "poses.csv")
    assert again.go_through(again.read_trajectory(file)) == {}
    assert np.array_equal(again.coordinates, bench.coordinates)


def test_a_change_begins_another_table() -> None:
    """Rows are of one mechanism: those before a change are not among them, and what was taken back is not either."""
    bench = by_hand()
    bench.do("invert", "rocker_pivot").do("turn", "crank_pivot", 0.8).do("turn", "crank_pivot", 0.9)
    assert bench.trajectory().count == 3
    bench.undo()
    assert bench.trajectory().count == 2


def test_a_place_of_a_frame_leads_the_mechanism(tmp_path: Path) -> None:
    """The point of a coupler on its curve, in mm and two components: each pose is the one of the crank that it was
    made of, as `inverse_kinematics` of all rows at once finds them, too."""
    angles = np.linspace(1.0, 1.4, 5)
    path = shiftjax.follow("four_bar", {"crank_pivot": angles}, channels=["coupler:tip.position", "rocker_pivot.q"])
    rows = [f"{1e3 * x!r}, {1e3 * z!r}" for x, _, z in path.channels["coupler:tip.position"].tolist()]
    file = table(tmp_path / "tip.csv", "coupler:tip.position[0] [mm], coupler:tip.position[2] [mm]", *rows)
    bench = Workbench("four_bar")
    read = bench.read_trajectory(file)
    assert bench.go_through(read) == {} and bench.gap < SAME
    taken = bench.trajectory()
    assert taken.q[CRANK][-5:] == pytest.approx(angles, abs=1e-7)
    met = shiftjax.inverse_kinematics("four_bar", read.goals)
    assert met.reached.all() and met.q[CRANK] == pytest.approx(angles, abs=1e-7)
    with pytest.raises(ModelError, match="no coordinate of one number is in it"):
        read.drive("crank_pivot")


def test_poses_out_of_reach_are_told_row_by_row(tmp_path: Path) -> None:
    """An arm of 2 m: 0.5 m are missing in the second row, and it stands at the nearest pose; a lock blocks the last
    one. What was missing is in the notes of its step, and the script gives the same poses."""
    rows = ("1.2, 0, -0.6", "2.5, 0, 0", "1.0, 0, -1.0")
    file = table(tmp_path / "tip.csv", ",".join(f"l1:tip.position[{k}]" for k in range(3)), *rows)
    bench = Workbench(two_links())
    read = bench.read_trajectory(file)
    missing = bench.go_through(read)
    assert [*missing] == [1] and "pose 1 of tip.csv: arm:l1:tip: 0.5 m missing" in missing[1]
    assert bench.trajectory().q["arm:j1"][2] == pytest.approx(0.0, abs=1e-4)  # stretched
    assert bench.missed < EXACT and bench.notes == ()
    bench.undo()
    assert bench.notes == (missing[1],)
    bench.do("lock", "j0", "j1").go_to(read, 2)
    assert bench.missed > 0.1 and bench.notes[0].startswith("pose 2 of tip.csv")
    assert np.array_equal(Workbench(two_links()).replay(bench.script).coordinates, bench.coordinates)


def test_a_pose_of_a_body_by_a_rotation_vector_and_a_quaternion(tmp_path: Path) -> None:
    """The platform of a hexapod: the same pose by both; kept goals above the hand stay."""
    bench, body = Workbench("stewart"), "stewart:platform"
    vector, target = np.array([0.05, -0.02, 0.1]), bench.poses[body][1] + np.array([0.02, 0.01, -0.03])
    numbers = [*target, *vector]
    heads = [f"platform.{what}[{k}]" for what in ("position", "orientation") for k in range(3)]
    half = 0.5 * np.linalg.norm(vector)
    quaternion = [np.cos(half), *(np.sin(half) * vector / np.linalg.norm(vector))]
    first = table(tmp_path / "vector.csv", ",".join(heads), ",".join(map(str, numbers)))
    four = [*heads[:3], *(f"platform.orientation[{k}]" for k in range(4))]
    other = table(tmp_path / "four.csv", ",".join(four), ",".join(map(str, [*target, *quaternion])))
    poses = []
    for file in (first, other):
        bench = Workbench("stewart")
        assert bench.go_through(bench.read_trajectory(file)) == {}
        poses.append(bench.poses[body])
    assert poses[0][1] == pytest.approx(target, abs=1e-6) and poses[0][0] == pytest.approx(poses[1][0], abs=1e-6)
    assert poses[0][0] == pytest.approx(np.array(rotation_of_vector(vector.tolist())), abs=1e-6)


def test_tables_of_paths_lead_and_tell_forces(tmp_path: Path) -> None:
    """What `follow` writes is read, its other channels are left out and named, and it leads the same path; with times
    it is a known motion, whose instants stand where the rows say."""
    angles = np.linspace(1.0, 1.5, 6)
    channels = ["crank_pivot.q", "rocker_pivot.q", "rocker_pivot.v"]
    path = shiftjax.follow("four_bar", {"crank_pivot": angles}, channels=channels)
    read = shiftjax.read_trajectory(write(path, tmp_path / "path.csv"), "four_bar")
    assert read.notes == ("columns left out: rocker_pivot.v",) and read.count == 6 and [*read.q] == [CRANK, ROCKER]
    again = shiftjax.follow("four_bar", read.drive("crank_pivot"), channels=channels)
    assert np.array_equal(again.channels["rocker_pivot.q"], path.channels["rocker_pivot.q"])
    rows = [f"{0.1 * k},{float(np.degrees(angle))!r}" for k, angle in enumerate(angles)]
    timed = shiftjax.read_trajectory(table(tmp_path / "timed.csv", "time, crank_pivot [deg]", *rows), "four_bar")
    assert timed.time is not None and timed.q[CRANK] == pytest.approx(angles, abs=SAME)
    motion = {"crank_pivot": shiftjax.Table(timed.time, timed.q[CRANK])}
    answer = shiftjax.inverse_dynamics("four_bar", motion, timed.time, channels=["rocker_pivot.q"])
    assert answer.channels["rocker_pivot.q"] == pytest.approx(path.channels["rocker_pivot.q"], abs=1e-9)
    assert np.isfinite(answer.forces["crank_pivot"]).all()


def test_goals_that_are_kept_come_before_a_table(tmp_path: Path) -> None:
    """A goal above the hand is not disturbed by rows that go against it, whole as they are."""
    bench = by_hand()
    read = bench.read_trajectory(bench.trajectory().write(tmp_path / "poses.csv"))
    bench = Workbench("four_bar").do("keep", "crank_pivot", level="potential")
    before = bench.values[CRANK]
    missing = bench.go_through(read)
    assert [*missing] == [1, 2, 3, 4] and bench.values[CRANK] == pytest.approx(before, abs=EXACT)


def test_an_interrupt_loses_nothing() -> None:
    """Poses that were gone to are steps; a flip that ends before it is done has changed nothing."""
    bench = by_hand()
    read, q = bench.trajectory(), bench.coordinates

    def impatient(done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    again = Workbench("four_bar")
    with pytest.raises(KeyboardInterrupt):
        again.go_through(read, impatient)
    assert again.script.count("\n") == 3 and again.values[CRANK] == read.q[CRANK][2]

    hexapod, told = Workbench("stewart").do("turn", "foot_x_1", 0.01), list[float]()
    script, q = hexapod.script, hexapod.coordinates

    def watch(done: float) -> None:
        told.append(done)
        if len(told) > 3:
            raise KeyboardInterrupt

    for call in (hexapod.flip, hexapod.other_poses):
        told.clear()
        with pytest.raises(KeyboardInterrupt):
            call(progress=watch)
        assert told == sorted(told) and 0.0 <= told[0] and told[-1] < 1.0
        assert hexapod.script == script and np.array_equal(hexapod.coordinates, q)
    assert Poser("four_bar").drag("coupler", [0, 0, 0], [0.1, 0, 0]).missed < 1.0  # nobody waits any more


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("nothing.q", "1", "trajectory poses.csv, column 'nothing.q': nothing"),
        ("crank_pivot.q [mm]", "1", "mm"),
        ("crank_pivot, crank_pivot.q", "1, 2", "four_bar:crank_pivot twice"),
        ("crank_pivot", "nan", "nan in column 'crank_pivot', pose 0"),
        ("crank_pivot", "x", "a number at every place"),
        ("crank_pivot", "", "no pose"),
        ("time", "1", "no column of a pose"),
        ("coupler.position[3]", "1", r"position \[3\] of four_bar:coupler"),
        ("coupler.orientation[0], coupler.orientation[1]", "1, 0", r"coupler.orientation\[0\] to \[3\]"),
        (",".join(f"coupler.orientation[{k}]" for k in range(4)), "1,1,0,0", "length is off 1 by 0.414"),
        ("fixed:rocker_pivot.position[0]", "1", "of ground"),
        ("crank_pivot.position[0]", "1", "a body or a frame"),
        ("crank_pivot,crank_pivot", "1, 1", "different coordinates and frames"),
        ("coupler.position[0], coupler:origin.position[0]", "1, 2", r"coupler:origin.position\[0\] twice"),
        ("crank_pivot", "#1", "a number at every place"),
        ("crank_pivot, time [s], time [ms]", "1, 2, 3", r"time \[ms\] twice"),
        (",".join(f"coupler.orientation[{k}] [mm]" for k in range(3)), "1, 1, 1", "unit 'mm'; allowed: a unit of rad"),
    ],
)
def test_tables_that_say_nothing_of_the_model(tmp_path: Path, head: str, row: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.read_trajectory(table(tmp_path / "poses.csv", head, row), "four_bar")


def test_units_and_lengths_of_joints_that_turn_any_way(tmp_path: Path) -> None:
    """Each number of such a joint has a unit of its own; a quaternion of few digits becomes one of length 1, so that
    its body stays as large as it is."""
    floating, ball = [f"six.q[{k}]" for k in range(7)], [f"ball.q[{k}]" for k in range(4)]
    row = "1,2,3,1,0,0,0,0.7071068,0.7071068,0,0,0.1"
    heads = [f"{floating[0]} [mm]", *floating[1:], *ball, "slide.q"]
    bench = Workbench(turning_joints())
    assert bench.go_through(bench.read_trajectory(table(tmp_path / "poses.csv", ",".join(heads), row))) == {}
    R = bench.poses["s:head"][0]
    assert R @ R.T == pytest.approx(np.eye(3), abs=1e-15)  # some roundings of products
    assert bench.poses["s:hull"][1].tolist() == [1e-3, 2.0, 3.0]
    for k, unit, allowed in ((0, "deg", "m"), (4, "m", "rad")):
        wrong = [f"{head} [{unit}]" if head == floating[k] else head for head in [*floating, *ball, "slide.q"]]
        with pytest.raises(ModelError, match=f"unit '{unit}'; allowed: a unit of {allowed}"):
            bench.read_trajectory(table(tmp_path / "poses.csv", ",".join(wrong), row))


def test_columns_that_are_left_out_say_nothing(tmp_path: Path) -> None:
    """They may lack numbers; a coordinate that is called as a channel is none of them."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("s")
    rows.body("b", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("v", "Ry", child="b")
    read = shiftjax.read_trajectory(
        table(tmp_path / "v.csv", "v [deg],energy.kinetic,b.velocity[0]", "30,nan,inf"), builder.build()
    )
    assert read.q["s:v"] == pytest.approx([np.pi / 6]) and read.notes == (
        "columns left out: energy.kinetic, b.velocity[0]",
    )


def test_a_table_of_a_run_is_read_with_what_its_loggers_write(tmp_path: Path) -> None:
    """A body that was asked for, and whose origin a logger of the file has, stands twice in it, at the same places."""
    channels = ["crank_pivot.q", "coupler.position", "coupler:origin.position", "coupler:origin.orientation"]
    run = shiftjax.simulate("four_bar", 0.02, 1e-3, output_step=0.01, channels=channels)
    read = shiftjax.read_trajectory(write(run, tmp_path / "run.csv"), "four_bar")
    assert read.count == 3 and np.array_equal(read.positions[COUPLER], run.channels["coupler.position"].reshape(-1, 3))
    assert Workbench("four_bar").go_through(read) == {}


def test_a_row_costs_what_its_own_numbers_do() -> None:
    """The goals of one pose are made of its numbers, not of those of the whole table."""
    bench = Workbench(turning_joints()).do("rotate", "hull", "y", 0.4).do("rotate", "head", "x", -0.3)
    read = bench.trajectory(["head"])
    for goal, every in zip(read.at(1), read.goals, strict=True):
        stated = [name for name in ("T", "R", "value") if getattr(every, name, None) is not None]
        assert stated and all(np.array_equal(getattr(goal, name), getattr(every, name)[1]) for name in stated)


def test_other_calls_that_are_refused(tmp_path: Path) -> None:
    bench = by_hand()
    read = bench.trajectory()
    file = read.write(tmp_path / "poses.csv")
    with pytest.raises(ModelError, match="something of that name"):
        read.write(file)
    assert read.write(file, force=True) == file
    with pytest.raises(ModelError, match="suffix"):
        read.write(tmp_path / "poses.txt")
    with pytest.raises(ModelError, match="0 to 4"):
        bench.go_to(read, 5)
    with pytest.raises(ModelError, match="bodies and frames"):
        bench.trajectory(["crank_pivot"])
    with pytest.raises(ModelError, match="a CSV file that can be read"):
        bench.read_trajectory(tmp_path / "none.csv")
    assert isinstance(bench.trajectory(["coupler"]).goals[-1], FrameGoal)
