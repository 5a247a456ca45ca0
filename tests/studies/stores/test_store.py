"""What is written is read back: every number, name and unit; and nothing of the user's is ever lost."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftjax.ensembles.store import store
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.outcome import Outcome
from shiftjax.run.results.labelled import MESSAGES, chunks, to_tree
from shiftjax.run.results.log_table import LINES, entries
from shiftjax.run.results.result import CERTIFICATE, Result, members_to_keep

MEMBERS, INSTANTS = 5, 4
LINE = {"time": 0.3, "member": 2, "substructure": 0, "old": ["a"], "new": ["b"]}
LOG_AXES = ("line", "set", "place", "entry")
LONG = "a" * 300 + ":b.q"
CHANNELS = {
    "pendulum:hinge.q": ((), "rad"),
    "pendulum:rod:tip.position": ((3,), "m"),
    "energy.total": ((), "J"),
    "odd/name:`a=b`.v": ((), "rad/s"),
    LONG: ((), "rad"),
    "PENDULUM:hinge.q": ((), "rad"),  # differs from the first in capitals only
}


def groups(tree: xr.DataTree) -> tuple[xr.Dataset, xr.Dataset]:
    return tree["members"].to_dataset(), tree["trajectories"].to_dataset()


def made_up(members: int | None = MEMBERS, kept: tuple[int, ...] = (0, 2, 4)) -> Result:
    """A result of random numbers; without `members`, of one run."""
    rng = np.random.default_rng(7)
    batch = () if members is None else (members,)
    stored = () if members is None else (len(kept),)
    channels = {path: rng.normal(size=(*batch, INSTANTS, *shape)) for path, (shape, _) in CHANNELS.items()}
    status = np.zeros(batch, np.int64)
    messages = [""] * (members or 1)
    if members:
        status[1], messages[1] = Outcome.not_assembled, "loop 1 stays open by 0.3 m at joint b"
        channels["energy.total"][1] = np.nan
    return Result(
        time=np.linspace(0.0, 1.5, INSTANTS),
        channels=channels,
        units={path: unit for path, (_, unit) in CHANNELS.items()} | {"pendulum:rod.mass": "kg"},
        certificate={name: np.abs(rng.normal(size=batch)) for name in CERTIFICATE},
        status=status,
        messages=tuple(messages),
        poses={body: rng.normal(size=(*stored, INSTANTS, 7)) for body in ("pendulum:rod", "pendulum:bob")},
        kept=np.array(kept if members else (0,)),
        design={"pendulum:rod.mass": rng.uniform(size=batch)} if members else {},
        model=load("pendulum"),
        report={"bodies": 1, "dof": 1, "substructures": []},
        settings={"span": 1.5, "step": 1e-3, "method": "rk4"},
        log=(LINE,),
        programs=2,
        compile_s=0.25,
        wall_s=0.5,
    )


def test_a_store_gives_back_every_number(tmp_path: Path) -> None:
    result = made_up()
    tree = store.read(store.write(result, tmp_path / "study.zarr"))
    members, kept = groups(tree)
    np.testing.assert_array_equal(members["pendulum:rod.mass"], result.design["pendulum:rod.mass"])
    np.testing.assert_array_equal(members["status"], result.status)
    assert list(members["message"].values) == list(result.messages)
    for name, values in result.certificate.items():
        np.testing.assert_array_equal(members[name], values)
    np.testing.assert_array_equal(kept["member"], result.kept)
    np.testing.assert_array_equal(kept["time"], result.time)
    for path, values in result.channels.items():
        stored = kept[next(n for n, v in kept.variables.items() if v.attrs.get("path") == path)]
        np.testing.assert_array_equal(stored, values[result.kept])
        assert stored.dims[:2] == ("member", "time")
        assert stored.attrs["units"] == CHANNELS[path][1]
        assert stored.name == path or "/" in path
    for body, pose in result.poses.items():
        np.testing.assert_array_equal(kept["pose"].sel(body=body), pose)


def test_the_root_holds_the_model_the_report_and_the_settings(tmp_path: Path) -> None:
    result = made_up()
    about = store.read(store.write(result, tmp_path / "study.zarr")).attrs
    assert json.loads(about["model"]) == json.loads(json.dumps(to_dict(result.model)))
    assert json.loads(about["report"]) == result.report
    assert json.loads(about["settings"]) == result.settings
    assert about["model_source"] == result.model.source
    assert (about["programs"], about["compile_s"], about["wall_s"]) == (2, 0.25, 0.5)
    assert load(json.loads(about["model"])).numbers() == result.model.numbers()


LOGS = {
    "empty": (),
    "one": (LINE,),
    "several": (
        LINE,
        {"time": 0.5, "member": 4, "substructure": 1, "old": ["c[0]", "c[1]"], "new": ["a", "c[1]"]},
        {"time": 0.7, "member": 2, "substructure": 1, "old": [], "new": ["b"]},
    ),
    "with Jacobians": (
        LINE | {"jacobian": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]},
        LINE | {"jacobian": [[7.0], [8.0], [9.0]]},
        LINE | {"member": 4, "jacobian": [[0.5]]},
    ),
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_the_log_comes_back_whole_and_by_member(tmp_path: Path, log: tuple[dict[str, Any], ...]) -> None:
    result = dataclasses.replace(made_up(), log=log)
    tree = store.read(store.write(result, tmp_path / "study.zarr"))
    assert entries(tree) == list(log)
    for member in range(MEMBERS):
        assert entries(tree, member) == [entry for entry in log if entry["member"] == member]
    for name, variable in tree["log"].variables.items():
        assert variable.attrs["units"] == ("s" if name == "time" else "1"), name
    alone = dataclasses.replace(made_up(None), log=log)
    assert entries(store.read(store.write(alone, tmp_path / "run.json"))) == list(log)


def test_a_store_of_the_first_version_is_still_read(tmp_path: Path) -> None:
    """Its log is a text in the attributes of the root."""
    groups = dict(to_tree(made_up()).to_dict())
    del groups["/log"]
    groups["/"].attrs |= {"format_version": 1, "log": json.dumps(LOGS["with Jacobians"])}
    xr.DataTree.from_dict(groups).to_zarr(tmp_path / "old.zarr", zarr_format=3, consolidated=False)
    tree = store.read(tmp_path / "old.zarr")
    assert "log" not in tree.children
    assert entries(tree) == list(LOGS["with Jacobians"])
    assert entries(tree, 4) == [LOGS["with Jacobians"][2]]
    assert tree["members"].sizes == {"member": MEMBERS}


def test_opening_reads_neither_the_log_nor_the_messages(tmp_path: Path) -> None:
    """A million lines or messages cost a reader nothing until asked for, and then one message no more than a chunk."""
    many, lines = 2 * MESSAGES + 1, LINES + 1
    result = dataclasses.replace(
        made_up(many), kept=np.array([0, 2, 4]), messages=(*[""] * (many - 1), "stuck"), log=(LINE,) * lines
    )
    path = store.write(result, tmp_path / "study.zarr")
    tree = store.read(path)
    assert len(tree.attrs) == len(store.read(store.write(made_up(), tmp_path / "few.zarr")).attrs)
    assert max(len(str(value)) for value in tree.attrs.values()) < 10_000, "no text grows with the log"
    (path / "members/message/c/0").write_bytes(b"broken")
    (path / "members/message/c/1").write_bytes(b"broken")
    (path / "log/time/c/0").write_bytes(b"broken")
    members, log = (tree[name].to_dataset() for name in ("members", "log"))
    assert str(members["message"][many - 1].values) == "stuck"
    assert float(log["time"][lines - 1]) == LINE["time"]


def test_every_variable_has_a_name_and_a_unit(tmp_path: Path) -> None:
    store.write(made_up(), tmp_path / "study.zarr")
    for tree in (store.read(tmp_path / "study.zarr"), to_tree(made_up(None))):
        for node in tree.subtree:
            for name, variable in node.variables.items():
                assert str(name) and variable.attrs["units"], name
                assert set(variable.dims) <= {"member", "time", "body", "component", "axis_3", *LOG_AXES}


def test_xarray_alone_opens_the_store(tmp_path: Path) -> None:
    """A reader without this package needs nothing but xarray and zarr."""
    store.write(made_up(), tmp_path / "study.zarr")
    with xr.open_datatree(tmp_path / "study.zarr", engine="zarr", consolidated=False) as tree:
        assert tree["members"].sizes == {"member": MEMBERS}
        assert tree["trajectories"]["pendulum:hinge.q"].sizes == {"member": 3, "time": INSTANTS}


@pytest.mark.parametrize(("keep", "members"), [("all", [0, 2, 4]), ("none", []), (2, [0, 4]), (1, [0]), (9, [0, 2, 4])])
def test_keep_chooses_trajectories(tmp_path: Path, keep: int | str, members: list[int]) -> None:
    tree = store.read(store.write(made_up(), tmp_path / "study.zarr", keep=keep))
    design, kept = groups(tree)
    assert kept["member"].values.tolist() == members
    assert kept["pose"].shape == (len(members), INSTANTS, 2, 7)
    assert design.sizes["member"] == MEMBERS


def test_members_to_keep_are_spread_evenly() -> None:
    assert members_to_keep("all", 4).tolist() == [0, 1, 2, 3]
    assert members_to_keep("none", 4).tolist() == members_to_keep(0, 4).tolist() == []
    assert members_to_keep(3, 101).tolist() == [0, 50, 100]
    for members in range(1, 200):
        for keep in (1, 7, 64):
            assert len(members_to_keep(keep, members)) == min(keep, members)


def test_without_poses_and_channels(tmp_path: Path) -> None:
    bare = dataclasses.replace(made_up(), channels={}, poses={}, kept=np.array([], np.int64))
    tree = store.read(store.write(bare, tmp_path / "study.zarr"))
    assert tree["trajectories"].sizes["member"] == 0
    assert tree["members"].sizes["member"] == MEMBERS


@pytest.mark.parametrize("suffix", [".zarr", ".json"])
def test_one_run(tmp_path: Path, suffix: str) -> None:
    result = made_up(None)
    tree = store.read(store.write(result, tmp_path / f"run{suffix}"))
    members, kept = groups(tree)
    assert members["status"].values.tolist() == [0]
    np.testing.assert_array_equal(kept["time"], result.time)
    for name, values in result.certificate.items():
        assert members[name].values.tolist() == [values]
    for path in ("pendulum:hinge.q", "pendulum:rod:tip.position"):
        np.testing.assert_array_equal(kept[path][0], result.channels[path])
    np.testing.assert_array_equal(kept["pose"].sel(body="pendulum:bob")[0], result.poses["pendulum:bob"])
    assert load(json.loads(tree.attrs["model"])).numbers() == result.model.numbers()


def test_json_is_the_document_of_the_command_line_and_strict(tmp_path: Path) -> None:
    result = made_up(None)
    result.channels["energy.total"][2] = np.nan

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    text = store.write(result, tmp_path / "run.json").read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=refuse)
    assert document["channels"]["energy.total"][2] is None
    assert {key: document[key] for key in result.document()} == json.loads(json.dumps(result.document()))


def test_csv_has_a_line_for_every_instant(tmp_path: Path) -> None:
    result = made_up(None)
    with store.write(result, tmp_path / "run.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["time [s]"]) for line in lines] == result.time.tolist()
    tip = [float(line["pendulum:rod:tip.position[1] [m]"]) for line in lines]
    assert tip == result.channels["pendulum:rod:tip.position"][:, 1].tolist()
    quaternion = [float(line["pendulum:bob:origin.orientation[0] [1]"]) for line in lines]
    assert quaternion == result.poses["pendulum:bob"][:, 3].tolist()


@pytest.mark.parametrize("suffix", [".zarr", ".csv", ".json"])
def test_nothing_is_overwritten_without_force(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    store.write(made_up(None), path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ModelError, match="--force"):
        store.write(made_up(None), path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    store.write(dataclasses.replace(made_up(None), programs=9), path, force=True)
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "nothing is left beside"
    if suffix != ".csv":
        assert store.read(path).attrs["programs"] == 9


def test_force_replaces_only_results(tmp_path: Path) -> None:
    folder = tmp_path / "thesis.zarr"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("years of work")
    with pytest.raises(ModelError, match="something else of that name"):
        store.write(made_up(), folder, force=True)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModelError, match="something else of that name"):
        store.write(made_up(None), tmp_path / "folder.json", force=True)
    (tmp_path / "link.zarr").symlink_to(folder)
    with pytest.raises(ModelError, match="something else of that name"):
        store.write(made_up(), tmp_path / "link.zarr", force=True)
    assert (folder / "chapter1.txt").read_text() == "years of work"


@pytest.mark.parametrize("suffix", [".zarr", ".json"])
def test_a_failed_write_leaves_the_old_result(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"run{suffix}"
    store.write(made_up(None), path)

    def full(draft: Path, *_: object, **__: object) -> None:
        draft.mkdir() if suffix == ".zarr" else draft.write_text("half")
        raise OSError("no space left on device")

    monkeypatch.setattr(store, "_write_zarr" if suffix == ".zarr" else "_write_json", lambda _, draft, __: full(draft))
    with pytest.raises(ModelError, match=r"no space.*MB are free there.*room for the whole"):
        store.write(made_up(None), path, force=True)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert store.read(path).attrs["programs"] == 2


@pytest.mark.parametrize(
    ("name", "match"), [("a.h5", "suffix '.h5'"), ("a", "suffix ''"), ("a.csv", "an ensemble"), ("no/a.zarr", "folder")]
)
def test_places_that_cannot_be_written(tmp_path: Path, name: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        store.write(made_up(), tmp_path / name)


def test_what_is_no_result_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.csv").write_text("x")
    (tmp_path / "d.zarr").mkdir()
    xr.Dataset({"x": ("a", np.zeros(2))}).to_zarr(tmp_path / "e.zarr", zarr_format=3, consolidated=False)
    for name, match in [("a", "readable"), ("b", "readable"), ("d", "readable"), ("e", "no result")]:
        with pytest.raises(ModelError, match=match):
            store.read(next(tmp_path.glob(f"{name}.*")))
    with pytest.raises(ModelError, match="other programs"):
        store.read(tmp_path / "c.csv")
    with pytest.raises(ModelError, match="nothing there"):
        store.read(tmp_path / "f.zarr")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1000, 101, 12, 7), (15, 101, 12, 7)),  # several whole members
        ((1000, 10001, 12, 7), (1, 1560, 12, 7)),  # a part of one member
        ((0, 101, 0, 7), (1, 101, 1, 7)),  # nothing kept
        ((2, 3, 10**6), (1, 1, 10**6)),  # never less than an instant
    ],
)
def test_chunks_let_one_member_be_read_alone(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert chunks(shape, 8) == expected
    assert to_tree(made_up())["trajectories"]["pose"].encoding["chunks"] == (3, INSTANTS, 2, 7)


def test_a_study_is_opened_by_its_path() -> None:
    with pytest.raises(ModelError, match="Study: path: found 1; allowed: the path of a file"):
        Study(1)  # type: ignore[arg-type]
