"""Members that no other one beats: of points against every pair of them, as a choice in words, and what is refused."""

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.members import pareto
from shiftjax.viewer.members.choice import Choices

MEMBERS = 900
FEW_VALUES = 6  # so that many points are equal, or equal in some objectives


def by_pairs(points: np.ndarray) -> np.ndarray:
    """(n,) bool, by comparing each with each."""
    known = points[~np.isnan(points).any(1)]
    beaten = [bool(((known <= one).all(1) & (known < one).any(1)).any()) for one in points]
    return ~np.array(beaten, bool) & ~np.isnan(points).any(1)


def cloud(kind: str, count: int, objectives: int, rng: np.random.Generator) -> np.ndarray:
    """Points (count, objectives)."""
    points = rng.normal(size=(count, objectives))
    if kind == "grid":
        return rng.integers(0, FEW_VALUES, points.shape).astype(float)
    if kind == "sphere":  # all are in
        return -np.abs(points) / np.linalg.norm(points, axis=1)[:, None]
    if kind == "contrary":
        return points[:, :1] * np.where(np.arange(objectives) % 2, -1.0, 1.0) + 0.1 * points
    if kind == "gaps":
        points = rng.integers(0, FEW_VALUES, points.shape).astype(float)
        for value in (np.nan, np.inf, -np.inf):
            points[rng.random(points.shape) < 0.05] = value
    return points


@pytest.mark.parametrize("kind", ["normal", "grid", "sphere", "contrary", "gaps"])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
def test_the_front_is_that_of_every_pair(kind: str, objectives: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(objectives)
    for count in (0, 1, 2, 60, 700):
        points = cloud(kind, count, objectives, rng)
        expected = by_pairs(points)
        np.testing.assert_array_equal(pareto.nondominated(points), expected)
        monkeypatch.setattr(pareto, "FEW", 10)  # some are thrown out first
        monkeypatch.setattr(pareto, "STRETCH", 7)
        np.testing.assert_array_equal(pareto.nondominated(points), expected)
        monkeypatch.undo()


@pytest.fixture(scope="module")
def choices() -> Choices:
    rng = np.random.default_rng(5)
    columns = {name: rng.normal(size=MEMBERS) for name in ("car:swing", "torque", "power")}
    columns["torque"][rng.random(MEMBERS) < 0.1] = np.nan
    columns["status"] = np.where(rng.random(MEMBERS) < 0.2, 2, 0)
    columns["car:swing"][columns["status"] > 0] -= 100.0  # the best, if they had not failed
    columns["gap[0,1]"], columns["pivot_ratio"] = rng.normal(size=MEMBERS), rng.normal(size=MEMBERS)
    return Choices(MEMBERS, np.arange(0, MEMBERS, 3), columns, {"power": "large"})


@pytest.mark.parametrize(
    ("text", "small", "among"),
    [
        ("pareto(swing, torque)", {"car:swing": 1, "torque": 1}, None),
        ("pareto(car:swing,-torque)", {"car:swing": 1, "torque": -1}, None),
        ("pareto( swing , power )", {"car:swing": 1, "power": -1}, None),
        ("pareto(swing, +power, gap[0,1])", {"car:swing": 1, "power": 1, "gap[0,1]": 1}, None),
        ("pareto(pivot_ratio, -power)", {"pivot_ratio": -1, "power": -1}, None),
        ("pareto(2 * swing, `torque`)", {"car:swing": 1, "torque": 1}, None),
        ("pareto(power)", {"power": -1}, None),
        ("pareto(swing, torque) of kept", {"car:swing": 1, "torque": 1}, "kept"),
        ("pareto(swing, torque) of power > 0 and not kept", {"car:swing": 1, "torque": 1}, "power > 0 and not kept"),
    ],
)
def test_a_front_in_words(text: str, small: dict[str, int], among: str | None, choices: Choices) -> None:
    """Failed members and those without a number are neither in it nor beat anybody."""
    points = np.stack([sign * choices.columns[name] for name, sign in small.items()], axis=1)
    points[choices.columns["status"] > 0] = np.nan
    if among is not None:
        points[~np.isin(np.arange(MEMBERS), choices.choose(among))] = np.nan
    assert choices.choose(text).tolist() == np.flatnonzero(by_pairs(points)).tolist() != []


def test_a_front_is_part_of_a_query(choices: Choices) -> None:
    front, kept = set(choices.choose("pareto(swing, torque)")), set(choices.choose("kept"))
    assert set(choices.choose("pareto(swing, torque) and not kept")) == front - kept
    assert set(choices.choose("kept or pareto(swing, torque)")) == front | kept
    assert set(choices.choose("(pareto(swing, torque) of not kept) or kept")) >= kept
    assert choices.choose("smallest:1:swing of pareto(swing, torque)").tolist() == [
        min(front, key=lambda k: choices.columns["car:swing"][k])
    ]


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("pareto(swing, torque)", ["car:swing", "torque"]),
        ("pareto(power, pivot_ratio)", []),
        ("pareto(-swing, +torque, 2 * swing)", []),
        ("kept and pareto((swing + torque), torque)", ["torque"]),
        ("swing > 1", []),
    ],
)
def test_what_a_front_takes_as_good_is_said(text: str, assumed: list[str], choices: Choices) -> None:
    words = choices.assumed(text)
    assert words.startswith(f"small {' and '.join(assumed)} is taken as good") if assumed else not words


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("pareto()", "found '\\)'; allowed: a name or a number"),
        ("pareto(swing torque)", "found 'torque'; allowed: a comma, or a closing bracket"),
        ("pareto(swing", "found its end; allowed: a comma, or a closing bracket"),
        ("pareto(swing, kept)", "numbers beside"),
        ("pareto(swing, sving)", "Did you mean 'swing'|'sving'"),
        ("pareto(swing) of", "found its end; allowed: a name or a number"),
        ("pareto(swing) of power", "found its end; allowed: a comparison"),
        ("pareto(swing) < 1", "numbers at both sides"),
        ("pareto", "A query compares"),
    ],
)
def test_refused_fronts(text: str, match: str, choices: Choices) -> None:
    with pytest.raises(ModelError, match=match):
        choices.choose(text)
