"""What files say of solvers, integrators and loggers: each key is a setting of a run, a log, or named (S48, S53)."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax import load, simulate
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.formats.values.entry import keys_of
from shiftjax.mechanism.model import Model
from shiftjax.run.file_integrator import as_the_file_asks, unasked
from shiftjax.run.options import NumericsOptions
from shiftjax.run.verdict import verdict
from tests.support.models.documents import edited, new, old

LISTS = {"a solver": "solvers", "an integrator": "integrators", "a logger": "loggers"}
CSV = {"type": "csv", "csv_logfile": "a.csv"}


def setting(name: str, value: Any) -> Any:
    """That the key is this of `RunSettings`."""
    return lambda model: getattr(model.settings, name) == value


def asked(**keywords: Any) -> Any:
    """That a run with method "file" has these keywords of `simulate`."""
    return lambda model: as_the_file_asks(model.settings) == keywords


def replaced(text: str) -> Any:
    """That a run with method "file" notes so."""
    return lambda model: any(text in note for note in unasked(model.settings, NumericsOptions(method="file")))


def warned(text: str) -> Any:
    """That loading the file warns so."""
    return lambda model: any(re.search(text, warning) for warning in model.warnings)


def noted(text: str) -> Any:
    """That `shiftjax check` and every run note so."""
    return lambda model: any(re.search(text, note) for note in verdict(model)["notes"]) and model.ignored()


def is_comment(model: Model) -> Any:
    """That the key is kept, and nothing else."""
    settings = model.settings
    return any("comment" in block for block in (*settings.solvers, *settings.integrators, *settings.loggers))


UNSTABILISED = "not used, constraints need no stabilisation here: every step ends with closed loops"
SPAN, OUTPUT = ("time_span", {}, 7.5, setting("span", 7.5)), ("time_step", {}, 0.25, setting("output_step", 0.25))
COMMENT = ("comment", {}, "c", is_comment)
DOPRI5 = asked(method="dopri5", tolerance=1e-5)
ERRORS = [(f"{kind}_error", {"relative_error": 0.0, "absolute_error": 0.0}, 1e-5, DOPRI5)
          for kind in ("relative", "absolute")]  # fmt: skip
STABILISATION = [(key, {}, 80, warned(f"{key}: {UNSTABILISED}")) for key in ("omega_n", "integral_gain", "omega_n_max")]
SOLVING = [
    ("infinity_norm_multiplier", {}, 1.25, setting("infinity_norm_multiplier", 1.25)),
    ("contact_detection", {}, True, noted("contact_detection is on in the file: .* contacts are not simulated")),
]
# block -> key, what stands beside it, its value, what it does
KEYS: dict[str, list[tuple[str, dict[str, Any], Any, Any]]] = {
    "simulation": [
        COMMENT, SPAN, OUTPUT, *ERRORS, STABILISATION[0], *SOLVING,
        ("integration_type", {"absolute_error": 1e-5}, "ode113b", replaced("asks for ode113b, a multistep method of")),
        ("integration_type", {"absolute_error": 1e-5}, "euler", asked(method="euler")),
        ("out_file", {}, "a.csv", setting("logs", (("a.csv", False),))),
    ],
    "a solver": [COMMENT, *SOLVING, ("type", {}, "x", warned("solver 'x': not known, the solver here does what rnca"))],
    "an integrator": [
        COMMENT, SPAN, OUTPUT, *ERRORS, *STABILISATION,
        ("type", {"absolute_error": 1e-5}, "ode113", replaced("run with dopri5, and the smaller of the file's")),
        ("type", {"absolute_error": 1e-5}, "x", replaced("asks for 'x' that is not here")),
    ],
    "a logger": [
        COMMENT,
        ("csv_logfile", {}, "a.csv", setting("logs", (("a.csv", False),))),
        ("filename", {}, "a.csv", setting("logs", (("a.csv", False),))),
        ("filename", CSV, "b.csv", warned("filename 'b.csv' of logger 'a.csv': not used, its csv_logfile counts")),
        ("logfile", {"type": "hdf5"}, "a.h5", warned("logger 'a.h5' of type 'hdf5': not written")),
        ("logfile", {"type": "csv"}, "a", warned("logger 'a': not written, it has no csv_logfile")),
        ("logfile", CSV, "b", warned("logfile 'b' of logger 'a.csv': not used, its csv_logfile counts")),
        ("type", {"csv_logfile": "a.csv"}, "hdf5", setting("logs", ())),
        ("timestamp_logfile", CSV, True, setting("logs", (("a.csv", True),))),
        ("timestamp_logfile", CSV, "x.csv", warned("timestamp_logfile 'x.csv' of logger 'a.csv': taken for true")),
    ],
}  # fmt: skip


def with_block(label: str, block: dict[str, Any]) -> Model:
    """A double pendulum whose file has this block alone."""
    document = new() if label in LISTS else old()
    parameters = document["model_parameters"]
    for name in LISTS.values():
        parameters.pop(name, None)
    parameters.update({LISTS[label]: [block]} if label in LISTS else {"simulation": block})
    return load(document)


def test_s48_every_key_has_a_row() -> None:
    assert {label: {key for key, *_ in rows} for label, rows in KEYS.items()} == {k: {*keys_of(k)} for k in KEYS}


@pytest.mark.parametrize(("label", "key", "beside", "value", "holds"), [(k, *row) for k in KEYS for row in KEYS[k]])
def test_s48_each_key_is_a_setting_or_named(
    label: str, key: str, beside: dict[str, Any], value: Any, holds: Any
) -> None:
    """With the key it does, without it it does not."""
    try:
        assert not holds(with_block(label, beside))
    except ModelError:  # "file" without an integrator
        pass
    assert holds(with_block(label, {**beside, key: value}))


def test_s48_what_only_some_blocks_say() -> None:
    """Further blocks of a list count where the first says nothing; what is never looked at is named. Stabilisation is
    named once, for all its keys; a file of public blocks has no other warning."""
    document = new()
    parameters = document["model_parameters"]
    parameters["integrators"] = [{"time_span": 1, "omega_n": 50}, {"time_span": 2, "time_step": 0.5, "omega_n_max": 80}]
    model = load(document)
    assert (model.settings.span, model.settings.output_step) == (1, 0.5)
    assert model.warnings == (
        "model_parameters: time_span of further integrators: not used, those of the first count",
        f"model_parameters: omega_n, omega_n_max: {UNSTABILISED}",
    )
    assert load(old()).warnings == (f"model_parameters: omega_n: {UNSTABILISED}",)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`shiftjax run` of a file with these loggers, in a folder of its own: the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(loggers: list[dict[str, Any]], *words: str) -> tuple[int, str, str]:
        document = new()
        document["model_parameters"] |= {"loggers": loggers, "integrators": [{"time_span": 0.3, "time_step": 0.1}]}
        Path("arm.json").write_text(json.dumps(document))
        code = main(["run", "arm.json", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_s48_a_logger_of_the_file_is_written(run: Any) -> None:
    """What a run records of the same channels at the file's instants, beside what is asked for; once, and not again."""
    code, out, err = run([CSV], "--json", "--channel", "elbow.q", "--out", "x.csv")
    assert code == 0 and "written: a.csv" in err and "written: x.csv" in err
    assert [*json.loads(out)["channels"]] == ["elbow.q"], "what is in the log alone is not shown"
    assert "energy" not in Path("x.csv").read_text().partition("\n")[0]
    names = [f"pendulum:{joint}.{what}" for what in "qva" for joint in ("shoulder", "elbow")]
    names += ["energy.kinetic", "energy.potential"]
    with Path("a.csv").open() as file:
        head, *rows = csv.reader(file)
    assert [name.partition(" [")[0] for name in head] == ["time", *names]
    recorded = simulate(load("arm.json"), channels=names)
    values = np.array([recorded.time, *recorded.channels.values()]).T
    assert np.array_equal(np.array(rows, float), values), "to the last bit"
    before = Path("a.csv").read_bytes()
    code, _, err = run([CSV], "--span", "0.1")
    assert code == 2 and "a.csv: found something of that name" in err and "--no-logger" in err
    assert run([CSV], "--span", "0.1", "--no-logger")[0] == 0 and Path("a.csv").read_bytes() == before
    code, out, _ = run([CSV], "--span", "0.1", "--force")
    assert code == 0 and "channel" not in out and Path("a.csv").read_bytes() != before


def test_s48_logs_with_the_time_of_their_run(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has a file of its own, of any suffix; a logger that is no CSV is named and no file of it made."""
    Path("logs").mkdir()
    loggers = [{"csv_logfile": "logs/a.b.dat", "timestamp_logfile": True}, {"type": "hdf5", "logfile": "b.h5"}]
    for second in (7, 8):
        monkeypatch.setattr("shiftjax.cli.file_logs.time.strftime", lambda form, s=second: f"-20261126-23590{s}")
        code, _, err = run(loggers, "--span", "0.1")
        assert code == 0 and "warning: arm.json: model_parameters: logger 'b.h5' of type 'hdf5': not written" in err
    stamped = ["a.b-20261126-235907.dat", "a.b-20261126-235908.dat"]
    assert sorted(path.name for path in Path("logs").iterdir()) == stamped
    assert {path.name for path in Path().iterdir()} == {"arm.json", "logs"}


@pytest.mark.parametrize("name", ["/tmp/a.csv", "../a.csv", "link/a.csv", "logs/../../a.csv"])
def test_s48_a_file_does_not_say_where_on_a_disk_things_are_written(run: Any, tmp_path: Path, name: str) -> None:
    Path("link").symlink_to(tmp_path.parent)
    code, _, err = run([{"csv_logfile": name}])
    assert code == 2 and "allowed: a name in the folder of the command, or below it" in err
    assert not (tmp_path.parent / "a.csv").exists()


def test_s48_a_log_and_the_result_do_not_share_a_file(run: Any) -> None:
    code, _, err = run([CSV], "--out", "a.csv")
    assert code == 2 and "--out a.csv: found the name of a log of the file" in err and not Path("a.csv").exists()


def test_s53_collision_shapes_are_named() -> None:
    """By `check` and every run, with the bodies that have one; contact of terrain is refused."""
    body = "assemblies.0.bodies.0.collision_geometry"
    through = "bodies pass through each other, contacts are not simulated"
    for shape in ("convex_hull", "ellipsoid", "sphere"):
        note = f"collision_geometry of pendulum:link1 is kept: {through}"
        assert load(edited(body, shape)).ignored() == (note,)
        assert note in verdict(load(edited(body, shape)))["notes"]
    document = edited(body, "convex_hull")
    assert note in simulate(load(document), 1e-3).notes
    document["model_parameters"]["solvers"] = [{"contact_detection": True}]
    both = f"contact_detection is on in the file, collision_geometry of pendulum:link1 is kept: {through}"
    assert load(document).ignored() == (both,)
    document["terrain"] = [{"name": "hill", "parent": ["fixed", "attachment"], "definition": "a.tif"}]
    with pytest.raises(ModelError, match=r"terrain:hill.*terrain contact"):
        simulate(load(document), 1e-3)
    for inactive in ({"active": False}, {"collision_geometry": None}):
        document = edited(body, "sphere")
        document["assemblies"][0]["bodies"][0] |= inactive
        assert load(document).ignored() == ()
