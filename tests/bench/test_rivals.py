"""`shiftjax bench --rivals`: other codes on the same mechanism, judged by one judge; those that are missing say why."""

import json
import xml.etree.ElementTree as ET
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from shiftjax.bench.rivals import race as races
from shiftjax.bench.rivals.hinge_tree import split, tree_of
from shiftjax.bench.rivals.judge import judged
from shiftjax.bench.rivals.mjcf import CLOSINGS, mjcf
from shiftjax.bench.rivals.race import RIVALS, race_of
from shiftjax.bench.rivals.rival import Race
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
    exact = judged(TREE, 1, MASSES, q, v)
    assert exact["gap"] < EXACT and exact["energy_error"] < 1e-8, "the error of RK4 is 6e-9 at most"
    crank, tip = 1e-3, "coupler:tip.position"  # rad: what the crank carries turns with it, and the rocker does not
    q[2, 1, 0] += crank
    places = simulate("four_bar", 0.02, STEP, channels=[tip], vary={"coupler.mass": MASSES}, threads=1).channels[tip]
    away = float(np.linalg.norm(places[1, -1]))  # of the pin that is cut from the crank's pivot, the origin
    assert judged(TREE, 1, MASSES, q, v)["gap"] == pytest.approx(2.0 * away * np.sin(crank / 2.0), rel=1e-9)
    v[1] *= 1.1
    assert judged(TREE, 1, MASSES, q, v)["energy_error"] == pytest.approx(0.21, rel=0.3), "energies go by v squared"


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
    assert soft["difference"] == pytest.approx(1e-3) and 1e-4 < soft["gap"] < 1e-3 and "skipped" not in soft
    assert lines["replay", "other"]["skipped"] == "it moves otherwise: by 0.2 rad"
    assert lines["replay", "lost"]["skipped"] == "its motion is not finite"
    assert lines["replay", "broken"]["skipped"] == "KeyError: 'broken'"
    assert lines["chalk", ""]["skipped"] == "no package chalk"
    for key in (("replay", "other"), ("replay", "lost"), ("replay", "broken"), ("chalk", "")):
        assert "steps_per_s" not in lines[key], "what is not right has no rate"
    assert "no package chalk" in table and "we are faster by" in table


def test_every_code_that_is_shipped_runs_or_says_what_is_missing() -> None:
    race = race_of(workload("four_bar", span=0.02), 2, 1)
    rows = [*races.entered(race, [name for name in RIVALS if name != "array code"])]
    assert {row[0] for row in rows} == {"mujoco", "mjx", "mujoco_warp"}
    if find_spec("mujoco") is None:
        assert all(why == "no package mujoco" or why == "no package mujoco_warp" for *_, why in rows)


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
        q, v = RIVALS["mujoco"]().enter(race, setting).path(100, 10)
        figures = judged(race.tree, race.varied, race.masses, q, v)
        assert np.abs(q - motion(100, 10)[0]).max() < 1e-4 and figures["gap"] < 1e-5, "rad; m: it is tuned"
