"""Kinds that come from outside the package, one file each (D4, D32, F18): what CONTRIBUTING promises is done here.

Every one stands in a closed loop, is read from a file, planned, assembled, run on both backends, varied, stored and
reported, with no edit of the package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.constraints import CoordinateFunction, Harmonic
from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.formats import load, save, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.run.advance.accuracy import order_of
from shiftjax.run.info import text
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.extensions import (  # noqa: F401
    bogacki_shampine,
    bristle,
    cam,
    contact,
    gear,
    kutta,
    lines_format,
    low_storage,
    maxwell,
    numpy_backend,
    screw,
    slot,
    spin,
    stop,
)
from tests.extensions.mechanisms import CASES, PITCH, Case, bouncing, geared, press
from tests.support.laws import check_power, check_rows
from tests.support.models.mechanisms import closed_states, rod

EXTENSIONS = Path(__file__).resolve().parents[1] / "extensions"
ROUNDING = 1e-10  # two ways of writing one mechanism, over half a second
ENERGY = 1e-9  # of the largest energy, RK4 at 1 ms over a second
GAP = 1e-13  # m or rad
SLOPE = 1e-6  # relative: differences by a thousandth, of forces with kinks too
BACKENDS = 1e-13  # cpu beside another backend over twenty steps, in rad or m


each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def run(case: Case, span: float = 0.5, **options: object) -> Result:
    return simulate(case.model(), span, 1e-3, channels=case.channels, **options)  # type: ignore[arg-type]


@each
def test_it_is_a_short_file(case: Case) -> None:
    lines = [line for line in (EXTENSIONS / case.file).read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= case.lines, "blank lines do not count"


@each
def test_energy_and_loops_over_a_second(case: Case) -> None:
    """E8, E11, E14: a kind that no file of the package names takes part in loops and motion."""
    result = run(case, 1.0)
    assert result.status == 0 and not result.notes
    assert result.certificate["energy_error"] < case.energy
    assert result.certificate["gap"] < GAP and result.certificate["velocity_gap"] < 100 * GAP
    assert np.ptp(run(case, 1.0, output_step=0.1).channels[case.channels[1]]) > 0.05, "it moves"


@each
def test_rows_and_powers_are_derivatives(case: Case) -> None:
    """E3, E9: differences of Phi, of J v and of the energy in random closed states."""
    prepared, q, v = closed_states(case.model(), 3, seed=1)
    check_rows(prepared, q, v, seed=2)
    power = check_power(prepared, q, v)
    if case.rests:
        assert (power <= 0).all() and (power < 0).any()
    else:
        assert (power < 0).all() if prepared.plan.dissipates else (power == 0).all()


@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "numpy") for name in CASES), ("gear", "xla"), ("maxwell", "xla")]
)
def test_backends_agree(name: str, backend: str) -> None:
    """The compiled code beside the step loop on NumPy, which evaluates the same graphs as XLA does; XLA on two."""
    case = CASES[name]
    one, other = (run(case, 0.02, backend=machine, output_step=0.005) for machine in ("cpu", backend))
    assert max(one.certificate["energy_error"], other.certificate["energy_error"]) < case.energy
    for name in case.channels:
        assert np.abs(one.channels[name] - other.channels[name]).max() < BACKENDS


@each
def test_varied_in_a_batch_it_is_what_one_by_one_gives(case: Case) -> None:
    batch = run(case, vary={case.number: case.values}, output_step=0.1)
    assert (
        batch.status <= 0
    ).all()  # a gear whose ratio changes its sign is `branch_unsure`: its teeth left each other
    for k, value in enumerate(case.values):
        single = run(case, assign={case.number: value}, output_step=0.1)
        for name in case.channels:
            assert np.abs(batch.channels[name][k] - single.channels[name]).max() < ROUNDING
    first = case.channels[1]
    assert np.abs(batch.channels[first][0] - batch.channels[first][2]).max() > 1e-3, "the number matters"


@each
def test_its_number_has_the_gradient_of_differences(case: Case) -> None:
    """Reverse mode through the start and the loops, of the sum of all channels at the end."""
    span = 0.1 if case.model is not bouncing else 0.2  # the pin has come to the floor

    def end(value: Any) -> Any:
        result = shiftjax.simulate(case.model(), span, 1e-3, channels=case.channels, vary={case.number: value})
        return sum(result.channels[name][:, -1].sum() for name in case.channels)

    value = case.values[1]
    slope = jax.grad(end)(jnp.asarray([value]))[0]
    h = 1e-3 * value
    ends = [float(end(np.array([value + k * h]))) for k in (-2, -1, 1, 2)]
    difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)  # of order 4
    assert slope == pytest.approx(difference, rel=SLOPE, abs=SLOPE) and slope != 0


@each
def test_files_hold_it(case: Case, tmp_path: Path) -> None:
    model, file = case.model(), tmp_path / "model.json"
    save(model, file)
    again = load(file)
    assert to_dict(again) == to_dict(model) and again.numbers() == model.numbers()
    path, _, name = case.number.partition("[")[0].rpartition(".")
    changed = model.replace({case.number: 0.125})
    assert changed.numbers()[case.number] == 0.125 and model.number_units()[case.number]
    wrong = file.read_text(encoding="utf-8").replace(f'"{name}"', f'"{name}s"')
    file.write_text(wrong, encoding="utf-8")
    with pytest.raises(ModelError, match=f"{name}s.*{name}"):
        load(file)
    assert path.split(":")[1].partition(".")[0] in str(to_dict(model))


@each
def test_stores_hold_it(case: Case, tmp_path: Path) -> None:
    result = run(case, 0.1, vary={case.number: case.values}, output_step=0.05, keep="all")
    tree = store.read(store.write(result, tmp_path / "study.zarr"))
    members, kept = (tree[name].to_dataset() for name in ("members", "trajectories"))
    assert np.array_equal(members[case.number], case.values)
    assert members[case.number].attrs["units"] == result.units[case.number] != ""
    for name in case.channels:
        assert np.array_equal(kept[name], result.channels[name]) and kept[name].attrs["units"] == result.units[name]
    assert load(json.loads(tree.attrs["model"])).numbers() == result.model.numbers()


def test_the_report_names_the_gear() -> None:
    report = text(geared())
    assert "tied by:     a:teeth" in report and "1 degree of freedom" in report


CACHED = """
import json
from shiftjax.run.simulate import simulate
import my_gear, my_maxwell, my_screw
from tests.extensions.mechanisms import CASES

def last(case):
    return simulate(case.model(), 0.1, 1e-3, channels=case.channels).channels[case.channels[1]].tolist()

print(json.dumps({name: last(CASES[name]) for name in ("gear", "maxwell", "screw")}))
"""
CHANGES = {
    "gear": ("gamma=[0.0]", "gamma=[0.5]"),
    "maxwell": ('n["k"] * states', '2.0 * n["k"] * states'),
    "screw": ('n["pitch"]', '-n["pitch"]'),
}


def test_compiled_code_is_found_by_the_text_of_the_kind(tmp_path: Path) -> None:
    """A second process compiles nothing; with other sources of the kinds one does, and gives their results."""
    root = EXTENSIONS.parents[1]
    sources, cache = {name: tmp_path / f"my_{name}.py" for name in CHANGES}, tmp_path / "cache"
    for name, source in sources.items():
        shutil.copy(EXTENSIONS / f"{name}.py", source)

    def results() -> tuple[dict[str, list[float]], int]:
        call = [sys.executable, "-c", CACHED]
        environment = {**os.environ, "SHIFTJAX_CACHE_DIR": str(cache), "PYTHONPATH": f"{tmp_path}:{root}"}
        done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), len(list(cache.rglob("*.o")))

    first, compiled = results()
    assert results() == (first, compiled)
    for name, change in CHANGES.items():
        sources[name].write_text(sources[name].read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    other, more = results()
    assert more >= compiled + len(CHANGES) and all(other[name] != first[name] for name in CHANGES)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ModelError, match=r"constraint kind 'my_gear'.*taken"):
        gear.CONSTRAINTS["my_gear"] = maxwell.Maxwell()  # type: ignore[assignment]


# -- the gear ------------------------------------------------------------------------------------------------------


def test_a_gear_keeps_its_ratio_and_couples_loop_and_disc() -> None:
    result = run(CASES["gear"], output_step=0.01)
    gap = result.channels["pivot.q"] - (2.0 * result.channels["spin.q"] - 1.6)
    assert np.abs(gap).max() < GAP
    plan = simulate(geared(), 1e-3, 1e-3).report
    assert len(plan["substructures"]) == 1 and plan["substructures"][0]["rows"] == 7


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_a_function_of_coordinates_is_the_gear(backend: str) -> None:
    """Without formulas, by forward mode, in each backend."""
    span, names = (0.5, CASES["gear"].channels) if backend == "cpu" else (0.02, CASES["gear"].channels)
    ratio = CoordinateFunction(("a:pivot", "a:spin"), lambda q, t: q[0] - 2.0 * q[1] + 1.6)
    options = {"channels": names, "output_step": 0.005, "backend": backend}
    written = simulate(geared(constraint=False), span, 1e-3, tie={"ratio": ratio}, **options)  # type: ignore[arg-type]
    teeth = simulate(geared(), span, 1e-3, **options)  # type: ignore[arg-type]
    for name in names:
        assert np.abs(written.channels[name] - teeth.channels[name]).max() < ROUNDING
    assert written.certificate["energy_error"] < ENERGY


def test_a_function_of_coordinates_may_bend_and_depend_on_time() -> None:
    """A cam: 0.3 s sin(q) + t; its slopes by differences, and the balance of energy with the work that it does."""
    import jax.numpy as jnp

    bent = CoordinateFunction(("a:spin", "a:pivot"), lambda q, t: q[0] - 0.3 * jnp.sin(q[1]) * jnp.cos(q[1]) - 0.2 * t)
    model = geared(constraint=False)
    result = simulate(model, 1.0, 1e-3, tie={"cam": bent}, channels=["spin.q", "pivot.q"], output_step=0.01)
    q, p, t = result.channels["spin.q"], result.channels["pivot.q"], result.time
    assert np.abs(q - 0.3 * np.sin(p) * np.cos(p) - 0.2 * t).max() < GAP
    assert result.certificate["energy_error"] < 10 * ENERGY  # its work is integrated along


# -- the Maxwell element -------------------------------------------------------------------------------------------


def test_a_maxwell_element_follows_its_closed_form() -> None:
    """Under q = A sin(w t) the stretch is that of a first-order high pass (Macosko, Rheology, section 3.3)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.force("creep", "maxwell", joint="pivot", k=3.0, c=0.7)
    A, w, rate = 0.4, 5.0, 3.0 / 0.7
    drive = {"pivot": Harmonic(amplitude=A, frequency=w)}
    result = simulate(builder.build(), 2.0, 1e-3, drive=drive, channels=["creep.stretch"], output_step=0.01)
    t = result.time
    steady = lambda t: A * w * (rate * np.cos(w * t) + w * np.sin(w * t)) / (rate**2 + w**2)  # noqa: E731
    exact = steady(t) - steady(0.0) * np.exp(-rate * t)
    assert np.abs(result.channels["creep.stretch"] - exact).max() < 1e-11  # of RK4 at 1 ms
    assert result.certificate["energy_error"] < 1e-10


def test_a_state_of_a_force_goes_on_with_the_run() -> None:
    """Two halves are the whole, bit for bit; a start of the state is kept."""
    whole = run(CASES["maxwell"], 0.4, output_step=0.2)
    half = run(CASES["maxwell"], 0.2, output_step=0.2)
    rest = run(CASES["maxwell"], 0.2, output_step=0.2, start=half)
    for name in CASES["maxwell"].channels:
        assert rest.channels[name][-1] == whole.channels[name][-1]
    assert whole.channels["creep.stretch"][0] == 0.2
    starts = run(CASES["maxwell"], 0.01, vary={"creep.initial_stretch": [0.0, 0.1]})
    assert starts.channels["creep.stretch"][:, 0].tolist() == [0.0, 0.1]


# -- the screw -----------------------------------------------------------------------------------------------------


def test_a_screw_is_a_slider_and_a_hinge_that_a_gear_couples() -> None:
    one, other = (
        simulate(press(screwed), 0.5, 1e-3, channels=CASES["screw"].channels, output_step=0.01)
        for screwed in (True, False)
    )
    for name in CASES["screw"].channels:
        assert np.abs(one.channels[name] - other.channels[name]).max() < ROUNDING
    turned = one.channels["lead.q"]
    carried = simulate(press(), 0.5, 1e-3, channels=["slide.q", "nut.position"], output_step=0.01)
    assert np.abs(carried.channels["slide.q"] - PITCH * turned).max() < GAP
    assert np.abs(carried.channels["nut.position"][:, 0] - PITCH * turned).max() < GAP


def test_the_screw_of_the_package_is_that_from_outside() -> None:
    """M2, D11: to the bit, and files hold its pitch."""
    document = to_dict(press())
    lead = next(joint for joint in document["assemblies"][0]["joints"] if joint["name"] == "lead")
    lead["type"] = "screw"
    model = load(document)
    assert model.numbers()["a:lead.pitch"] == PITCH
    one, other = (simulate(each, 0.2, 1e-3, channels=CASES["screw"].channels) for each in (model, press()))
    assert all(one.channels[name].tobytes() == other.channels[name].tobytes() for name in CASES["screw"].channels)


def test_a_screw_transmits_its_thrust() -> None:
    """The thrust along the thread is what accelerates all that slides; it comes with a moment of thrust times pitch."""
    channels = ["lead.reaction_force", "lead.reaction_moment", "lead.a", "slide.a"]
    result = simulate(press(), 0.2, 1e-3, channels=channels, output_step=0.02)
    assert np.abs(result.channels["slide.a"] - PITCH * result.channels["lead.a"]).max() < 1e-9
    # The thread is frictionless: the constraint does no work along its motion, M_x + pitch F_x = 0.
    work = result.channels["lead.reaction_moment"][:, 0] + PITCH * result.channels["lead.reaction_force"][:, 0]
    assert np.abs(work).max() < 1e-9 * np.abs(result.channels["lead.reaction_force"]).max()


# -- an integrator and a channel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_an_integrator_is_of_the_order_it_says(backend: str) -> None:
    """The 3/8 rule on a four-bar: halving the step divides the error by sixteen; against RK4 with a tenth of it."""
    span, channels = 0.16, ["pivot.q", "pivot.v"]
    fine = simulate(geared(), span, 1e-4, channels=channels).channels
    found = [simulate(geared(), span, h, method="kutta", channels=channels, backend=backend) for h in (8e-3, 4e-3)]
    errors = [max(abs(result.channels[name][-1] - fine[name][-1]) for name in channels) for result in found]
    assert 14 < errors[0] / errors[1] < 18
    assert found[0].settings["method"] == "kutta"


@pytest.mark.parametrize(("method", "order"), [("williamson", 3), ("midpoint", 2)])
def test_methods_that_no_table_states(method: str, order: int) -> None:
    """Two registers, a projection in the middle: their order on a four-bar, and the same numbers by plain NumPy."""
    channels = ["pivot.q", "pivot.v"]
    settings: dict[str, Any] = {"method": method, "channels": channels}
    fine = simulate(geared(), 0.16, 1e-4, channels=channels).channels
    found = [simulate(geared(), 0.16, h, **settings) for h in (4e-3, 2e-3)]
    errors = [max(abs(result.channels[name][-1] - fine[name][-1]) for name in channels) for result in found]
    assert 0.8 * 2**order < errors[0] / errors[1] < 1.2 * 2**order
    assert order_of(METHODS[method]) == order
    plain = simulate(geared(), 0.16, 4e-3, backend="numpy", **settings)
    for name in channels:
        assert np.abs(plain.channels[name] - found[0].channels[name]).max() < BACKENDS


@pytest.mark.parametrize("method", ["williamson", "midpoint"])
def test_gradients_of_methods_that_no_table_states(method: str) -> None:
    """Of the last angle by the inertia of the disc: as differences of whole runs say."""

    def last(inertia: Any) -> Any:
        settings: dict[str, Any] = {"method": method, "channels": ["pivot.q"], "output_step": 0.02}
        run = shiftjax.simulate(geared(), 0.1, 2e-3, vary={"disc.inertia.Iyy": inertia}, **settings)
        return run.channels["pivot.q"][:, -1]

    inertias, step = np.array([0.02, 0.04]), 1e-5
    with jax.enable_x64(True):
        slopes = np.asarray(jax.grad(lambda inertia: last(inertia).sum())(jnp.asarray(inertias)))
    differences = (last(inertias + step) - last(inertias - step)) / (2 * step)
    assert np.abs(slopes - differences).max() < 1e-7 * np.abs(slopes).max()  # of second order in the step


def test_an_embedded_pair_takes_a_tolerance() -> None:
    """On a four-bar in a batch: errors go with the tolerance, steps with its third root, of order three.

    Beside RK4 with small steps; a member alone is that of the batch, plain NumPy takes the same steps.
    """
    masses, tolerances = {"disc.inertia.Iyy": np.array([0.02, 0.04])}, (1e-5, 1e-8)
    settings: dict[str, Any] = {"channels": ["pivot.q", "pivot.v"], "output_step": 0.1, "vary": masses}
    fine = simulate(geared(), 0.5, 1e-4, **settings).channels
    found = [simulate(geared(), 0.5, method="bs32", tolerance=tolerance, **settings) for tolerance in tolerances]
    for result, tolerance in zip(found, tolerances, strict=True):
        assert (result.status == 0).all() and (result.certificate["gap"] < GAP).all()
        assert max(np.abs(result.channels[name] - fine[name]).max() for name in fine) < 100 * tolerance
    steps = [result.certificate["steps"] for result in found]
    growth = np.log(steps[1] / steps[0]) / np.log(tolerances[0] / tolerances[1])
    assert order_of(METHODS["bs32"]) == 3 and (np.abs(growth - 1 / 3) < 0.05).all()
    alone = {**settings, "vary": {"disc.inertia.Iyy": np.array([0.04])}, "method": "bs32", "tolerance": 1e-5}
    cpu, plain = (simulate(geared(), 0.5, backend=backend, **alone) for backend in ("cpu", "numpy"))
    assert cpu.certificate["steps"][0] == plain.certificate["steps"][0] == steps[0][1]
    for name in fine:
        assert cpu.channels[name][0].tobytes() == found[0].channels[name][1].tobytes()
        assert np.abs(cpu.channels[name] - plain.channels[name]).max() < BACKENDS
    with pytest.raises(ModelError, match="method: found 'bs32', which controls its step size"):
        simulate(geared(), 0.5, 1e-3, method="bs32")


def test_gradients_of_an_embedded_pair() -> None:
    """Of the last angle by the inertia of the disc: as differences of runs along the same steps say."""
    settings: dict[str, Any] = {"method": "bs32", "tolerance": 1e-6, "channels": ["pivot.q"], "output_step": 0.1}

    def last(inertia: Any, **more: Any) -> Any:
        run = shiftjax.simulate(geared(), 0.2, vary={"disc.inertia.Iyy": inertia}, **settings, **more)
        return run.channels["pivot.q"][:, -1]

    inertias, step = np.array([0.02, 0.04]), 1e-5
    with jax.enable_x64(True):
        slopes = np.asarray(jax.grad(lambda inertia: last(inertia).sum())(jnp.asarray(inertias)))
    taken = simulate(geared(), 0.2, vary={"disc.inertia.Iyy": inertias}, **settings).schedule
    up, down = (last(inertias + side * step, schedule=taken) for side in (1, -1))
    assert np.abs(slopes - (up - down) / (2 * step)).max() < 1e-7 * np.abs(slopes).max()  # of second order in the step


@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_a_channel_from_outside_is_recorded(backend: str) -> None:
    """The nut's, along the screw, is the speed of its joint; the lift does not turn."""
    names = ["nut.spin", "lead.v", "lift.spin"]
    seen = simulate(press(), 0.02, 1e-3, channels=names, output_step=0.005, backend=backend)
    assert seen.units["nut.spin"] == "rad/s" and seen.channels["nut.spin"].shape == seen.time.shape
    assert np.abs(seen.channels["nut.spin"] - seen.channels["lead.v"]).max() < GAP
    assert np.abs(seen.channels["lift.spin"]).max() < GAP < seen.channels["nut.spin"].max()
    with pytest.raises(ModelError, match="spin"):
        simulate(press(), 0.02, 1e-3, channels=["lead.spin"])


# -- a reader of files ---------------------------------------------------------------------------------------------

LINES = """
body upper 1.0 0 0 -0.5
body lower 2.0 0 0 -0.25
joint shoulder Ry fixed 0 0 1 upper 0.5
joint elbow Ry upper 0 0 -1 lower -0.2
"""


def test_a_reader_is_a_short_file() -> None:
    text = (EXTENSIONS / "lines_format.py").read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip()]) <= 70


def test_a_file_of_another_format_is_loaded_and_simulated(tmp_path: Path) -> None:
    """By its suffix, in small or large letters; saved and loaded again it is the same model and the same motion."""
    file = tmp_path / "arm.LINES"
    file.write_text(LINES, encoding="utf-8")
    model = load(file)
    assert model.name == "arm" and [path for path, _ in model.joints()] == ["main:shoulder", "main:elbow"]
    assert model.numbers()["main:lower.mass"] == 2.0 and model.numbers()["main:upper:elbow.T[2]"] == -1.0
    save(model, tmp_path / "arm.json")
    channels = ("elbow.q", "energy.total")
    one, other = (simulate(given, 0.2, 1e-3, channels=channels) for given in (str(file), load(tmp_path / "arm.json")))
    assert one.status == 0 and one.certificate["energy_error"] < ENERGY
    assert one.channels["elbow.q"].tolist() == other.channels["elbow.q"].tolist()
    assert abs(one.channels["elbow.q"][-1] + 0.2) > 0.01, "it moves"


def test_a_file_of_another_format_is_included(tmp_path: Path) -> None:
    (tmp_path / "arm.lines").write_text(LINES, encoding="utf-8")
    entry = {"name": "left", "include": "arm.lines"}
    document = {"model_parameters": {"version": "2.0", "gravity": [0, 0, -9.81]}, "assemblies": [entry]}
    assert "left:main:lower.mass" in load(document, tmp_path).numbers()


def test_errors_of_another_format_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "arm.lines"
    file.write_text(LINES + "wheel a 1.0\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"arm\.lines, line 6: found 'wheel a 1\.0'"):
        load(file)
    file.write_text(LINES.replace("joint elbow Ry", "joint elbow Rq"), encoding="utf-8")
    with pytest.raises(ModelError, match="Rq"):
        load(file)


@pytest.mark.parametrize("suffix", [".usd", ".JSN"])
def test_files_without_a_reader_are_refused(suffix: str, tmp_path: Path) -> None:
    """By name, with the suffixes that are known; the same of an included one. Without a suffix a file is JSON."""
    text = json.dumps(to_dict(load("pendulum")))
    file = tmp_path / f"arm{suffix}"
    file.write_text(text, encoding="utf-8")
    entry = {"name": "left", "include": file.name}
    outer = {"model_parameters": {"version": "2.0", "gravity": [0, 0, -9.81]}, "assemblies": [entry]}
    for call in (lambda: load(file), lambda: load(outer, tmp_path), lambda: save(load("pendulum"), file)):
        with pytest.raises(ModelError, match=rf"arm\{suffix}.*suffix '\{suffix}'") as caught:
            call()
        assert ".json" in caught.value.allowed
    bare = tmp_path / "arm"
    bare.write_text(text, encoding="utf-8")
    assert load(bare).numbers() == load("pendulum").numbers()
