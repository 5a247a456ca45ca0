"""Study files: a round trip through TOML, the schema, names of files, and the commands that read and write them."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftjax.cli import main
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import OF_IK, Definition, document, from_document
from shiftjax.ensembles.study.definition_keys import KEYS
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.spec import NUMBERS
from shiftjax.ensembles.study.study_reference import with_keys
from shiftjax.errors import ModelError
from shiftjax.formats.files import load, save
from shiftjax.mechanism.model import RunSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "studies.md"
VALIDATOR = jsonschema.Draft202012Validator(study_file.schema())

names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)
positive = st.floats(1e-6, 1e6)
laws = st.one_of(
    st.just("0.5:2~sobol"),
    st.just("1:0.1~normal~lhs"),
    st.lists(numbers, min_size=1, max_size=4, unique=True),
    st.builds(lambda a, b, c: dict(zip(("low", "mode", "high"), sorted((a, b, c)), strict=True))
              | {"distribution": "triangular"}, *[numbers] * 3).filter(lambda law: law["low"] < law["high"]),
    st.builds(lambda mean, sd: {"distribution": "lognormal", "mean": mean, "sd": sd, "unit": "mm"}, positive, positive),
    st.builds(lambda low, wide, n: {"low": low, "high": low + wide, "points": n}, numbers, positive, st.integers(2, 9))
    .filter(lambda law: law["low"] < law["high"]),
)  # fmt: skip
motions = st.one_of(
    numbers,
    st.just("harmonic(amplitude=0.3, frequency=2)"),
    st.builds(lambda c: {"type": "polynomial", "coefficients": c}, st.lists(numbers, min_size=1, max_size=3)),
)
kept = st.one_of(
    st.sampled_from(["all", "none", "every 7", 0, 12]),
    st.lists(st.integers(0, 99), max_size=3),
    st.just({"worst": {"metric": "gap", "count": 3}, "best": [{"metric": "gap", "count": 1, "good": "large"}]}),
    st.just({"largest": [{"metric": "gap", "count": 3}], "smallest": [{"metric": "energy_error", "count": 1}]}),
)
texts = st.lists(names, max_size=3)
aims = {"good": st.sampled_from(["small", "large"]), "limits": st.sampled_from([[0, "30deg"], ["-inf", 2.5]])}
measured = st.fixed_dictionaries({"of": names, "over": numbers}, optional=aims)
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "span": positive, "step": positive, "output_step": positive, "method": st.sampled_from(["rk4", "euler"]),
    "precision": st.sampled_from(["f64", "f32"]), "backend": names, "seed": st.integers(0, 2**31),
    "channels": texts, "hold": texts, "strict_start": st.booleans(),
    "energy_limit": positive | st.just(float("inf")), "derive": st.dictionaries(names, names, max_size=2),
    "drive": st.dictionaries(names, motions, max_size=2), "keep": kept,
    "switch": st.dictionaries(names, st.sampled_from([True, [False], [True, False]]), max_size=2),
    "metrics": st.dictionaries(names.filter(lambda n: n.strip() and "/" not in n), names | measured, max_size=2),
    "tie": st.dictionaries(names, st.just("a.q == 2 * b.q"), max_size=2),
    "vary": st.dictionaries(names, laws, max_size=4),
    "set": st.dictionaries(names, numbers | st.just("30deg"), max_size=2),
}  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional=OPTIONAL), st.integers(1, 99))
def test_a_study_is_read_as_it_was_written(tmp_path: Path, words: dict[str, Any], samples: int) -> None:
    """And in the same order, on which the designs depend; the schema allows what is written."""
    drawn = any("~" in law or "distribution" in law for law in words.get("vary", {}).values())
    try:
        study = from_document({"model": "four_bar", **words, **({"samples": samples} if drawn else {})})
    except ModelError as error:
        assert "each number once" in str(error)
        return
    path = study_file.write(study, tmp_path / "study.toml", force=True)
    found = study_file.read(path)
    assert found == study and found.folder == str(tmp_path)
    assert json.dumps(document(found)) == json.dumps(document(study))
    assert [*found.vary] == [*study.vary] and [*found.switch] == [*study.switch]
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    VALIDATOR.validate(json.loads(json.dumps(document(study), allow_nan=False)))


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_an_example_that_is_read_and_a_row(key: str) -> None:
    assert len(KEYS[key].doc.split()) > 2 and f"| `{key}` | {KEYS[key].doc} |" in PAGE.read_text(encoding="utf-8")
    assert tomllib.loads(KEYS[key].example).keys() == {key}


OF_KINDS = {"kind", "workspace", *OF_IK}  # of studies whose members do not move in time: most keys say nothing there


@pytest.mark.parametrize("without", [{*OF_KINDS, "tolerance"}, {*OF_KINDS, "step", "method"}])  # in place of each other
def test_the_examples_together_are_a_study(without: set[str], tmp_path: Path) -> None:
    examples = [key.example for key in KEYS.values() if key.name not in without]
    text = "\n".join(sorted(examples, key=lambda example: example.startswith("[")))
    VALIDATOR.validate(tomllib.loads(text))
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "designs.csv").write_text("crank:tip.T[0]\n0.15\n0.18\n")
    on, off = designs(study_file.read(tmp_path / "study.toml"))
    assert on.members == off.members == 2000 and set(document(study_file.read(tmp_path / "study.toml"))) <= set(KEYS)


def test_the_page_has_the_table_of_keys() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_keys(page) == page, "write it again: python -m shiftjax.ensembles.study.study_reference docs/studies.md"
    for law in NUMBERS:
        assert f'distribution = "{law}"' in page


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"model": "four_bar", "sampels": 1},
        {"model": "four_bar", "samples": 0},
        {"model": "four_bar", "span": -1},
        {"model": "four_bar", "vary": {"a": {"distribution": "normal", "low": 1, "high": 2}}},
        {"model": "four_bar", "vary": {"a": 3}},
        {"model": "four_bar", "switch": {"a": []}},
        {"model": "four_bar", "switch": {"a": [True, True]}},
        {"model": "four_bar", "keep": {"worst": {"metric": "gap"}}},
        {"model": "four_bar", "keep": "every"},
        {"model": "four_bar", "metrics": {"a": {"over": 1}}},
        {"model": "four_bar", "method": "rk5"},
        {"model": "four_bar", "energy_limit": 0},
    ],
)
def test_the_schema_refuses_what_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(words)
    with pytest.raises(ModelError):
        from_document(words)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('model = "four_bar"\nsampels = 3\n', r"study.toml: sampels: .*Did you mean 'samples'"),
        ('model = "four_bar"\n[vary]\ncoupler.mass = "1:2"\n', r'study.toml: vary.coupler.mass: .*a key that uniform'),
        ('model = "four_bar"\n[vary]\n"a.b" = "1:2~x"\n', r'study.toml: vary."a.b": found distribution .x.'),
        ("model = four_bar\n", r"study.toml: found no TOML: .*line 1"),
        ('model = "four_bar"\nmodel = "four_bar"\n', r"no TOML"),
        ("", r"study.toml: model: found nothing"),
        ("a = " + "[" * 3000 + "]" * 3000, r"study.toml: found"),
        ('model = "four_bar"\nspan = 1979-05-27\n', r"study.toml: span: "),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_name_and_key(text: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ModelError, match=match):
        study_file.read(tmp_path / "study.toml")


def test_files_that_are_no_studies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"a file that can be read"):
        study_file.read(tmp_path / "none.toml")
    with pytest.raises(ModelError, match=r"A study is a TOML file"):
        study_file.read(tmp_path / "study.json")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match=r"no UTF-8"):
        study_file.read(tmp_path / "bytes.toml")


def test_writing_refuses_what_it_cannot_say(tmp_path: Path) -> None:
    study = Definition("four_bar", span=1.0)
    path = study_file.write(study, tmp_path / "a.toml")
    with pytest.raises(ModelError, match=r"--force"):
        study_file.write(study, path)
    with pytest.raises(ModelError, match=r"a place that can be written"):
        study_file.write(study, tmp_path / "no" / "a.toml")
    with pytest.raises(ModelError, match=r"model: found a Model.*shiftjax.save"):
        study_file.write(Definition(load("four_bar")), tmp_path / "b.toml")
    with pytest.raises(ModelError, match=r"A study is a TOML file"):
        study_file.write(study, tmp_path / "a.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.toml"]


def test_names_of_files_are_relative_to_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From wherever it is read; a study that is written elsewhere names the same files."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    save(load("four_bar"), home / "bar.json")
    (home / "designs.csv").write_text("coupler.mass\n1\n1.5\n")
    (home / "cam.csv").write_text("0 0\n1 0.5\n")
    (home / "study.toml").write_text(
        'model = "bar.json"\ntable = "designs.csv"\n[drive]\ncrank_pivot = "table(file=cam.csv, outside=hold)"\n'
    )
    monkeypatch.chdir(other)
    study = study_file.read(home / "study.toml")
    (group,) = designs(study)
    assert group.values["four_bar:coupler.mass"].tolist() == [1.0, 1.5]
    text = study_file.write(study, Path("there.toml")).read_text()
    assert '"../home/bar.json"' in text and "file=../home/cam.csv, outside=hold" in text
    assert main(["sweep", "../home/bar.json", "--vary", "coupler.mass=[1, 2]", "--write", "../home/swept.toml"]) == 0
    assert study_file.read(home / "swept.toml").model == "bar.json"
    (again,) = designs(study_file.read("there.toml"))
    assert again.model == group.model and again.values.keys() == group.values.keys()


SWEEP = ["four_bar", "--span", "0.2", "--vary", "coupler.mass=0.5:2~sobol", "--vary", "crank.mass=700g:800g:2"]
SWEEP += ["--samples", "4", "--seed", "3", "--set", "rocker.mass=1.2", "--derive", "rocker.inertia.Iyy=2*{rocker.mass}"]
SWEEP += ["--drive", "crank_pivot=harmonic(amplitude=.3, frequency=2)", "--channel", "rocker_pivot.q"]


def test_sweep_writes_what_its_options_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *SWEEP, "--keep", "8", "--energy-limit", "1e-2", "--write", "study.toml"]) == 0
    assert capsys.readouterr().out == "written: study.toml, 8 members\n"
    study = study_file.read("study.toml")
    assert study == Definition(
        "four_bar",
        vary={"coupler.mass": "0.5:2~sobol", "crank.mass": "700g:800g:2"},
        samples=4,
        seed=3,
        span=0.2,
        set={"rocker.mass": "1.2"},
        derive={"rocker.inertia.Iyy": "2*{rocker.mass}"},
        drive={"crank_pivot": "harmonic(amplitude=.3, frequency=2)"},
        channels=["rocker_pivot.q"],
        keep=8,
        energy_limit=1e-2,
    )
    for more, match in (
        (["--write", "study.toml"], "--force"),
        (["--write", "other.toml", "--out", "x.zarr"], "--out"),
        (["--write", "other.toml", "--vary", "coupler.mass=1:2"], "the path twice"),
        (["--write", "other.toml", "--vary", "couplr.mass=1:2"], "Did you mean"),
    ):
        assert main(["sweep", *SWEEP, *more]) == 2
        assert match in capsys.readouterr().err
    assert not Path("other.toml").exists()


def test_check_says_what_a_study_amounts_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
model = "four_bar"
span = 0.2
samples = 10
table = "designs.csv"
[vary]
"crank_pivot_drive.speed" = "1:2~normal"
[drive]
crank_pivot = 3
[switch]
crank_pivot_drive = [true, false]
[metrics]
swing = "peak_to_peak(rocker_pivot.q)"
[keep]
members = "every 10"
"""
    Path("study.toml").write_text(text)
    Path("designs.csv").write_text("coupler.mass\n1\n1.5\n")
    assert main(["check", "study.toml"]) == 0
    out = capsys.readouterr().out
    assert "study.toml: valid; 40 members in 2 groups" in out
    assert re.search(r"four_bar:coupler.mass +1 +1.5 +table +kg\n", out)
    assert re.search(r"four_bar:crank_pivot_drive.speed +\S+ +\S+ +normal +rad/s\n", out)
    assert re.search(r"four_bar:crank_pivot_drive off +20 +20 +1 +1\n", out)
    assert re.search(r"swing +peak_to_peak\(rocker_pivot.q\)\n", out) and "kept: every 10th member" in out
    assert main(["check", "study.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["members"], found["kept_members"], len(found["groups"])) == (40, 4, 2)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('model = "bar.json"\n', "span: found nothing"),
        ('model = "four_bar"\nspan = 1\nbackend = "abacus"\n', "backend: found 'abacus'"),
        ('model = "four_bar"\nspan = 1\nchannels = ["crank.mass_of"]\n', "channels, "),
        ('model = "four_bar"\nspan = 1\nkeep = [3]\n', "keep.members: found member 3"),
        ('model = "four_bar"\nspan = 1\n[metrics]\na = "maximun(crank_pivot.q)"\n', "metric a: .*'maximum'"),
        ('model = "four_bar"\nspan = 1\n[metrics]\na = "value_at(crank_pivot.q, 2)"\n', "times from 0 to 1"),
    ],
)
def test_check_refuses_what_every_run_would(text: str, match: str, tmp_path: Path, capsys) -> None:
    save(dataclasses.replace(load("four_bar"), settings=RunSettings()), tmp_path / "bar.json")
    (tmp_path / "study.toml").write_text(text)
    assert main(["check", str(tmp_path / "study.toml")]) == 2
    assert re.search(match, capsys.readouterr().err)


def test_check_shows_a_long_metric_on_one_line(tmp_path: Path, capsys) -> None:
    points = ",\n".join("[1, 2, 3]" for _ in range(100))
    text = f'model = "four_bar"\nspan = 1\n[metrics]\nd = """path_distance(coupler:tip.position,\n[{points}])"""\n'
    (tmp_path / "study.toml").write_text(text)
    assert main(["check", str(tmp_path / "study.toml")]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "path_distance" in line)
    assert re.fullmatch(r"d +path_distance\(coupler:tip.position, \[\[1, 2, 3\].* …", line) and len(line) < 120


def test_check_says_what_a_switch_leaves_out(tmp_path: Path, capsys) -> None:
    (tmp_path / "study.toml").write_text('model = "four_bar"\nspan = 1\n[switch]\ncoupler = [true, false]\n')
    assert main(["check", str(tmp_path / "study.toml")]) == 0
    assert "note: four_bar:coupler off: four_bar:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        '[set]\n"crank_pivot.initial_velocity" = 1.0',
        '[vary]\n"crank_pivot.initial_velocity" = [1, 2]',
        'hold = ["crank_pivot"]',
    ],
)
def test_check_refuses_a_start_that_a_driver_decides_as_sweep_does(tmp_path: Path, capsys, words: str) -> None:
    driven = '[drive]\ncrank_pivot = "harmonic(amplitude=.3,frequency=2)"'
    text = f'model = "four_bar"\nspan = 0.01\nkeep = "none"\n{words}\n{driven}'
    (tmp_path / "study.toml").write_text(text)
    said = []
    for command in (["check"], ["sweep", "--out", str(tmp_path / "study.zarr")]):
        assert main([command[0], str(tmp_path / "study.toml"), *command[1:]]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] and "a joint that the driver four_bar:crank_pivot_drive moves" in said[0]


def test_the_schema_is_published(capsys) -> None:
    assert main(["check", "--study-schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == study_file.schema() and schema["properties"].keys() == KEYS.keys()
    assert main(["check", "--study-schema", "four_bar"]) == 2
