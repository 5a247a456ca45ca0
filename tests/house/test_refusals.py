"""What a user can get wrong in a call: one ModelError that says where, and nothing silently taken otherwise."""

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import tomlkit

from shiftjax.cli import common, main
from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.outcome import Outcome
from shiftjax.run.info import info
from shiftjax.run.simulate import simulate
from shiftjax.run.step_function import compile as compile_step
from tests.support.in_this_process import run_here

ROOT = Path(__file__).resolve().parents[2]
SHORT: dict[str, Any] = {"span": 0.01, "step": 1e-3}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"vary": {"crank.mass": ["a"]}}, "vary crank.mass"),
        ({"vary": {"crank.mass": [1.0], "four_bar:crank.mass": [2.0]}}, "same number twice"),
        ({"channels": "crank_pivot.q"}, "a list of paths"),
        ({"hold": "crank_pivot"}, "a list of paths"),
        ({"independent": "crank_pivot"}, "a list of paths"),
        ({"independent": ["crank"]}, "independent"),
        ({"keep": "some"}, "keep"),
        ({"keep": -1}, "keep"),
        ({"span": "1"}, "span"),
        ({"output_step": 0.5}, "at most the span"),
        ({"output_step": 0.0035}, "whole multiple"),
        ({"method": "rk5"}, "method"),
        ({"precision": "f16"}, "precision"),
        ({"backend": "abacus"}, "backend"),
    ],
)
def test_arguments_of_simulate(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        simulate("four_bar", **{**SHORT, **arguments})


@pytest.mark.parametrize(
    ("arguments", "match"), [({"method": "x"}, "method"), ({"step": 0.0}, "step"), ({"precision": "f16"}, "precision")]
)
def test_arguments_of_compile(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        compile_step("four_bar", **arguments)


def test_step_parameters_do_not_depend_on_the_order_they_are_given_in() -> None:
    """The same values under the same paths whatever the order of the dictionary (they were swapped once)."""
    assert jax.config.read("jax_enable_x64")
    paths = ["coupler:tip.T[0]", "rocker:tip.T[0]"]
    sim = compile_step("four_bar", vary=paths)
    values = {paths[0]: np.array([0.5, 0.52]), paths[1]: np.array([0.42, 0.41])}
    forth, back = sim.start(values), sim.start({path: values[path] for path in reversed(paths)})
    for path in paths:
        assert np.array_equal(forth[0][f"four_bar:{path}"], values[path])
        assert np.array_equal(back[0][f"four_bar:{path}"], values[path])
    assert all(np.array_equal(forth[1][name], back[1][name]) for name in forth[1])


def test_going_on_from_another_mechanism_or_other_lengths() -> None:
    pendulum = simulate("pendulum", **SHORT)
    with pytest.raises(ModelError, match="another mechanism"):
        simulate("four_bar", start=pendulum, **SHORT)
    path = "coupler:tip.T[0]"
    first = simulate("four_bar", vary={path: [0.5, 0.52]}, **SHORT)
    with pytest.raises(ModelError, match="loops open by"):
        simulate("four_bar", vary={path: [0.55, 0.52]}, start=first, **SHORT)


def test_masses_are_those_the_user_assigned() -> None:
    """M27: a massless motion is refused whether the file or the call made it so, and cured by the call."""
    nothing = {"link.mass": 0.0}
    with pytest.raises(ModelError, match="moves no mass"):
        simulate("pendulum", assign=nothing, **SHORT)
    empty = load("pendulum").replace(nothing)
    with pytest.raises(ModelError, match="moves no mass"):
        simulate(empty, **SHORT)
    assert simulate(empty, assign={"link.mass": 1.0}, **SHORT).status == 0
    assert simulate(empty, vary={"link.mass": [1.0, 2.0]}, **SHORT).status.tolist() == [0, 0]


def test_a_member_that_never_started_has_no_perfect_figures() -> None:
    """Its gap is what stays open, the other figures are NaN."""
    result = simulate("four_bar", vary={"coupler:tip.T[0]": [0.5, 5.0]}, **SHORT)
    assert result.status.tolist() == [0, Outcome.not_assembled]
    assert result.certificate["gap"][1] > 0.1
    assert np.isnan(result.certificate["energy_error"][1]) and np.isnan(result.certificate["pivot_ratio"][1])


def welded(shift: float) -> ModelBuilder:
    """A body on a hinge with a second one welded to it twice."""
    builder = ModelBuilder()
    assembly = builder.assembly("w")
    assembly.body("arm", mass=1.0, inertia=(1.0, 1.0, 1.0))
    assembly.body("tip", mass=1.0, inertia=(1.0, 1.0, 1.0))
    assembly.joint("hinge", "Rx", child="arm")
    assembly.joint("weld1", "rigid", parent="arm", child="tip")
    place = {"T": [shift, 0.0, 0.0]}
    assembly.joint("weld2", "rigid", parent="arm", child="tip", initial_displacement=place)
    return builder


def test_loops_of_welds_alone() -> None:
    """A body welded twice is a loop without coordinates: counted, closed or refused, never a crash."""
    report = info(welded(0.0).build())
    assert (report["loops"], report["rank"], report["dof"], report["substructures"]) == (1, 0, 1, [])
    assert simulate(welded(0.0).build(), **SHORT).status == 0
    with pytest.raises(ModelError, match="welds that stay apart"):
        simulate(welded(0.1).build(), **SHORT)


def test_a_name_cannot_steer_the_terminal_from_an_error() -> None:
    """Escape codes, newlines and characters that turn the order of a line are shown, not sent; letters stay."""
    name = "crank\x1b[2J\nerror: all is well\u202e\u00e4"
    with pytest.raises(ModelError) as caught:
        simulate("four_bar", **SHORT, hold=[name])
    assert str(caught.value).isprintable() and "\\x1b[2J\\nerror: all is well\\u202e\u00e4" in str(caught.value)


def test_a_name_cannot_steer_the_terminal_from_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    name = "crank\x1b[2J\u202e"
    common.table(("name", "value"), [(name, "1")])
    common.say(f"note: {name}")
    both = capsys.readouterr()
    for text in both:
        assert "crank\\x1b[2J\\u202e" in text and text.replace("\n", "").isprintable()


HOSTILE = "crank\x1b[2J\u202e\nerror: all is well"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with a model file, a study of it and a store, whose names could steer a terminal."""
    monkeypatch.chdir(tmp_path)
    run_here(monkeypatch)
    document = json.loads((ROOT / "models" / "four_bar.json").read_text(encoding="utf-8"))
    (tmp_path / f"{HOSTILE}.json").write_text(json.dumps(document), encoding="utf-8")
    metric = "maximum(crank_pivot.q)"
    study = {"model": f"{HOSTILE}.json", "span": 0.02, "step": 0.01, "metrics": {HOSTILE: metric}}
    (tmp_path / f"{HOSTILE}.toml").write_text(tomlkit.dumps(study), encoding="utf-8")
    return HOSTILE


@pytest.mark.parametrize(
    "command",
    [
        "check {}.json", "check {}.toml", "check {}.toml --json", "info {}.json", "info {}.json --dot",
        "info {}.json --paths", "run {}.json --span 0.02 --out {}.zarr", "sweep {}.toml --out {}.zarr",
        "export {}.json --span 0.02 --html {}.html", "render {}.json --span 0.02 --out {}.png --size 64x64",
        "info none{}.json", "run {}.json --nothing{}", "export {}.json --span 0.02 --html {}.txt",
    ],
)  # fmt: skip
def test_a_name_cannot_steer_the_terminal_from_any_command(
    command: str, hostile: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Names of files, metrics and options are escaped wherever a command prints them, in JSON as JSON does."""
    main([word.replace("{}", hostile) for word in command.split()])
    both = capfd.readouterr()
    text = both.out + both.err
    assert text.replace("\n", "").isprintable() and not any(line.startswith("error: all") for line in text.split("\n"))
    silent = command.endswith(("--dot", "--paths"))  # no name of a file is in it
    assert silent or "crank\\x1b" in text or "crank\\u001b" in text


def test_commands_print_by_functions_that_escape() -> None:
    """`common.put`, `put_json` and `say`; a bare `print` in a command would send a name as it is."""
    for path in sorted((ROOT / "shiftjax" / "cli").glob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        bare = sum(isinstance(call, ast.Name) and call.id == "print" for call in calls)
        assert bare == {"common.py": 3, "__init__.py": 1}.get(path.name, 0), path.name


def test_json_escapes_what_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"name": "\x7f\x9b\u202e\u2028\U000e0001\u00e4\U0001f527\\\n"}
    common.put_json(document)
    text = capsys.readouterr().out
    assert text.removesuffix("\n").isprintable() and json.loads(text) == document and "\u00e4\U0001f527" in text


def test_fractions_are_numbers_and_a_span_may_be_tiny() -> None:
    """A hundredth of a second is one, however it is written; a run of 1e-300 s is one step of it."""
    hundredth: Any = Fraction(1, 100)
    exact, plain = (simulate("pendulum", 0.1, step=step, channels=["pivot.q"]) for step in (hundredth, 1 / 100))
    np.testing.assert_array_equal(exact.channels["pivot.q"], plain.channels["pivot.q"])
    assert simulate("pendulum", 1e-300, channels=["pivot.q"]).channels["pivot.q"].shape == (2,)


def test_names_that_no_file_system_takes_are_not_there() -> None:
    with pytest.raises(ModelError, match="nothing there"):
        store.read("a" * 300 + ".zarr")
