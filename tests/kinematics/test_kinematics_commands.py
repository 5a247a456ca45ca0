"""`shiftjax follow` and `shiftjax travel`: what they print and write, and how they end. S21, S31."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest


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
