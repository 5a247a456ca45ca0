"""The command line as others script against it: JSON shapes, exit codes, messages. Real commands, in this process."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from shiftjax import __version__
from shiftjax.cli import COMMANDS, parser
from shiftjax.cli.examples import EXAMPLES
from shiftjax.ensembles.store import store
from shiftjax.field import Role
from shiftjax.formats import load
from shiftjax.models import names, path
from shiftjax.run.simulate import simulate

CERTIFICATE = {
    "gap",
    "velocity_gap",
    "energy_error",
    "angle_error",
    "repartitions",
    "pivot_ratio",
    "steps",
    "rejected",
} | {"start_change"}
SUBSTRUCTURE = {"loops", "rows", "columns", "rank", "joints", "dependent", "independent", "redundant_rows"}
SHORT = ("--span", "0.05", "--step", "1e-3", "--output-step", "0.01")
GRAVITY = "model_parameters.gravity[0]"
JOINT, MASS, LENGTH = "four_bar:crank_pivot", "four_bar:coupler.mass", "four_bar:coupler:tip.T[0]"


def test_version(shell) -> None:
    assert shell("--version") == (0, f"shiftjax {__version__}\n", "")


def test_help_lists_every_command(shell) -> None:
    code, out, _ = shell("--help")
    assert code == 0 and all(name in out for name in COMMANDS)
    for name in COMMANDS:
        code, out, _ = shell(name, "--help")
        assert code == 0 and f"usage: shiftjax {name}" in out


def test_examples_of_the_help_are_lines_that_the_command_takes(shell) -> None:
    """Every example parses; those of a command stand in its help, and no line of a help is too wide."""
    assert EXAMPLES.keys() == COMMANDS.keys()
    for name, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line)
            assert words[0] == name and parser(words).parse_args(words).command == name
        out = shell(name, "--help")[1]
        assert f"examples:\n  shiftjax {name}" in out and max(map(len, out.splitlines())) < 80


def test_models_lists_the_library(shell) -> None:
    code, out, _ = shell("models")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(names())
    assert all(len(line.split()) > 2 for line in out.splitlines())
    assert list(json.loads(shell("models", "--json")[1])) == list(names())


def test_s31_info_json(shell) -> None:
    code, out, err = shell("info", "four_bar", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report.keys() >= {"bodies", "joints", "coordinates", "loops", "rank", "dof", "substructures"}
    assert (report["bodies"], report["joints"], report["coordinates"]) == (3, 4, 4)
    assert (report["loops"], report["rank"], report["dof"]) == (1, 3, 1)
    (block,) = report["substructures"]
    assert block.keys() >= SUBSTRUCTURE
    assert (block["loops"], block["rows"], block["columns"], block["rank"]) == (1, 6, 4, 3)


@pytest.mark.parametrize(("option", "word"), [("--dot", "graph"), ("--tables", "independent"), (None, "rank 3")])
def test_info_for_people(shell, option: str | None, word: str) -> None:
    code, out, _ = shell("info", "four_bar", *([option] if option else []))
    assert code == 0 and out.strip() and word in out


@pytest.mark.parametrize("name", ["four_bar", "pendulum", "vehicle_chassis"])
def test_info_lists_every_number(shell, name: str) -> None:
    """Path, value, unit, role and sentence, as text and as JSON."""
    model = load(name)
    values, units = model.numbers(), model.number_units()
    every = json.loads(shell("info", name, "--paths", "--json")[1])
    lines = [line for line in every if line["role"] != "channel"]
    assert {line["path"]: line["value"] for line in lines} == values
    assert {line["path"]: line["unit"] for line in lines} == units
    assert {line["role"] for line in lines} <= set(Role) and all(len(line["doc"]) > 3 for line in lines)
    code, out, _ = shell("info", name, "--paths")
    head, *rows = out.split("\n\n")[0].splitlines()
    assert code == 0 and head.split() == ["number", "value", "unit", "meaning"] and len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        path, value, rest = row.split(maxsplit=2)
        assert path == line["path"] and float(value) == pytest.approx(line["value"], rel=1e-8)
        assert rest.split() == f"{line['unit']} {line['doc']}".split()


def test_a_sweep_names_the_members_of_its_extremes(shell) -> None:
    """Of members that finished, over all steps, recorded or not; counts are written in full."""
    words = ["--vary", f"{JOINT}.initial_velocity=1:9:5", "--span", "0.2", "--output-step", "0.1"]
    code, out, _ = shell("sweep", "four_bar", *words, "--channel", "crank_pivot.q", "--channel", "crank:tip.position")
    design = {f"{JOINT}.initial_velocity": np.linspace(1, 9, 5)}
    result = simulate("four_bar", 0.2, output_step=1e-3, vary=design, channels=["crank_pivot.q", "crank:tip.position"])
    q, x = result.channels["crank_pivot.q"], result.channels["crank:tip.position"][:, :, 0]
    lines = out.split("channel over all steps")[1].splitlines()
    for name, values in (("crank_pivot.q", q), ("crank:tip.position[0]", x)):
        low, high = (np.unravel_index(k, values.shape)[0] for k in (values.argmin(), values.argmax()))
        (line,) = (line.split() for line in lines if line.startswith(f"{name} "))
        assert (line[2], line[4]) == (str(low), str(high))
        assert line[1::2] == [f"{values.min():.6g}", f"{values.max():.6g}", line[5]]
    (steps,) = (line.split() for line in out.splitlines() if line.startswith("steps "))
    assert code == 0 and steps[1:3] == ["200", "200"]


@pytest.mark.parametrize("name", ["four_bar", "pendulum", "double_wishbone", "seven_axis_arm"])
def test_info_lists_every_channel(shell, name: str) -> None:
    """Each can be recorded as it is listed, with that unit and so many numbers; as text and as JSON."""
    every = json.loads(shell("info", name, "--paths", "--json")[1])
    channels = [line for line in every if line["role"] == "channel"]
    result = simulate(load(name), 2e-3, channels=[line["path"] for line in channels])
    assert {line["path"]: line["unit"] for line in channels} == dict(result.units)
    sizes = {path: values.shape[1] if values.ndim == 2 else 1 for path, values in result.channels.items()}
    assert {line["path"]: line["size"] for line in channels} == sizes
    words = {path.rpartition(".")[2] for path in result.channels}
    loops = {"b_norm", "b_row_sum", "pivot_ratio"} if result.report["loops"] else set()
    assert words >= {"q", "v", "a", "reaction_force", "position", "total"} | loops
    head, *rows = shell("info", name, "--paths")[1].split("\n\n")[1].splitlines()
    assert head.split() == ["channel", "numbers", "unit"]
    assert [row.split()[0] for row in rows] == [line["path"] for line in channels]


def test_info_lists_bodies_and_frames(shell) -> None:
    report = json.loads(shell("info", "stewart", "--json")[1])
    model = load("stewart")
    assert [part["body"] for part in report["body_list"]] == [path for path, _ in model.bodies()]
    platform = report["body_list"][-1]
    assert platform["mass"] == 8.0 and "stewart:platform:tool" in platform["frames"]
    lines = shell("info", "stewart")[1].splitlines()
    (line,) = (line for line in lines if line.startswith("stewart:platform "))
    assert line.split()[1] == "8" and line.endswith("head_6, tool")
    (line,) = (line for line in lines if line.startswith("stewart:leg_1 "))
    assert line.split() == ["stewart:leg_1", "prismatic", "stewart:barrel_1", "stewart:rod_1", "0.854016", "m"]


def test_info_lists_what_numbers_mean(shell) -> None:
    lines = {line["path"]: line for line in json.loads(shell("info", "four_bar", "--paths", "--json")[1])}
    assert (lines[LENGTH]["role"], lines[LENGTH]["unit"]) == ("length", "m")
    assert (lines[MASS]["role"], lines[MASS]["unit"]) == ("mass", "kg")
    start = lines[f"{JOINT}.initial_velocity"]
    assert (start["role"], start["unit"], start["doc"]) == (
        "start speed",
        "rad/s",
        "how fast it starts; at rest where left out",
    )


@pytest.mark.parametrize("other", ["--dot", "--tables"])
def test_info_prints_one_thing(shell, other: str) -> None:
    assert shell("info", "four_bar", "--paths", other)[0] == 2
    code, out, err = shell("info", "four_bar", "--json", other)
    assert (code, out) == (2, "") and other in err


def test_check_prints_the_schema(shell) -> None:
    """The library agrees with it, and a file that a reader would refuse does not."""
    code, out, err = shell("check", "--schema")
    assert (code, err) == (0, "")
    validator = jsonschema.Draft202012Validator(json.loads(out))
    for name in names():
        document = json.loads(Path(path(name)).read_text(encoding="utf-8"))
        validator.validate(document)
    document["assemblies"][0]["bodies"][0]["weight"] = 1
    assert not validator.is_valid(document)
    for words, found in ((("check",), "no model"), (("check", "four_bar", "--schema"), "four_bar")):
        code, out, err = shell(*words)
        assert (code, out) == (2, "") and found in err and "--schema" in err


def test_check(shell, tmp_path: Path) -> None:
    assert shell("check", "four_bar")[0] == 0
    verdict = json.loads(shell("check", "four_bar", "--json")[1])
    assert verdict["valid"] and (verdict["bodies"], verdict["joints"]) == (3, 4)
    (tmp_path / "bad.json").write_text('{"model_parameters": {}, "assemblies": 7}')
    code, out, err = shell("check", str(tmp_path / "bad.json"))
    assert (code, out) == (2, "") and "assemblies" in err and "Traceback" not in err


def test_run_json(shell) -> None:
    code, out, err = shell("run", "four_bar", *SHORT, "--channel", f"{JOINT}.q", "--channel", "energy.total", "--json")
    run = json.loads(out)
    assert (code, err) == (0, "")
    assert run.keys() == {
        "status",
        "notes",
        "settings",
        "certificate",
        "events",
        "programs",
        "compile_s",
        "wall_s",
        "time",
        "channels",
        "metrics",
    }
    assert run["status"] == "ok"
    assert run["certificate"].keys() == CERTIFICATE
    assert run["certificate"]["gap"] < 1e-9 and run["certificate"]["steps"] == 50
    np.testing.assert_allclose(run["time"], np.arange(6) * 0.01, atol=1e-15)
    assert set(run["channels"]) == {f"{JOINT}.q", "energy.total"}
    assert all(len(values) == 6 for values in run["channels"].values())


def test_run_for_people(shell) -> None:
    code, out, _ = shell("run", "four_bar", *SHORT, "--channel", "energy.total", "--log")
    assert code == 0 and "four_bar: ok" in out and "energy.total" in out and all(name in out for name in CERTIFICATE)


def test_set_changes_the_model_and_hold_the_start(shell) -> None:
    start = load("four_bar").numbers()[f"{JOINT}.initial_displacement"] + 0.05
    words = (*SHORT, "--channel", f"{JOINT}.q", "--json")
    run = json.loads(shell("run", "four_bar", *words, "--set", f"{JOINT}.initial_displacement={start!r}")[1])
    assert run["channels"][f"{JOINT}.q"][0] == pytest.approx(start, abs=1e-12)
    other = json.loads(shell("run", "four_bar", *words, "--set", f"{MASS}=50", "--hold", JOINT)[1])
    assert other["channels"][f"{JOINT}.q"][-1] != run["channels"][f"{JOINT}.q"][-1]


@pytest.mark.parametrize("suffix", [".zarr", ".csv", ".json"])
def test_run_out(shell, tmp_path: Path, suffix: str) -> None:
    out = str(tmp_path / f"run{suffix}")
    assert shell("run", "four_bar", *SHORT, "--out", out)[0] == 0
    code, _, err = shell("run", "four_bar", *SHORT, "--out", out)
    assert code == 2 and "--force" in err
    assert shell("run", "four_bar", *SHORT, "--out", out, "--force")[0] == 0
    if suffix != ".csv":
        tree = store.read(out)
        kept = tree["trajectories"].to_dataset()
        assert sorted(kept["body"].values.tolist()) == sorted(path for path, _ in load("four_bar").bodies())
        assert np.isfinite(kept["pose"].values).all()


def test_sweep_out(shell, tmp_path: Path) -> None:
    out, drawn = tmp_path / "study.zarr", tmp_path / "study.png"
    words = (
        "--vary",
        f"{MASS}=1:2~sobol",
        "--vary",
        f"{GRAVITY}=0:1:2",
        "--samples",
        "8",
        "--seed",
        "3",
        "--keep",
        "4",
    )
    code, text, _ = shell(
        "sweep", "four_bar", *words, *SHORT, "--channel", "energy.total", "--out", str(out), "--picture", str(drawn)
    )
    assert code == 0 and "16 members: 16 ok" in text and MASS in text
    tree = store.read(out)
    assert tree["members"].sizes["member"] == 16 and tree["trajectories"].sizes["member"] == 4
    values = tree["members"].to_dataset()[MASS].values
    assert values.min() >= 1 and values.max() <= 2 and len(set(values)) == 16
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_sweep_json(shell) -> None:
    words = ("--vary", f"{MASS}=1:2:3", *SHORT, "--json")
    summary = json.loads(shell("sweep", "four_bar", *words)[1])
    assert summary["members"] == 3 and summary["status"] == {"ok": 3} and summary["failed"] == []
    assert summary["certificate"].keys() == CERTIFICATE


def test_some_members_failed(shell) -> None:
    """A link far too long for its loop: exit code 3, named with its cause and remedy; the others run."""
    code, out, err = shell("sweep", "four_bar", "--vary", f"{LENGTH}=0.5:50:2", *SHORT)
    assert code == 3
    assert "1 ok" in out and "1 not_assembled" in out
    assert "not_assembled: " in err and "member 1" in err
    (head,) = (line for line in out.splitlines() if line.startswith("certificate"))
    gap = next(line.split() for line in out.splitlines() if line.startswith("gap"))
    assert head.startswith("certificate of 1 that ended well")
    assert float(gap[2]) < 1e-12 and gap[3] == "0", "the gap of a loop that cannot be closed is not that of the others"


def test_without_a_command_all_are_listed(shell) -> None:
    code, _, err = shell()
    assert code == 2 and "simulate one model" in err and "view" in err


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
        (["run"], "MODEL"),
        (["run", "four_bar", "--nonsense"], "--nonsense"),
        (["run", "four_bar", "--span", "-1"], "above zero"),
        (["run", "four_bar", "--span", "nan"], "above zero"),
        (["run", "four_bar", "--span", "1e300"], "less than 9.0072e+15 steps"),
        (["run", "four_bar", "--step", "1e-320"], "less than 9.0072e+15 steps"),
        (["run", "four_bar", "--span", "30000", "--precision", "f32"], "less than 1.67772e+07 steps"),
        (["run", "four_bar", "--threads", "-1"], "whole number from 1"),
        (["run", "four_bar", "--out", ""], "suffix"),
        (["run", "four_ba"], "four_bar"),
        (["run", "no/such/file.json"], "no/such/file.json"),
        (["run", "four_bar", "--set", "four_bar"], "PATH=VALUE"),
        (["run", "four_bar", "--set", "nothing.mass=1"], "nothing"),
        (["run", "four_bar", "--set", "model_parameters.gravity[0]=x"], "finite number"),
        (["run", "four_bar", "--channel", "nothing.q"], "nothing"),
        (["run", "four_bar", "--hold", "nothing"], "nothing"),
        (["run", "four_bar", "--method", "rk5"], "rk5"),
        (["run", "four_bar", "--step", "1e-3", "--output-step", "1.5e-3"], "output"),
        (["run", "four_bar", "--out", "x.h5"], ".zarr"),
        (["sweep", "four_bar"], "--vary"),
        (["sweep", "four_bar", "--vary", "model_parameters.gravity[0]=0:1"], "--samples"),
        (["sweep", "four_bar", "--vary", "model_parameters.gravity[0]=0:1:2", "--out", "x.csv"], "one run"),
        (["sweep", "four_bar", "--vary", "model_parameters.gravity[0]=0:1:2", "--seed", "-1"], "--seed"),
        (["sweep", "four_bar", "--vary", "model_parameters.gravity[0]=0:1:2", "--picture", "x.gif"], ".png"),
        (["sweep", "four_bar", "--vary", "model_parameters.gravity[0]=0:1:2", "--keep", "some"], "--keep"),
        (["info", "four_bar", "--json", "--dot"], "--dot"),
    ],
)
def test_bad_input_ends_with_2_and_one_message(shell, words: list[str], match: str) -> None:
    code, out, err = shell(*words, *(SHORT[:2] if words[:1] == ["run"] and "--span" not in words else ()))
    assert (code, out) == (2, "")
    assert match in err and "Traceback" not in err


def test_anything_else_ends_with_1_and_a_hint(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> tuple[str, ...]:
        raise RuntimeError("something\nunforeseen")

    monkeypatch.setattr("shiftjax.cli.commands.models.names", broken)
    code, out, err = shell("models")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1 and "something unforeseen" in err and "--traceback" in err
    for words in (["--traceback", "models"], ["models", "--traceback"]):
        code, _, err = shell(*words)
        assert code == 1 and "Traceback" in err and "in broken" in err


def test_a_closed_pipe_is_no_disaster() -> None:
    """`shiftjax models | head -0` prints no traceback."""
    code = "import sys; from shiftjax.cli import main; sys.exit(main(['models']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_times_take_units(shell) -> None:
    """The same run, its span and steps in seconds and in milliseconds; what is no time above zero is refused."""
    plain = json.loads(shell("run", "pendulum", *SHORT, "--json")[1])
    units = ("--span", "50ms", "--step", "1 ms", "--output-step", "10ms")
    assert json.loads(shell("run", "pendulum", *units, "--json")[1])["time"] == plain["time"]
    for wrong in ("5deg", "0ms", "-1", "soon"):
        code, _, err = shell("run", "pendulum", f"--span={wrong}")
        assert code == 2 and "is not a time above zero: write 0.005, 5ms or 2min" in err
