"""A model, a result and a study at a prompt and in a notebook; a result as xarray, pandas and a plot."""

from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import shiftjax
from shiftjax import errors
from shiftjax.errors import ModelError
from shiftjax.markup import MOST_ROWS, html_table, text_table
from shiftjax.run.results import plotting
from shiftjax.viewer.study.study import ViewedStudy

TIP = "coupler:tip.T[0]"
CHANNELS = ["rocker_pivot.q", "crank:tip.position"]
LENGTHS = [0.3, 0.45, 0.6, 9.0]  # the last cannot be assembled


@pytest.fixture(scope="module")
def one() -> shiftjax.Result:
    return shiftjax.simulate("four_bar", 0.1, channels=CHANNELS)


@pytest.fixture(scope="module")
def many() -> shiftjax.Result:
    return shiftjax.simulate("four_bar", 0.1, channels=CHANNELS, vary={TIP: LENGTHS}, keep=2)


@pytest.fixture
def offscreen():
    """Figures of pyplot in memory, closed afterwards."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_a_model_is_one_line() -> None:
    model = shiftjax.load("four_bar")
    assert re.fullmatch(r"Model\(four_bar: 3 bodies, 4 joints, from .*four_bar.json\)", repr(model))
    assert repr(shiftjax.Model()) == "Model(unnamed: 0 bodies, 0 joints)"
    html = model._repr_html_()
    assert html.count("<tr>") == 2 + 3 + 4 and "<td>four_bar:crank</td><td>0.5</td>" in html
    assert len(repr(shiftjax.load("vehicle_chassis"))) < 200


def test_a_result_is_some_lines(one: shiftjax.Result, many: shiftjax.Result) -> None:
    lines = repr(one).splitlines()
    assert lines[0] == "Result of four_bar: ok" and "0.1 s, 1 ms, rk4" in lines[1]
    assert "  channel: crank:tip.position (11, 3) m" in lines
    lines = repr(many).splitlines()
    assert lines[0] == "Result of four_bar: 4 members, 3 ok, 1 not_assembled"
    assert "  varied: four_bar:coupler:tip.T[0] from 0.3 to 9 m" in lines and "  poses: 3 bodies of 2 members" in lines
    assert re.search(r"gap \S+ m \(member 3\)", repr(many)), "the one that stayed open"
    for result in (one, many):
        assert max(map(len, repr(result).splitlines())) <= 120 and len(repr(result).splitlines()) <= 10
        assert "np." not in repr(result) and repr(result).splitlines()[0] in result._repr_html_()


def test_a_result_shows_metrics_and_events() -> None:
    asked: dict[str, Any] = {
        "events": {"low": {"of": "pivot.q", "action": "stop"}},
        "metrics": {"when": "time_of(low)"},
    }
    lines = repr(shiftjax.simulate("pendulum", 2.0, 1e-2, **asked)).splitlines()
    assert "  metric: when 0.59196 s" in "\n".join(lines) and "  event: low 1 times, ended the run" in lines
    lines = repr(shiftjax.simulate("pendulum", 2.0, 1e-2, vary={"link.mass": [1.0, 2.0]}, **asked)).splitlines()
    assert "  event: low 2 times, ended 2 members" in lines
    assert any(re.fullmatch(r"  metric: when from 0\.5919\d* to 0\.5919\d* s", line) for line in lines)


def test_the_certificate_of_one_run_has_plain_numbers(one: shiftjax.Result) -> None:
    assert {type(value) for value in one.certificate.values()} == {int, float}
    assert "np." not in str(dict(one.certificate)) and one.certificate["steps"] == 100


def test_a_long_list_is_cut(many: shiftjax.Result) -> None:
    paths = {f"a:b{k}.mass": np.ones(4) for k in range(50)}
    lines = repr(dataclasses.replace(many, design=paths)).splitlines()
    assert "  varied: ... 44 more" in lines and len(lines) < 20
    table = html_table("<t>", ("a", "b"), [(k, "&") for k in range(MOST_ROWS + 7)])
    assert "&lt;t&gt;" in table and "&amp;" in table and "... 7 more" in table
    assert table.count("<tr>") == MOST_ROWS + 2
    assert text_table(("a", "b"), [("xx", "1"), ("y", "22")]) == ["a    b", "xx   1", "y   22"]


def test_a_study_is_one_line(many: shiftjax.Result, tmp_path: Path) -> None:
    shiftjax.store.write(many, tmp_path / "s.zarr")
    study = ViewedStudy.open(tmp_path / "s.zarr")
    assert repr(study) == f"Study({tmp_path / 's.zarr'}: four_bar, 4 members, 2 with poses at 11 instants)"
    html = study._repr_html_()
    assert "<td>varied</td><td>four_bar:coupler:tip.T[0]</td><td>m</td>" in html and "<td>gap</td><td>m</td>" in html


def test_to_xarray_is_what_is_stored_and_all_channels(many: shiftjax.Result, tmp_path: Path) -> None:
    tree = many.to_xarray()
    shiftjax.store.write(many, tmp_path / "s.zarr")
    stored = shiftjax.store.read(tmp_path / "s.zarr")
    for group in ("members", "trajectories", "log"):
        xr.testing.assert_equal(tree[group].to_dataset(), stored[group].to_dataset().load())
    every = tree["channels"].to_dataset()
    assert every.sizes["member"] == 4 and every["rocker_pivot.q"].attrs["units"] == "rad"
    np.testing.assert_array_equal(every["crank:tip.position"].values, many.channels["crank:tip.position"])
    assert many.to_xarray(keep="none")["trajectories"].sizes["member"] == 0


def test_to_xarray_of_one_run(one: shiftjax.Result) -> None:
    every = one.to_xarray()["channels"].to_dataset()
    np.testing.assert_array_equal(every["rocker_pivot.q"].sel(member=0).values, one.channels["rocker_pivot.q"])
    assert every["time"].attrs["units"] == "s"


def test_to_pandas_has_a_row_a_member(many: shiftjax.Result, one: shiftjax.Result) -> None:
    frame = many.to_pandas()
    assert frame.index.name == "member" and len(frame) == 4
    assert frame["status"].tolist() == ["ok", "ok", "ok", "not_assembled"]
    assert frame["four_bar:coupler:tip.T[0]"].tolist() == LENGTHS
    np.testing.assert_array_equal(frame["gap"], many.certificate["gap"])
    np.testing.assert_array_equal(frame["rocker_pivot.q end"], many.channels["rocker_pivot.q"][:, -1])
    np.testing.assert_array_equal(
        frame["crank:tip.position[2] largest"][:3], many.channels["crank:tip.position"][:3, :, 2].max(1)
    )
    assert np.isnan(frame["rocker_pivot.q smallest"][3])
    assert frame.attrs["units"]["crank:tip.position[0] end"] == "m" and frame.attrs["units"]["velocity_gap"] == "m/s"
    assert set(frame.attrs["units"]) == set(frame.columns) - {"status"}
    single = one.to_pandas()
    assert len(single) == 1 and single["status"].tolist() == ["ok"] and single["steps"].tolist() == [100]


@pytest.mark.usefixtures("offscreen")
def test_plot_draws_what_was_recorded(many: shiftjax.Result, one: shiftjax.Result) -> None:
    figure = many.plot("rocker_pivot.q")
    (panel,) = figure.axes
    assert panel.get_ylabel() == "[rad]" and panel.get_xlabel() == "time [s]" and len(panel.lines) == 4
    np.testing.assert_array_equal(panel.lines[1].get_ydata(), many.channels["rocker_pivot.q"][1])
    assert panel.lines[0].get_color() != pytest.approx(panel.lines[2].get_color())
    panels = one.plot().axes
    assert [panel.get_title() for panel in panels] == CHANNELS
    assert [text.get_text() for text in panels[1].get_legend().get_texts()] == ["[0]", "[1]", "[2]"]
    assert len(pickle.loads(pickle.dumps(figure)).axes) == 1


@pytest.mark.usefixtures("offscreen")
def test_plot_of_many_members_takes_some(monkeypatch: pytest.MonkeyPatch, many: shiftjax.Result) -> None:
    monkeypatch.setattr(plotting, "MOST_LINES", 2)
    (panel,) = many.plot("rocker_pivot.q").axes
    np.testing.assert_array_equal(panel.lines[1].get_ydata(), many.channels["rocker_pivot.q"][3])


def test_plot_says_what_it_lacks(many: shiftjax.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"found 'rocker_pivot.p'.*Did you mean 'rocker_pivot.q'"):
        many.plot("rocker_pivot.p")
    with pytest.raises(ModelError, match=r"Run with channels=\[...\]"):
        dataclasses.replace(many, channels={}).plot()
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"no matplotlib.*'\.\[plot\]'"):
        many.plot()


def test_a_document_holds_one_run(many: shiftjax.Result) -> None:
    with pytest.raises(ModelError, match="document: found a result with a member axis"):
        many.document()
