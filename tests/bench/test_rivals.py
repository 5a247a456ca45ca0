"""`shiftjax bench --rivals`: other codes on the same mechanism, judged by one judge; those that are missing say why."""

import json
import xml.etree.ElementTree as ET
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.bench.rivals import race as races
from shiftjax.bench.rivals.hinge_tree import depth_first, split, start_speeds, tree_of, twin_speeds
from shiftjax.bench.rivals.in_turn import InTurn
from shiftjax.bench.rivals.judge import angles_of, bodies_of, judged
from shiftjax.bench.rivals.mjcf import CLOSINGS, mjcf
from shiftjax.bench.rivals.race import RIVALS, race_of
from shiftjax.bench.rivals.rival import Bodies, Race
from shiftjax.bench.workload import workload
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.run.simulate import simulate

EXACT = 1e-12  # m, or of the energy: both are rounding
STEP, STEPS = 1e-3, 50
MASSES = np.array([0.96, 1.44])  # kg, of the coupler, link 1
TREE = tree_of(load("four_bar"))


def motion(steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Our own motion as a rival gives it: (instants, 2, hinges)."""
    names = [f"{link.joint}.{kind}" for kind in "qv" for link in TREE.links]
    ticks = {"output_step": every * STEP, "threads": 1}
    result = simulate("four_bar", steps * STEP, STEP, channels=names, vary={"coupler.mass": MASSES}, **ticks)
    both = np.stack([result.channels[name].T for name in names], axis=-1)
    q, v = np.split(both, 2, axis=-1)
    return q - q[0], v


class Replay:
    """A rival that moves as we do, up to an error of its angles."""

    precision, device, masses = "f64", "cpu", MASSES

    def __init__(self, error: float) -> None:
        self.error = error

    def run(self, steps: int) -> None:
        """Work that takes some time."""
        for _ in range(steps):
            np.linalg.solve(np.eye(40), np.ones(40))

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        q, v = motion(steps, every)
        return q + self.error * np.linspace(0.0, 1.0, len(q))[:, None, None] * [1.0, 0.0, 0.0], v


class ReplayRival:
    """One setting for each error."""

    settings = {"exact": "as we", "soft": "nearly as we", "other": "otherwise", "lost": "not at all", "broken": ""}  # noqa: RUF012
    errors = {"exact": 0.0, "soft": 1e-3, "other": 0.2, "lost": np.nan}  # noqa: RUF012

    def enter(self, race: Race, setting: str) -> Replay:
        return Replay(self.errors[setting])


def lacking() -> Any:
    raise ModuleNotFoundError("No module named 'chalk'", name="chalk")


def test_the_judge_sees_what_is_exact_and_what_is_not() -> None:
    """The gap of a motion that we close, and its energies, by other kinematics than ours."""
    q, v = motion(STEPS, 10)
    exact = judged(TREE, 1, MASSES, (q, v))
    assert exact["gap"] < EXACT and exact["energy_error"] < 1e-8, "the error of RK4 is 6e-9 at most"
    crank, tip = 1e-3, "coupler:tip.position"  # rad: what the crank carries turns with it, and the rocker does not
    q[2, 1, 0] += crank
    places = simulate("four_bar", 0.02, STEP, channels=[tip], vary={"coupler.mass": MASSES}, threads=1).channels[tip]
    away = float(np.linalg.norm(places[1, -1]))  # of the pin that is cut from the crank's pivot, the origin
    assert judged(TREE, 1, MASSES, (q, v))["gap"] == pytest.approx(2.0 * away * np.sin(crank / 2.0), rel=1e-9)
    v[1] *= 1.1
    assert judged(TREE, 1, MASSES, (q, v))["energy_error"] == pytest.approx(0.21, rel=0.3), "energies go by v squared"


def test_all_settings_of_a_code_have_a_line(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(races, "CALL_S", 0.005)
    for name, rival in {"replay": ReplayRival, "chalk": lacking}.items():
        RIVALS[name] = rival
    words = ["--rivals", "--rival", "replay", "--rival", "chalk", "--members", "8", "--span", "0.05", "--threads", "1"]
    try:
        assert main(["bench", "four_bar", *words, "--rounds", "2", "--json"]) == 0
        lines = {
            (line["code"], line["setting"]): line for line in map(json.loads, capsys.readouterr().out.splitlines())
        }
        assert main(["bench", "four_bar", *words, "--rounds", "1"]) == 0
        table = capsys.readouterr().out
    finally:
        for name in ("replay", "chalk"):
            RIVALS.pop(name)
    ours, exact, soft = lines["shiftjax", "cpu"], lines["replay", "exact"], lines["replay", "soft"]
    assert ours["gap"] < EXACT and ours["times"] == 1.0 and ours["members"] == 8
    assert exact["gap"] < EXACT and exact["difference"] < EXACT and exact["steps_per_s"] > 0
    assert exact["times"] == pytest.approx(ours["steps_per_s"] / exact["steps_per_s"])
    assert ours["times_stepping"] > 1.0, "whole calls take longer than their steps"
    assert exact["runs_on"] == "cpu"
    assert exact["times_stepping"] == pytest.approx(ours["times_stepping"] * exact["times"])
    assert soft["difference"] == pytest.approx(1e-3) and 1e-4 < soft["gap"] < 1e-3 and "skipped" not in soft
    assert lines["replay", "other"]["skipped"] == "it moves otherwise: by 0.2 rad"
    assert lines["replay", "lost"]["skipped"] == "its motion is not finite"
    assert lines["replay", "broken"]["skipped"] == "KeyError: 'broken'"
    assert lines["chalk", ""]["skipped"] == "no package chalk"
    for key in (("replay", "other"), ("replay", "lost"), ("replay", "broken"), ("chalk", "")):
        assert "steps_per_s" not in lines[key], "what is not right has no rate"
    assert "no package chalk" in table and "we are faster by" in table


def test_worlds_of_a_gpu_have_masses_in_turn() -> None:
    race = race_of(workload("four_bar", span=0.02), 9, 1)
    masses, which = race.worlds(3, 8)
    assert masses.tolist() == race.masses[[0, 4, 8]].tolist() and which.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert race.worlds(20)[1].tolist() == list(range(9)), "one of each where there are no more"


class SlowRival(ReplayRival):
    """Ctrl-C comes while its second setting compiles."""

    def enter(self, race: Race, setting: str) -> Replay:
        if setting == "soft":
            raise KeyboardInterrupt
        return super().enter(race, setting)


def test_an_interrupt_leaves_what_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those that are ready take their turns and are written; then the command ends as after any Ctrl-C."""
    monkeypatch.setattr(races, "CALL_S", 0.005)
    slow: Any = SlowRival
    RIVALS["slow"], written = slow, tmp_path / "lines.jsonl"
    words = ["--rivals", "--rival", "slow", "--members", "8", "--span", "0.05", "--threads", "1", "--rounds", "1"]
    try:
        assert main(["bench", "four_bar", *words, "--output", str(written)]) == 130
    finally:
        RIVALS.pop("slow")
    ours, exact = map(json.loads, written.read_text(encoding="utf-8").splitlines())
    assert (ours["code"], exact["setting"]) == ("shiftjax", "exact") and exact["steps_per_s"] > 0


MODULES = {
    "mujoco": "mujoco", "mjx": "mujoco", "mujoco_warp": "mujoco_warp", "pinocchio": "pinocchio", "drake": "pydrake",
    "dart": "dartpy", "exudyn": "exudyn", "genesis": "genesis", "jaxsim": "jaxsim", "kamino": "newton",
}  # fmt: skip


def test_every_code_that_is_shipped_runs_or_says_what_is_missing() -> None:
    """Those whose packages are there are measured by the command itself: some compile for minutes."""
    assert set(RIVALS) == {*MODULES, "array code"}
    race = race_of(workload("four_bar", span=0.02), 2, 1)
    missing = [name for name, module in MODULES.items() if find_spec(module) is None]
    rows = {name: (setting, entrant, why) for name, setting, _, entrant, why in races.entered(race, missing)}
    assert list(rows) == missing
    for name, (setting, entrant, why) in rows.items():
        assert (setting, entrant) == ("", None) and why.startswith(f"no package {MODULES[name]}"), why
    if "pinocchio" in missing:
        assert rows["pinocchio"][2] == "no package pinocchio (pip install pin)"


def test_bodies_are_judged_as_angles_are_and_their_open_hinges_count() -> None:
    """The same motion told by angles and by bodies; then one body off its hinge by a shift that no angle shows."""
    q, v = motion(STEPS, 10)
    bodies = bodies_of(TREE, (q, v))
    assert np.abs(angles_of(TREE, bodies) - q).max() < EXACT
    by_angles, by_bodies = judged(TREE, 1, MASSES, (q, v)), judged(TREE, 1, MASSES, bodies)
    assert by_bodies == pytest.approx(by_angles, abs=EXACT)
    shift = bodies.shift.copy()
    shift[3, 1, 0] += [3e-4, 0.0, 4e-4]  # the crank, which hangs on ground and carries the coupler
    apart = judged(TREE, 1, MASSES, bodies._replace(shift=shift))
    assert apart["gap"] == pytest.approx(5e-4, rel=1e-6)
    assert np.abs(angles_of(TREE, bodies._replace(shift=shift)) - q).max() < EXACT


def test_velocities_of_bodies_are_derivatives_of_their_places() -> None:
    """Centres of mass and rotations, by differences over 1 ms of a fast motion."""
    q, v = motion(STEPS, 1)
    bodies = bodies_of(TREE, (q, v))
    centres = np.array([link.p_WB + link.R_WB @ np.array(link.body.center_of_mass) for link in TREE.links])
    places = np.einsum("tnkij,kj->tnki", bodies.rotation, centres) + bodies.shift
    rates = (places[2:] - places[:-2]) / (2.0 * STEP)
    assert np.abs(rates - bodies.velocity[1:-1]).max() < 1e-4, "m/s: a third of a step squared times jerk"
    turning = (bodies.rotation[2:] - bodies.rotation[:-2]) / (2.0 * STEP) @ np.swapaxes(bodies.rotation[1:-1], -1, -2)
    spin = np.stack([turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]], axis=-1)
    assert np.abs(spin - bodies.omega[1:-1]).max() < 1e-3, "rad/s"


@pytest.mark.parametrize("name", ["four_bar", "n_four_bar_5", "bricard", "bennett"])
def test_speeds_and_order_that_others_are_given(name: str) -> None:
    """Speeds at the start keep loops closed, and twins move as their bodies; whatever a link carries follows it."""
    tree = tree_of(load(name))
    speeds = start_speeds(tree)
    given = np.array([link.speed for link in tree.links])
    assert np.array_equal(speeds[given != 0.0], given[given != 0.0])
    result = simulate(name, STEP, STEP, channels=[f"{link.joint}.v" for link in tree.links], threads=1)
    ours = np.array([result.channels[f"{link.joint}.v"][0] for link in tree.links])
    assert speeds == pytest.approx(ours, abs=1e-9)
    twins, pairs = split(tree)
    still = np.zeros((1, 1, len(twins.links)))
    bodies = bodies_of(twins, (still, np.array([*speeds, *twin_speeds(tree, speeds)])[None, None]))
    for whole, twin in pairs:
        assert bodies.omega[0, 0, twin] == pytest.approx(bodies.omega[0, 0, whole], abs=EXACT)
        assert bodies.velocity[0, 0, twin] == pytest.approx(bodies.velocity[0, 0, whole], abs=EXACT)
    order = depth_first(tree)
    assert sorted(order) == list(range(len(tree.links)))
    for k, link in enumerate(tree.links):
        carried = [one for one in order if _carries(tree, k, one)]
        place = order.index(k)
        assert order[place : place + len(carried)] == carried and (link.parent < 0 or order.index(link.parent) < place)


def _carries(tree: Any, k: int, one: int) -> bool:
    return one == k or (tree.links[one].parent >= 0 and _carries(tree, k, tree.links[one].parent))


class Steady:
    """One mechanism in a code that steps one at a time: it turns at the speed of its mass, all hinges alike."""

    def __init__(self, mass: float, *, as_bodies: bool) -> None:
        self.mass, self.as_bodies, self.steps = mass, as_bodies, -1

    def restart(self) -> None:
        self.steps = 0

    def advance(self, steps: int) -> None:
        self.steps += steps

    def now(self) -> Any:
        q, v = np.full(3, self.mass * self.steps), np.full(3, self.mass)
        return (
            Bodies(*(one[0, 0] for one in bodies_of(TREE, (q[None, None], v[None, None]))))
            if self.as_bodies
            else (q, v)
        )


@pytest.mark.parametrize("as_bodies", [False, True])
def test_members_of_a_code_that_steps_one_at_a_time(as_bodies: bool) -> None:
    """Each has its mass and its instants, whatever ran before."""
    race = Race(TREE, 1, np.linspace(0.01, 0.02, 9), STEP, STEPS, 1)
    entrant = InTurn(race, lambda tree: Steady(tree.links[1].body.mass, as_bodies=as_bodies))
    entrant.run(7)
    path = entrant.path(30, 10)
    assert isinstance(path, Bodies) == as_bodies
    assert entrant.masses[0] == race.masses[0] and entrant.masses[-1] == race.masses[-1]
    expected = np.array([0, 10, 20, 30])[:, None] * entrant.masses
    assert angles_of(TREE, path) == pytest.approx(np.repeat(expected[..., None], 3, axis=-1), abs=EXACT)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slider_crank", "of type"),
        ("scissor_lift", "bench --rivals"),
        ("excavator", "bench --rivals"),
        ("pendulum", "found no loop"),
    ],
)
def test_what_others_would_move_otherwise_is_refused(name: str, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        race_of(workload(name), 2, 1)


def test_a_tolerance_a_part_of_ten_steps_and_an_open_start_are_refused() -> None:
    with pytest.raises(ModelError, match="All codes take equal steps"):
        race_of(workload("four_bar", tolerance=1e-6), 2, 1)
    open_model = load("four_bar").replace({"crank_pivot.initial_displacement": 0.3})
    for span in (0.005, 0.025):
        with pytest.raises(ModelError, match=f"found a span of {span:g} s; allowed: whole multiples of 10 steps"):
            race_of(workload("four_bar", span=span), 2, 1)
    with pytest.raises(ModelError, match="a start whose loops are open"):
        race_of(workload(open_model), 2, 1)


def test_a_weld_hangs_a_twin_beside_the_body_and_keeps_all_mass() -> None:
    twins, pairs = split(TREE)
    assert len(twins.links) == len(TREE.links) + 1 and not twins.cuts and len(pairs) == 1
    total = partial(sum, start=0.0)
    assert total(k.share * k.body.mass for k in twins.links) == pytest.approx(total(k.body.mass for k in TREE.links))
    for name, closing in CLOSINGS.items():
        root = ET.fromstring(mjcf(TREE, STEP, closing))
        masses = [float(one.attrib["mass"]) for one in root.iter("inertial")]
        assert sum(masses) == pytest.approx(total(k.body.mass for k in TREE.links)), name
        (loop,) = next(iter(root.iter("equality")))
        assert loop.tag == closing.kind and ("0.002 1" == loop.get("solref")) == ("tuned" in name)


def test_mujoco_moves_as_we_do() -> None:
    """Its tightest loops by both kinds of constraint, where it is installed."""
    pytest.importorskip("mujoco")
    race = race_of(workload("four_bar", span=0.1), 2, 1)
    for setting in ("connect tuned", "weld tuned"):
        path = RIVALS["mujoco"]().enter(race, setting).path(100, 10)
        figures = judged(race.tree, race.varied, race.masses, path)
        assert np.abs(angles_of(race.tree, path) - motion(100, 10)[0]).max() < 1e-4 and figures["gap"] < 1e-5, (
            "rad; m: it is tuned"
        )
