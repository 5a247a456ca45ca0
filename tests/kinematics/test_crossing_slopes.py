"""Slopes of poses at which curves meet, by numbers that keep them, and numbers that take them away. Rows 5, 19, 20 of
kinematics."""

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from tests.support.models.flat_linkages import BASE, PARALLELOGRAM
from tests.support.models.planar_four_bars import four_bar

EXACT = 1e-9
CRANK, COUPLER, ROCKER = (f"bar:{name}:tip.T[0]" for name in ("crank", "coupler", "rocker"))
FAR, ASIDE = "fixed:d.T[0]", "fixed:d.T[1]"


def test_a_parallelogram_lies_flat_along_its_ground() -> None:
    """Where the ground turns by dy / d; whatever keeps opposite sides alike keeps it, one side alone takes it away."""
    wanted = {
        "arms": {CRANK: 1.0, ROCKER: 1.0},
        "bases": {COUPLER: 1.0, FAR: 1.0},
        "turned": {ASIDE: 1.0},
        "one arm": {"crank:tip.T[0]": 1.0},
    }
    way = {"crank_pivot": np.linspace(-1.0, 4.0, 60)}
    for one in shiftjax.singularities(PARALLELOGRAM, way, slopes=wanted):
        assert one.kind == "crossing" and one.removed_by == ("one arm",)
        assert one.slopes["arms"] == pytest.approx(0.0, abs=EXACT)
        assert one.slopes["bases"] == pytest.approx(0.0, abs=EXACT)
        assert one.slopes["turned"] == pytest.approx(1.0 / BASE, rel=EXACT)
        assert np.isnan(one.slopes["one arm"])


def test_it_goes_as_it_is_met_with_other_numbers() -> None:
    """Of a parallelogram whose ground is really turned, by `assign` or by another model: it was that of the file."""
    way = {"crank_pivot": np.linspace(-1.0, 1.0, 41)}
    (one,) = shiftjax.singularities(PARALLELOGRAM, way, slopes=[ASIDE])
    h = 1e-3
    tilt = np.arctan2(h, np.sqrt(BASE**2 - h * h))
    assert one.slopes[ASIDE] * h == pytest.approx(tilt, rel=1e-6)
    turned = {ASIDE: h, FAR: float(np.sqrt(BASE**2 - h * h))}
    across = {"turning": {ASIDE: np.cos(tilt), FAR: -np.sin(tilt)}, "aside": {ASIDE: 1.0}}
    for model, assign in ((PARALLELOGRAM.replace(turned), None), (PARALLELOGRAM, turned)):
        (other,) = shiftjax.singularities(model, way, assign=assign, slopes=across)
        assert other.parameter == pytest.approx(tilt, abs=1e-11)
        assert other.slopes["turning"] == pytest.approx(1.0 / BASE, rel=EXACT)
        assert other.removed_by == ("aside",)  # there it makes the ground longer, too


def test_a_change_point_linkage_has_both_kinds() -> None:
    """5-4-3-6: at 0 a crossing while a + b = c + d; its end, cos = (a^2 + d^2 - (b + c)^2) / 2 a d, moves with all."""
    lengths = np.array([5.0, 4.0, 3.0, 6.0])
    paths = [CRANK, COUPLER, ROCKER, FAR]
    wanted = {path: {path: 1.0} for path in paths} | {"alike": {CRANK: 1.0, FAR: 1.0}, "turned": {ASIDE: 1.0}}
    crossing, end = shiftjax.singularities(
        four_bar((5.0, 4.0, 3.0, 6.0), 0.7), {"crank_pivot": np.linspace(0.7, -1.5, 45)}, slopes=wanted
    )
    assert crossing.removed_by == tuple(paths)
    assert all(np.isnan(crossing.slopes[path]) for path in paths)
    assert crossing.slopes["alike"] == pytest.approx(0.0, abs=EXACT)
    assert crossing.slopes["turned"] == pytest.approx(1.0 / 6.0, rel=EXACT)
    for path, e in zip(paths, np.eye(4), strict=True):
        a, b, c, d = lengths + 1e-40j * e
        exact = np.imag(-np.arccos((a * a + d * d - (b + c) ** 2) / (2.0 * a * d))) / 1e-40
        assert end.slopes[path] == pytest.approx(exact, abs=EXACT)
    assert end.slopes["turned"] == pytest.approx(1.0 / 6.0, rel=EXACT) and end.removed_by == ()


def test_what_is_no_direction_is_refused() -> None:
    way = {"crank_pivot": np.linspace(-1.0, 1.0, 21)}
    with pytest.raises(ModelError, match="how fast it goes"):
        shiftjax.singularities(PARALLELOGRAM, way, slopes={CRANK: 1.0})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match=r"crank:tip\.T"):
        shiftjax.singularities(PARALLELOGRAM, way, slopes=["crank:tip.T"])
    with pytest.raises(ModelError, match="a list of paths"):
        shiftjax.singularities(PARALLELOGRAM, way, slopes=CRANK)
