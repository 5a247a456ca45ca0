"""`shiftjax follow`, `travel`, `workspace` and `ik`: what they print and write, and how they end. S21, S31."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from tests.support.models.reaching_arms import arm, five_bar


def test_follow_prints_and_writes(shell, tmp_path: Path) -> None:
    table, store = tmp_path / "poses.csv", tmp_path / "poses.json"
    code, out, err = shell(
        "follow", "four_bar", "--drive", "crank_pivot=0deg:360deg:73", "--channel", "rocker_pivot.q",
        "--channel", "rocker_pivot.mobility", "--csv", str(table), "--out", str(store),
        "--metric", "swing=peak_to_peak(rocker_pivot.q)",
    )  # fmt: skip
    assert code == 0, err
    assert "73 poses by four_bar:crank_pivot.q" in out
    head, *rows = csv.reader(table.read_text().splitlines())
    assert head == ["four_bar:crank_pivot.q [rad]", "rocker_pivot.q [rad]", "rocker_pivot.mobility [1]"]
    values = np.array(rows, float)
    assert values.shape == (73, 3)
    line = next(line.split() for line in out.splitlines() if line.startswith("rocker_pivot.q"))
    assert [float(x) for x in line[3:5]] == pytest.approx([values[:, 1].min(), values[:, 1].max()], rel=1e-5)
    assert json.loads(store.read_text())["settings"]["parameter"] == "four_bar:crank_pivot.q"
    swing = next(line.split() for line in out.splitlines() if line.startswith("swing"))
    assert float(swing[1]) == pytest.approx(float(np.ptp(values[:, 1])), rel=1e-3)
    assert swing[2] == "rad"


def test_follow_says_where_a_joint_locks(shell) -> None:
    code, out, err = shell(
        "follow", "four_bar", "--drive", "rocker_pivot=85deg:160deg:30", "--channel", "crank_pivot.q"
    )
    assert code == 3
    assert "locks at 2.49809154" in err
    assert "locked" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drive", "crank_pivot=0:360"], "FROM:TO:COUNT"),
        ([], "no driven joint"),
        (["--drive", "crank=0:1:2"], "crank_pivot"),
    ],
)
def test_what_follow_refuses(shell, words: list[str], message: str) -> None:
    code, _, err = shell("follow", "four_bar", *words)
    assert (code, message in err) == (2, True)


def test_travel(shell) -> None:
    code, out, _ = shell("travel", "four_bar", "crank_pivot", "rocker_pivot")
    assert code == 0
    assert out.splitlines()[1].split()[2:4] == ["none", "none"]
    code, out, _ = shell("travel", "four_bar", "rocker_pivot", "--set", "coupler:tip.T[0]=0.52", "--json")
    (one,) = json.loads(out)
    assert (one["low"], one["high"]) == (pytest.approx(1.29636457, abs=1e-8), pytest.approx(2.44807167, abs=1e-8))


def test_workspace(shell, tmp_path: Path) -> None:
    """An arm of two joints on a grid, as text, as JSON and as a picture; and what is refused."""
    builder = shiftjax.ModelBuilder()
    arm, before = builder.assembly("arm"), "fixed"
    for k, length in enumerate((0.3, 0.2)):
        arm.body(f"link_{k}", frames={"tip": (length, 0.0, 0.0)})
        arm.joint(f"joint_{k}", "Rz", parent=before, child=f"link_{k}")
        before = (f"link_{k}", "tip")
    file, picture = tmp_path / "arm.json", tmp_path / "reach.png"
    shiftjax.save(builder.build(), file)
    box = ["--box=-520mm:0.51m", "--box=-0.53:0.52", "--points", "7"]
    code, out, err = shell("workspace", str(file), "link_1:tip", *box, "--picture", str(picture))
    assert code == 0, err
    assert "boundary  singular  arm:joint_0, arm:joint_1" in out
    area = float(next(line.split()[1] for line in out.splitlines() if line.startswith("area")))
    assert area == pytest.approx(4.0 * np.pi * 0.06, rel=1e-6)
    assert "of 49 points reached" in out
    assert picture.stat().st_size > 1000
    code, out, _ = shell("workspace", str(file), "link_1:tip.x", "link_1:tip.y", "--json")
    answer = json.loads(out)
    assert (code, answer["consistent"], len(answer["curves"])) == (0, True, 2)
    code, _, err = shell("workspace", str(file), "link_1:tip", "--box", "wide")
    assert (code, "LOW:HIGH" in err) == (2, True)
    for words, message in (
        (("--picture", str(picture)), "Use --force"),
        (("--picture", str(tmp_path / "reach.xyz")), "suffix '.xyz'"),
        (("--picture", str(tmp_path / "none" / "reach.png")), "no such folder"),
        (("--box=-1kg:1kg", "--box=-1:1", "--points", "3"), "kg"),
    ):
        code, out, err = shell("workspace", str(file), "link_1:tip", *words)
        assert (code, out, message in err) == (2, "", True), err
    code, _, err = shell("workspace", str(file), "link_1:tip.x", "joint_1", "--box=-1m:1m", "--box=0:9mm")
    assert (code, "a unit of rad" in err) == (2, True)


def test_goals_of_expressions_and_loops_that_open(shell, tmp_path: Path) -> None:
    """`--of` is the FunctionGoal of Python, `--open-loops` its `open_loops`; units and words are checked."""
    file = str(tmp_path / "arm.json")
    shiftjax.save(model := arm(1.0, 0.6), file)
    code, out, _ = shell("ik", file, "--of", "norm(fore:tip.position)=1200mm", "--posture", "shoulder=1", "--json")
    answer = json.loads(out)
    goals = [
        shiftjax.FunctionGoal("norm(fore:tip.position)", 1.2),
        shiftjax.JointGoal("shoulder", 1.0, level="posture"),
    ]
    known = shiftjax.inverse_kinematics(model, goals)
    assert code == 0 and answer["q"] == {path: x.tolist() for path, x in known.q.items()}
    assert abs(answer["q"]["arm:elbow"]) == pytest.approx(np.arccos((1.44 - 1.36) / 1.2), abs=1e-9)  # law of cosines
    for words, message in (
        ("norm(fore:tip.position)=30deg", "found unit 'deg'; allowed: a unit of m"),
        ("norm(fore:tip.position)", "EXPRESSION=VALUE"),
        ("elbow.q == 1", "EXPRESSION=VALUE"),
        ("elbow.v=1", "depends on speeds"),
        ("knee.q=1", "knee"),
    ):
        code, _, err = shell("ik", file, "--of", words)
        assert code == 2 and message in err, err
    code, out, _ = shell("ik", file, "--of", "sqrt(elbow.q - 9)=1")
    assert code == 3 and "sqrt(elbow.q - 9) [1] has no value here" in out and "begin where it has one" in out
    bars = str(tmp_path / "bars.json")
    shiftjax.save(five_bar(1.0, (0.8, 1.1), (0.7, 1.2)), bars)
    apart = ("ik", bars, "--set", "fixed:right.T[0]=5", "--joint", "left=0")  # 3.8 m of bars
    code, out, _ = shell(*apart, "--json", "--open-loops")
    assert code == 3 and json.loads(out)["gap"] == pytest.approx(1.2, abs=1e-9)
    assert "loops are open by 1.2" in shell(*apart, "--open-loops")[1]
    assert json.loads(shell(*apart, "--json")[1])["q"]["a:left"] is None
