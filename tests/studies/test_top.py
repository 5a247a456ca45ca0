"""`shiftjax top`: the right members in the right order, and never one that failed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.store.top import top
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from tests.studies.stores.test_store import made_up
from tests.support.study_stores import with_metrics, written

SWING = [3.0, 99.0, 1.0, np.nan, 3.0]  # member 1 failed
MASS = "pendulum:rod.mass"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = with_metrics(made_up(), {"swing": (np.array(SWING), "rad", "peak_to_peak(hinge.q)")})
    return written(tree, tmp_path_factory.mktemp("study") / "bars.zarr")


def test_an_expression_has_the_unit_that_its_parts_give_it(study: Path) -> None:
    members = members_of(store.read(study))
    units = {
        "{swing} - 2 * {swing}": "rad",
        "abs({rod.mass}) / 3": "kg",
        "pi * 2 * {swing}": "rad",
        "{swing} / {swing}": "1",
        "sin({swing})": "1",
        "{swing} / {rod.mass}": "mixed",
        "{swing} + {rod.mass}": "mixed",
    }
    assert {text: top(members, text).column.unit for text in units} == units


def test_largest_first_equal_ones_by_number_and_none_that_failed(study: Path) -> None:
    members = members_of(store.read(study))
    found = top(members, "swing")
    assert found.rows.tolist() == [0, 4, 2] and (found.failed, found.unknown) == (1, 1)
    assert top(members, "swing", 2, "smallest").rows.tolist() == [2, 0]
    assert members.status[1] == Outcome.not_assembled


def test_the_end_of_a_path_suffices_and_figures_have_a_worst_end(study: Path) -> None:
    members = members_of(store.read(study))
    assert top(members, "rod.mass").column.name == MASS
    assert top(members, "gap", 9, "worst").end == "largest"
    worst = top(members, "pivot_ratio", 1, "worst")
    finished = members.finished
    assert worst.end == "smallest" and worst.column.values[worst.rows[0]] == worst.column.values[finished].min()
    judged = top(members, "swing", 3, "worst")
    assert judged.end == "largest" and "small swing is taken as good" in judged.note


def test_expressions_of_columns(study: Path) -> None:
    members = members_of(store.read(study))
    found = top(members, "abs({swing} - 2) / {rod.mass}", 3)
    mass = members.column(MASS, "").values
    np.testing.assert_array_equal(found.column.values, np.abs(np.array(SWING) - 2.0) / mass)
    assert found.rows.tolist() == sorted([0, 2, 4], key=lambda k: (-found.column.values[k], k))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("swong", "swing"),
        ("{swong} * 2", "swing"),
        ("{swing}.real", "allowed"),
        ("1 + {", "allowed"),
    ],
)
def test_what_is_no_column_is_refused(study: Path, text: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        top(members_of(store.read(study)), text)


def test_no_finite_value_is_an_error(study: Path) -> None:
    with pytest.raises(ModelError, match="no finished member"):
        top(members_of(store.read(study)), "log({swing} - 1000)")


def test_the_command_prints_members_with_design_metric_and_status(study: Path, capsys) -> None:
    assert main(["top", str(study), "swing", "-n", "2"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "largest swing of 5 members"
    assert "swing [rad]" in lines[2] and f"{MASS} [kg]" in lines[2] and "status" in lines[2]
    assert [line.split()[0] for line in lines[3:]] == ["0", "4"] and all(line.endswith("ok") for line in lines[3:])
    assert "left out: 1 that failed and 1 without a finite value" in err


def test_the_command_as_json(study: Path, capsys) -> None:
    assert main(["top", str(study), "swing", "--smallest", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["member"] for one in found["members"]] == [2, 0, 4]
    assert found["members"][0]["value"] == 1.0 and found["units"]["swing"] == "rad"
    assert (found["end"], found["failed"], found["unknown"]) == ("smallest", 1, 1)


def test_the_command_refuses_what_is_wrong(study: Path, capsys) -> None:
    for words in (["swing", "-n", "0"], ["swing", "--largest", "--smallest"], ["nothing"]):
        assert main(["top", str(study), *words]) == 2
        capsys.readouterr()


def test_what_follows_from_the_design_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A length varies, and a mass by an expression of the file: both are stored, the list has the length."""
    builder = ModelBuilder()
    builder.parameter("L", 0.8, unit="length")
    bar = builder.assembly("a").body("rod", mass="2 * L", center_of_mass=(0, 0, "L / 2"), inertia=(0.1, 0.1, 0.1))
    bar.joint("pivot", "Rx", child="rod", initial_displacement=1.0)
    result = simulate(builder.build(), 0.01, vary={"L": [0.6, 1.0]}, metrics={"end": "final(pivot.q)"})
    path = tmp_path / "rods.zarr"
    store.write(result, path)
    columns = {column.name: column.follows for column in members_of(store.read(path)).design}
    assert columns == {"parameters.L": False, "a:rod.mass": True, "a:rod.center_of_mass[2]": True}
    assert main(["top", str(path), "end"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == "member end [rad] parameters.L [m] status".split()
