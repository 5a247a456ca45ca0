"""Studies as words: what a definition refuses and where, and which members it makes."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.constraints.drives import Harmonic, Table
from shiftjax.ensembles.study.definition import Definition, document, from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.sample import sample
from shiftjax.ensembles.study.spec import Vary, parse_vary
from shiftjax.errors import ModelError
from shiftjax.formats.files import load, save
from shiftjax.run.simulate import simulate
from tests.support.models.mechanisms import four_bars

RUN: dict[str, Any] = {"span": 0.1, "output_step": 0.05, "channels": ["rocker_pivot.q"]}
MANY_SECONDS = 20.0  # for 1e6 members of 6 paths, which take 0.5 s: a machine with others on it
PATHS = {f"{body}.mass": "0.9:1.1" for body in ("crank", "coupler", "rocker")}


def four(**more: Any) -> Definition:
    return Definition(**{"model": "four_bar", "span": 0.1, **more})


def test_a_study_is_pleasant_to_write_in_python() -> None:
    study = four(
        vary={"coupler.mass": np.linspace(1, 2, 3), "rocker.mass": Vary("rocker.mass", 1.0, 0.1, 0, "normal")},
        samples=np.int64(2),
        drive={"crank_pivot": Harmonic(amplitude=0.3, frequency=2.0)},
        keep=[3, 1],
        energy_limit=math.inf,
    )
    assert study.vary["coupler.mass"] == (1.0, 1.5, 2.0)
    assert [v.distribution for v in study.varied] == ["list", "normal"]
    assert study.kept.stated(6).tolist() == [1, 3]
    assert study.settings == {"span": 0.1, "energy_limit": math.inf}
    words = document(study)
    assert words["drive"] == {"crank_pivot": {"type": "harmonic", "rate": 0.0, "amplitude": 0.3, "frequency": 2.0,
                                              "phase": 0.0}}  # fmt: skip
    assert words["energy_limit"] == "inf" and from_document(words) == study
    assert hash(from_document(words)) == hash(study)


@pytest.mark.parametrize(
    ("more", "where", "match"),
    [
        ({"model": 3}, "model", "a library name"),
        ({"model": "for_bar"}, "model for_bar", "Did you mean 'four_bar'"),
        ({"span": -1}, "span", "positive number of seconds"),
        ({"span": "1 s"}, "span", "positive number of seconds"),
        ({"step": 0}, "step", "positive"),
        ({"output_step": math.nan}, "output_step", "positive"),
        ({"method": "rk5"}, "method", "rk4, euler"),
        ({"precision": "f16"}, "precision", "f64, f32"),
        ({"backend": 3}, "backend", "a text"),
        ({"samples": 0, "vary": {"crank.mass": "1:2"}}, "samples", "a whole number from 1"),
        ({"vary": {"crank.mass": "1:2"}}, "samples", "Say how many"),
        ({"samples": 4}, "samples", "grids only count"),
        ({"samples": True, "vary": {"crank.mass": "1:2"}}, "samples", "a whole number from 1"),
        ({"seed": -1}, "seed", "a whole number from 0"),
        ({"channels": "crank.q"}, "channels", "a list of paths"),
        ({"hold": [3]}, "hold", "a list of paths"),
        ({"strict_start": 1}, "strict_start", "true or false"),
        ({"gap_limit": 0}, "gap_limit", "a positive number, or inf"),
        ({"angle_limit": -math.inf}, "angle_limit", "a positive number, or inf"),
        ({"vary": ["crank.mass"]}, "vary", "a mapping"),
        ({"vary": {"crank.mass": 3}}, 'vary."crank.mass"', "one value to all members with set"),
        ({"vary": {"crank.mass": "1:2~sobl"}, "samples": 1}, 'vary."crank.mass"', "Did you mean 'sobol'"),
        ({"vary": {"crank.mass": "1deg:2deg"}, "samples": 1}, 'vary."crank.mass"', "a unit of kg"),
        ({"vary": {"crank.mas": "1:2"}, "samples": 1}, 'vary."crank.mas"', "crank.mass"),
        ({"vary": {"crnk.mass": "1:2"}, "samples": 1}, 'vary."crnk.mass"', "crank"),
        ({"vary": {"crank.mass": [1, 2], "four_bar:crank.mass": [1]}}, 'vary."four_bar:crank.mass"', "once"),
        ({"vary": {"crank.mass": [1, 2]}, "set": {"four_bar:crank.mass": 1}}, 'set."four_bar:crank.mass"', "once"),
        ({"vary": {"crank.mass": [1, 2]}, "set": {"crank.mass": 1}}, 'set."crank.mass"', "each number once"),
        ({"set": {"crank.mass": "800 mm"}}, 'set."crank.mass"', "a unit of kg"),
        ({"set": {"crank.mass": None}}, 'set."crank.mass"', "a finite number"),
        ({"set": {"crank.mass": -1}}, 'set."four_bar:crank.mass"', "mass"),
        ({"derive": {"crank.mass": 3}}, 'derive."crank.mass"', "a formula"),
        ({"derive": {"crank.mass": "2 * crank"}}, 'derive."four_bar:crank.mass"', "Is it a path"),
        ({"drive": {"crank_pivot": "harmonik(amplitude=1)"}}, "drive.crank_pivot", "Did you mean 'harmonic'"),
        ({"drive": {"crank_pivot": {"type": "harmonic", "amplitud": 1}}}, "drive.crank_pivot", "'amplitude'"),
        ({"drive": {"crank_pivot": {"type": "table", "times": 3, "values": [1]}}}, "drive.crank_pivot.times", "a list"),
        ({"drive": {"crank_pivot": "table(file=no_such.csv)"}}, "drive.crank_pivot.file", "a text file"),
        ({"drive": {"crank_pivot": lambda t: t}}, "drive.crank_pivot", "A study is stored as text"),
        ({"drive": {"crank_pivot": 3, "four_bar:crank_pivot": 3}}, "drive", "a joint twice"),
        ({"drive": {"crank_pivt": 3}}, "drive.crank_pivt", "crank_pivot"),
        ({"drive": {"crank_pivot": {"type": "table", "times": [1, 0], "values": [0, 0]}}},
         "drive.crank_pivot", "increasing"),
        ({"drive": {"crank_pivot": {"type": "table", "times": [0, 1], "values": [0, 0], "outside": "x"}}},
         "drive.crank_pivot.outside", "refuse, hold"),
        ({"switch": {"crank": []}}, "switch.crank", "true, false or"),
        ({"switch": {"crank": [True, True]}}, "switch.crank", "each state once"),
        ({"switch": {"crank.mass": [True]}}, 'switch."crank.mass"', "assemblies, bodies, joints"),
        ({"switch": {"crnk": [True]}}, "switch.crnk", "Did you mean 'crank'"),
        ({"switch": {"crank": [True], "four_bar:crank": [False]}}, 'switch."four_bar:crank"', "each element once"),
        ({"metrics": {"swing": 3}}, "metrics.swing", "a text, as"),
        ({"metrics": {"swing": {"over": "x"}}}, "metrics.swing.of", "what the metric is of"),
        ({"metrics": {"a/b": "mean(crank.q)"}}, 'metrics."a/b"', "without /"),
        ({"keep": "evry 10"}, "keep.members", "every 10"),
        ({"keep": -3}, "keep.members", "how many"),
        ({"keep": {"member": "all"}}, "keep.member", "Did you mean 'members'"),
        ({"keep": {"worst": {"metric": "swing"}}}, "keep.worst", "no count"),
        ({"keep": {"worst": {"metric": "swing", "count": 2}}}, "keep.worst.metric", "energy_error"),
        ({"keep": {"best": {"metric": "gap", "count": 2, "good": "big"}}}, "keep.best.good", "small, large"),
        ({"keep": {"largest": {"metric": "gap", "count": 2, "good": "large"}}}, "keep.largest.good", "metric, count"),
        ({"keep": {"smallest": {"metric": "swing", "count": 2}}}, "keep.smallest.metric", "energy_error"),
        ({"correlation": {"pair": []}}, "correlation.pair", "Did you mean 'pairs'"),
        ({"correlation": {"pairs": [["a", "b", 0.5]]}}, "correlation", "not drawn"),
        ({"table": "designs.txt"}, "table", ".csv, .parquet"),
        ({"table": "no_such.csv"}, "table", "relative to the study"),
        ({"channels": ["crnk_pivot.q"]}, "channels", "crank_pivot"),
        ({"hold": ["crnk_pivot"]}, "hold", "crank_pivot"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_key(more: dict[str, Any], where: str, match: str) -> None:
    with pytest.raises(ModelError) as found:
        designs(four(**more))
    assert found.value.where == where or found.value.where.startswith(f"{where}."), found.value.where
    assert match in str(found.value)


def test_unknown_keys_are_refused_with_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"sampels: found an unknown key; .*Did you mean 'samples'\?"):
        from_document({"model": "four_bar", "sampels": 3})
    with pytest.raises(ModelError, match=r"model: found nothing"):
        from_document({"span": 1.0})


WRONG = (3, -1.5, True, "x", "", [], [[]], {}, {"": 3}, [None], b"x", object(), math.nan, {"a": {"b": {}}}, (1, "2"))


@pytest.mark.parametrize("key", [name for name in Definition.__dataclass_fields__ if name not in ("folder", "_")])
def test_wrong_kinds_are_refused_by_name(key: str) -> None:
    """Whatever stands at a key, it is taken or refused with one error that begins with the key."""
    refused = 0
    for value in WRONG:
        try:
            Definition(**{"model": "four_bar", key: value})
        except ModelError as error:
            refused += 1
            assert error.where.partition(".")[0].partition("[")[0] in (key, "samples"), error
    assert refused > 5


def test_members_are_numbered_from_the_slowest_axis_to_the_fastest(tmp_path: Path) -> None:
    """Switches, rows of the table, grids, draws."""
    (tmp_path / "designs.csv").write_text("four_bar:crank.mass, rocker.mass\n1.0, 2.0\n1.1, 2.1\n")
    study = four(
        vary={"coupler.mass": "0.5:2", "crank.center_of_mass[0]": [0.1, 0.05]},
        samples=3,
        table="designs.csv",
        drive={"crank_pivot": 3},
        switch={"crank_pivot_drive": [False, True]},
        folder=tmp_path,
    )
    off, on = designs(study)
    assert (off.first, off.members, on.first, on.members) == (0, 12, 12, 12)
    assert [dict(group.switches) for group in (off, on)] == [{"four_bar:crank_pivot_drive": k} for k in (False, True)]
    assert [path for path, _ in off.model.drivers()] == []
    assert [path for path, _ in on.model.drivers()] == ["four_bar:crank_pivot_drive"]
    for group in (off, on):
        assert list(group.values) == [f"four_bar:{path}" for path in ("crank.mass", "rocker.mass", *study.vary)]
        crank, rocker, coupler, centre = group.values.values()
        assert crank.tolist() == [1.0] * 6 + [1.1] * 6 and rocker.tolist() == [2.0] * 6 + [2.1] * 6
        assert centre.tolist() == ([0.1] * 3 + [0.05] * 3) * 2
        assert len(set(coupler)) == 12 and (coupler == off.values["four_bar:coupler.mass"]).all()


def test_draws_are_those_of_the_command_line() -> None:
    words = {"coupler.mass": "0.5:2~sobol", "rocker.mass": "1:0.1~normal", "crank.mass": "700g:800g:2"}
    drawn = sample([parse_vary(f"{path}={text}") for path, text in words.items()], 8, 5)
    (group,) = designs(four(vary=words, samples=8, seed=5))
    for path, values in drawn.items():
        assert np.array_equal(group.values[f"four_bar:{path}"], values)
    assert group.values["four_bar:crank.mass"] == pytest.approx([0.7] * 8 + [0.8] * 8, rel=1e-15)  # kg, from g


def test_a_channel_of_a_body_is_that_of_its_origin() -> None:
    channels = ["coupler.position", "rocker.position"]
    on, off = designs(Definition("four_bar", channels=channels, switch={"rocker": [True, False]}))
    assert on.settings["channels"] == channels and off.settings["channels"] == ["coupler.position"]
    with pytest.raises(ModelError, match=r"channels.*'couplr'"):
        designs(Definition("four_bar", channels=["couplr.position"]))


def test_a_group_without_anything_that_varies_is_one_member() -> None:
    (group,) = designs(four(set={"crank.mass": 0.8}, hold=["crank_pivot"]))
    assert (group.members, group.values, group.settings) == (1, {}, {"span": 0.1, "hold": ["crank_pivot"]})
    assert simulate(group.model, vary=group.vary(), **group.settings).status.tolist() == [0]


def test_groups_run_as_simulate_does_with_the_same_words() -> None:
    """set, drive, derive and vary of a study are those of `simulate`, to the last bit."""
    study = four(
        **{**RUN, "vary": {"crank_pivot_drive.speed": [2, 3], "coupler.mass": [0.9, 1.0]}},
        set={"crank.mass": "900 g"},
        derive={"rocker.mass": "1.1 * {coupler.mass}"},
        drive={"crank_pivot": 1},
    )
    (group,) = designs(study)
    mine = simulate(group.model, vary=group.vary(), **group.settings)
    mass = np.array([0.9, 1.0, 0.9, 1.0])
    other = simulate(
        "four_bar",
        vary={"coupler.mass": mass, "rocker.mass": 1.1 * mass},
        drive={"crank_pivot": np.array([2.0, 2.0, 3.0, 3.0])},
        assign={"crank.mass": 0.9},
        **RUN,
    )
    assert mine.status.tolist() == [0] * 4 and mine.channels.keys() == other.channels.keys()
    assert np.array_equal(mine.channels["rocker_pivot.q"], other.channels["rocker_pivot.q"])
    part = simulate(group.model, vary=group.vary(1, 3), **group.settings)
    assert np.array_equal(part.channels["rocker_pivot.q"], mine.channels["rocker_pivot.q"][1:3])


def test_a_switched_assembly_makes_two_groups() -> None:
    """What it has is NaN in the designs of the group without it, and neither varied, recorded nor held there."""
    study = Definition(
        four_bars(2),
        vary={"bar1:coupler.mass": [1, 2], "bar0:coupler.mass": [3, 4]},
        span=0.05,
        switch={"bar1": [True, False]},
        channels=["bar0:pivot.q", "bar1:pivot.q"],
        hold=["bar1:pivot"],
        derive={"bar1:rocker.mass": "{bar1:coupler.mass}"},
        set={"bar1:crank.mass": 0.7},
        drive={"bar1:pivot": 2.0},
    )
    whole, half = designs(study)
    assert whole.absent == () and half.absent == ("bar1:coupler.mass",)
    assert np.isnan(half.values["bar1:coupler.mass"]).all() and list(half.vary()) == ["bar0:coupler.mass"]
    assert half.values["bar0:coupler.mass"].tolist() == [3, 4, 3, 4]
    assert whole.settings.keys() - half.settings.keys() == {"hold", "derive"}
    assert half.settings["channels"] == ["bar0:pivot.q"]
    assert len(list(whole.model.drivers())) == 1 and not list(half.model.drivers())
    assert whole.model.numbers()["bar1:crank.mass"] == 0.7
    result = simulate(half.model, vary=half.vary(), **half.settings)
    assert (result.status == 0).all() and result.report["joints"] == 4


@pytest.mark.parametrize("path", ["bar0:coupler", "bar0:joint"])
def test_bodies_and_joints_are_switched(path: str) -> None:
    """What touches them dangles, as where a file switches them off; a drive on a joint that is off goes with it."""
    study = Definition(four_bars(1), span=0.05, switch={path: [False, True]}, drive={"bar0:joint": "0.1"})
    off, on = designs(study)
    assert not list(off.model.drivers()) and len(list(on.model.drivers())) == 1
    assert path not in dict((*off.model.bodies(), *off.model.joints()))
    assert (len(off.model.dangling()) > 0) == (path == "bar0:coupler")
    assert simulate(off.model, vary=off.vary(), **off.settings).status.tolist() == [0]


def test_what_a_file_has_off_can_be_switched_on(tmp_path: Path) -> None:
    model = designs(Definition(four_bars(2), span=0.1, switch={"bar1": False}))[0].model
    save(model, tmp_path / "half.json")
    study = {"model": "half.json", "vary": {"bar1:crank.mass": [1, 2]}, "drive": {"bar1:pivot": 2.0}, "span": 0.1}
    (group,) = designs(from_document({**study, "switch": {"bar1": True}}, tmp_path))
    assert group.absent == () and [path for path, _ in group.model.drivers()] == ["bar1:pivot_drive"]
    with pytest.raises(ModelError, match="bar1"):
        designs(from_document(study, tmp_path))


def test_a_number_must_be_there_in_some_group() -> None:
    study = Definition(four_bars(2), vary={"bar1:crank.mass": [1, 2]}, span=0.1, switch={"bar1": False})
    with pytest.raises(ModelError, match=r'vary."bar1:crank.mass": found'):
        designs(study)


def test_a_switch_changes_no_design_and_groups_compare_one_to_one() -> None:
    words: dict[str, Any] = {"vary": {"coupler.mass": "1:2", "rocker.mass": "1:2~sobol"}, "samples": 5}
    (alone,) = designs(four(**words))
    groups = designs(four(**words, drive={"crank_pivot": 3}, switch={"crank_pivot_drive": [True, False]}))
    for group in groups:
        for path, values in alone.values.items():
            assert np.array_equal(group.values[path], values)


def test_too_many_models_are_refused() -> None:
    switch = {f"bar{k}": [True, False] for k in range(11)}
    with pytest.raises(ModelError, match="switch: found 2048 combinations; allowed: up to 1024"):
        designs(Definition(four_bars(11), span=0.1, switch=switch))


def test_tables_as_parquet_and_csv_say_the_same(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = {"coupler.mass": [0.1 + 0.2, 1.0], "crank:tip.T[0]": [0.15, 0.18]}
    parquet.write_table(pyarrow.table(values), tmp_path / "d.parquet")
    lines = ["coupler.mass,crank:tip.T[0]", *(f"{a!r},{b!r}" for a, b in zip(*values.values(), strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    quoted = ['"' + line.replace(",", '","') + '"' for line in lines]  # as some spreadsheets save it
    (tmp_path / "quoted.csv").write_text("\n".join(quoted) + "\n")
    for name in ("d.parquet", "d.csv", "quoted.csv"):
        (group,) = designs(four(table=name, folder=tmp_path))
        assert {path: column.tolist() for path, column in group.values.items()} == {
            f"four_bar:{path}": column for path, column in values.items()
        }


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "different paths"),
        ("coupler.mass\n", "without designs"),
        ("coupler.mass,\n1,2\n", "different paths"),
        ("coupler.mass,coupler.mass\n1,2\n", "different paths"),
        ("coupler.mass,crank.mass\n1,2\n3\n", "a number at every place"),
        ("coupler.mass\n1,2\n", "as many as there are names"),
        ("coupler.mass\none\n", "a number at every place"),
        ("coupler.mass\n1\nnan\n", "column 'coupler.mass', design 1"),
        ("coupler.mas\n1\n", "column 'coupler.mas'"),
        ("member,coupler.mass\n0,1\n", "column 'member'"),
    ],
)
def test_bad_tables_are_refused(text: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(ModelError, match=match) as found:
        designs(four(table="d.csv", folder=tmp_path))
    assert found.value.where.startswith("table")


def test_without_pyarrow_a_parquet_table_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.parquet").write_bytes(b"no")
    monkeypatch.setattr("shiftjax.ensembles.study.design_table.find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install pyarrow"):
        designs(four(table="d.parquet", folder=tmp_path))
    monkeypatch.undo()
    pytest.importorskip("pyarrow")
    with pytest.raises(ModelError, match="a Parquet file"):
        designs(four(table="d.parquet", folder=tmp_path))


def test_a_model_in_python_and_a_motion_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "cam.csv").write_text("0, 0\n1, 0.5\n2, 0\n")
    text = four(model=load("four_bar"), drive={"crank_pivot": "table(file=cam.csv, outside=hold)"}, folder=tmp_path)
    python = four(drive={"crank_pivot": Table([0.0, 1.0, 2.0], [0.0, 0.5, 0.0], outside="hold")})
    (one,), (other,) = designs(text), designs(python)
    assert one.model == other.model
    whole = from_document(document(text), tmp_path)
    assert designs(whole)[0].model == one.model


@pytest.mark.parametrize(
    ("words", "total", "kept"),
    [
        ("all", 3, [0, 1, 2]),
        ("none", 3, []),
        ("every 10", 25, [0, 10, 20]),
        ([7, 3, 3], 8, [3, 7]),
        (2, 5, [0, 4]),
        ({}, 3, [0, 1, 2]),
        ({"worst": {"metric": "gap", "count": 2}}, 3, []),
    ],
)
def test_what_is_kept(words: Any, total: int, kept: list[int]) -> None:
    assert four(keep=words).kept.stated(total).tolist() == kept


def test_kept_members_must_be_there() -> None:
    with pytest.raises(ModelError, match="member 9; allowed: members 0 to 4"):
        four(keep=[1, 9]).kept.stated(5)
    extremes = four(keep={"best": [{"metric": "gap", "count": 2}], "members": 3}).kept
    for words, said in (
        ([], "no members"),
        ("none", "no members"),
        ([2, 5], "members 2, 5"),
        ("every 1", "all members"),
    ):
        assert four(keep=words).kept.text() == said
    assert extremes.text() == "3 members, spread evenly; the 2 best of gap (small is good)"
    assert four(keep="largest:3:gap").kept.text() == "no members; the 3 largest of gap"


def test_a_million_members_take_seconds() -> None:
    vary = {**PATHS, "coupler.inertia.Izz": "1:0.1~normal~sobol", "rocker.inertia.Izz": "1:3~sobol"}
    vary["crank.inertia.Izz"] = "1:2:3~triangular"
    begun = time.perf_counter()
    (group,) = designs(four(vary=vary, samples=10**6, correlation={"pairs": [["coupler.mass", "rocker.mass", 0.5]]}))
    assert time.perf_counter() - begun < MANY_SECONDS
    assert group.members == 10**6 and len(group.values) == 6
