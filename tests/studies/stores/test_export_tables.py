"""`shiftjax export` of tables and NetCDF: what is read back is what the store holds, and nothing is lost on the way."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftjax.cli import main
from shiftjax.ensembles.store import store, tables
from shiftjax.ensembles.store.members import members_of
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from tests.studies.stores.test_store import made_up
from tests.support.study_stores import with_metrics, written

SWING = np.array([0.1, np.nan, 1.0 / 3.0, 1e-300, -2.0])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = with_metrics(made_up(), {"swing": (SWING, "rad", "peak_to_peak(hinge.q)")})
    return written(tree, tmp_path_factory.mktemp("study") / "bars.zarr")


def test_csv_has_every_number_with_all_digits_and_units_in_the_head(study: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    assert main(["export", str(study), "--csv", str(target)]) == 0
    with target.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    members = members_of(store.read(study))
    assert [int(row["member"]) for row in rows] == members.numbers.tolist()
    assert [Outcome[row["status"]] for row in rows] == members.status.tolist()
    assert [row["message"] for row in rows] == members.messages.tolist()
    for column in members.columns:
        found = np.array([float(row[f"{column.name} [{column.unit}]"]) for row in rows])
        np.testing.assert_array_equal(found, column.values)
    assert list(rows[0])[:3] == ["member", "pendulum:rod.mass [kg]", "swing [rad]"]


def test_pieces_make_one_table(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    tree = store.read(study)
    whole = [tables.export(tree, tmp_path / f"whole{suffix}") for suffix in (".csv", ".parquet")]
    monkeypatch.setattr(tables, "PIECE", 2)
    pieces = [tables.export(tree, tmp_path / f"pieces{suffix}") for suffix in (".csv", ".parquet")]
    assert whole[0].read_bytes() == pieces[0].read_bytes()
    one, other = parquet.read_table(whole[1]), parquet.read_table(pieces[1])
    assert one.schema.equals(other.schema, check_metadata=True)
    for name in one.column_names:
        np.testing.assert_array_equal(one[name].to_pylist(), other[name].to_pylist())


def test_parquet_has_units_roles_and_the_model_in_its_metadata(study: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    target = tmp_path / "t.parquet"
    assert main(["export", str(study), "--parquet", str(target)]) == 0
    table, tree = parquet.read_table(target), store.read(study)
    members = members_of(tree)
    assert table["status"].to_pylist() == [Outcome(s).name for s in members.status.tolist()]
    assert table["member"].to_pylist() == members.numbers.tolist()
    for column in members.columns:
        np.testing.assert_array_equal(table[column.name].to_numpy(), column.values)
        about = table.schema.field(column.name).metadata
        found = tuple(about[key].decode() for key in (b"units", b"role", b"metric"))
        assert found == (column.unit, column.role, column.about)
    assert json.loads(table.schema.metadata[b"model"]) == json.loads(tree.attrs["model"])


def by_path(dataset: xr.Dataset) -> dict[str, xr.DataArray]:
    """Variables by their names and by their paths; NetCDF has no names of more than 256 bytes."""
    found = {str(name): dataset[name] for name in dataset.variables}
    return found | {str(one.attrs["path"]): one for one in found.values() if "path" in one.attrs}


def test_netcdf_is_the_whole_store(study: Path, tmp_path: Path) -> None:
    pytest.importorskip("netCDF4")
    target = tmp_path / "t.nc"
    assert main(["export", str(study), "--netcdf", str(target)]) == 0
    tree = store.read(study)
    with xr.open_datatree(target, engine="netcdf4") as found:
        assert found.attrs == tree.attrs
        assert set(found.groups) == set(tree.groups)
        for node in tree.subtree:
            ours, theirs = node.to_dataset(), by_path(found[node.path].to_dataset())
            assert {str(name) for name in ours.variables} <= theirs.keys()
            for name, variable in ours.variables.items():
                np.testing.assert_array_equal(theirs[str(name)].values, variable.values)
                assert theirs[str(name)].attrs["units"] == variable.attrs["units"], name


def test_another_library_reads_the_netcdf(study: Path, tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    target = tables.export(store.read(study), tmp_path / "t.nc")
    with netcdf.Dataset(target) as found:
        np.testing.assert_array_equal(np.asarray(found["members"]["swing"][:]), SWING)
        assert found["members"]["swing"].units == "rad"
        assert json.loads(found.model) == json.loads(store.read(study).attrs["model"])


def test_several_at_once_and_nothing_is_overwritten(study: Path, tmp_path: Path, capsys) -> None:
    first = tmp_path / "t.csv"
    first.write_text("mine")
    assert main(["export", str(study), "--csv", str(first)]) == 2
    assert "--force" in capsys.readouterr().err and first.read_text() == "mine"
    assert main(["export", str(study), "--csv", str(first), "--force"]) == 0
    assert first.read_text().startswith("member,")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"], "no draft is left"


def test_a_table_that_cannot_be_written_leaves_the_old_one(study: Path, tmp_path: Path, monkeypatch) -> None:
    target = tables.export(store.read(study), tmp_path / "t.csv")
    before = target.read_bytes()

    def broken(every: list[tables.TableField]):
        yield [np.zeros(1)] * len(every)
        raise OSError("no space left on device")

    monkeypatch.setattr(tables, "pieces", broken)
    with pytest.raises(OSError, match="no space"):
        tables.export(store.read(study), target, force=True)
    assert target.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_wrong_places_are_refused(study: Path, tmp_path: Path, capsys) -> None:
    for words, said in (
        (["--csv", str(tmp_path / "t.txt")], ".csv"),
        (["--netcdf", str(tmp_path / "no" / "t.nc")], "no such folder"),
        ([], "no file to write"),
    ):
        assert main(["export", str(study), *words]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(ModelError, match="suffix"):
        tables.export(store.read(study), tmp_path / "t.xls")


@pytest.mark.parametrize(
    ("package", "option", "code"), [("PIL", "t.csv", 0), ("pyarrow", "t.parquet", 2), ("netCDF4", "t.nc", 2)]
)
def test_tables_need_nothing_of_the_viewer(study: Path, tmp_path: Path, package: str, option: str, code: int) -> None:
    """And what is missing is named with its cure."""
    flag = {"csv": "--csv", "parquet": "--parquet", "nc": "--netcdf"}[option.rpartition(".")[2]]
    words = ["export", str(study), flag, str(tmp_path / option)]
    text = f"import sys\nsys.modules[{package!r}] = None\nfrom shiftjax.cli import main\nsys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / option).exists() == (code == 0)
    assert code == 0 or (package in done.stderr and ".[report]" in done.stderr)


def test_the_viewer_s_part_names_its_packages(study: Path, tmp_path: Path) -> None:
    words = ["export", str(study), "--glb", str(tmp_path / "a.glb")]
    text = f"import sys\nsys.modules['PIL'] = None\nfrom shiftjax.cli import main\nsys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "PIL" in done.stderr and ".[viewer]" in done.stderr
