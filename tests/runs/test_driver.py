"""The driver of an ensemble: repartition and its log, moved steps, outcomes, certificates, prescribed coordinates."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftjax.run.advance.driver as driver
from shiftjax.algebra import Scalar
from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kernels.backends import make_kernel
from shiftjax.models import path
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import PIVOT_TRIGGER, WINDOW, Ensemble
from shiftjax.run.advance.first_lanes import begin
from shiftjax.run.advance.settings import Settings
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.simulate import simulate
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import Block, MemberBlocks, Partition, independent_speeds
from tests.support.models.mechanisms import four_bars, pendulum, rod

EXACT = 1e-12  # a prescribed coordinate, a balance of powers: rounding of a few operations a step
FINER_STEP = 1e-7  # rk4 at 1 ms against 0.25 ms through flat poses, crank angles over 2 s (design section 2)
BALANCE = 1e-9  # rk4 at 1 ms: energy against integrated work


def lanes_of(name: str, members: int = 3) -> Ensemble:
    """An ensemble at its start, not run."""
    prepared = prepare(load(name), {})
    began = prepared.file_start
    blocks = [MemberBlocks.alike(block[0], members) for block in partitions(prepared, began, 2.0)]
    q, v, states = (np.repeat(x, members, axis=1) for x in (began.q, began.v, began.states))
    settings, kernel = Settings(1e-3, 100, 100), make_kernel(None, "f64")
    good, everyone = np.ones(members, bool), [(Programs(prepared.setup), np.arange(members))]
    start = replace(began, q=q, v=v, states=states)
    return begin(kernel, settings, start, np.zeros((0, members)), good, blocks, everyone)


# -- repartition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("same", "by_pivot", "entries", "ratio", "adopted"),
    [  # old and new: largest |B|, pivot ratio
        (False, False, (3.0, 1.0), (0.1, 0.1), True),  # |B| tripped, and becomes smaller
        (False, False, (3.0, 3.0), (0.1, 0.1), False),  # no smaller: nothing gained
        (False, False, (3.0, 30.0), (0.1, 0.1), False),  # ten times larger
        (False, False, (3.0, 30.0), (0.1, 0.99), False),  # better pivots, but not ten times
        (False, False, (1.0, 1.0), (0.05, 0.5), True),  # |B| is 1 on both sides of a flat pose: pivots count, too
        (False, True, (3.0, 1.0), (0.1, 0.1), False),  # pivots tripped: a smaller |B| cures nothing
        (False, True, (1.0, 3.0), (0.01, 0.2), True),  # far better pivots
        (False, True, (1.0, 1.0), (0.01, 0.09), False),
        (True, False, (3.0, 1.0), (0.1, 0.1), False),  # the same sets are no other partition
        (True, True, (3.0, 1.0), (0.01, 0.2), False),
        (False, False, (np.inf, 1.0), (0.0, 0.1), True),  # the old one has lost its rank
    ],
)
def test_which_partitions_are_worth_adopting(
    same: bool, by_pivot: bool, entries: tuple[float, float], ratio: tuple[float, float], adopted: bool
) -> None:
    """Design rule 3: neither a smaller |B| nor pivots ten times better is no repartition."""
    pair = [(np.array([old]), np.array([new])) for old, new in (entries, ratio)]
    assert driver.worth_adopting(np.array([same]), np.array([by_pivot]), *pair)[0] == adopted


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_a_partition_with_a_larger_b_is_left(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trip of |B| whose fresh sets have it ten times larger changes no partition; ten times smaller, it does."""
    lanes, members = lanes_of("bricard"), np.arange(3)
    (old,) = lanes.known[0]
    other = replace(old, dependent=old.dependent[1:] + old.independent, independent=old.dependent[:1])
    of = driver.FreshPartitions.of

    def fresh(*arguments: Any) -> Any:
        real, members = of(*arguments), arguments[2]
        return replace(
            real, blocks=MemberBlocks.alike(other, len(members)), same=np.zeros(len(members), bool),
            entries=factor * real.old_entries, ratio=real.old_ratio,
        )  # fmt: skip

    monkeypatch.setattr(driver.FreshPartitions, "of", fresh)
    driver.repartition(lanes, 0, members, np.zeros(3, bool))
    assert (lanes.repartitions == (factor < 1.0)).all()
    assert [lanes.known[0][k] for k in lanes.choice[0]] == [other if factor < 1.0 else old] * 3


def test_log_of_repartitions() -> None:
    """S12, S49: time, member, substructure, old and new coordinates; the file's multiplier decides."""
    result = simulate("bricard", span=3.0, step=1e-3, output_step=1e-3, channels=["substructure[0].b_norm"])
    assert result.model.settings.infinity_norm_multiplier == 1.5
    assert len(result.log) == result.certificate["repartitions"] == result.certificate["rejected"] == 1
    (line,) = result.log
    assert {key: line[key] for key in ("member", "substructure", "old", "new")} == {
        "member": 0,
        "substructure": 0,
        "old": ["bricard:joint4"],
        "new": ["bricard:joint3"],
    }
    b = result.channels["substructure[0].b_norm"]
    at = round(line["time"] / 1e-3)
    assert 1.4 < b[at] <= 1.5 and b[at + 1] < 1.1  # frozen before the step that would have passed 1.5 times 1
    assert result.programs == 2


def test_the_trigger_can_be_switched_off() -> None:
    """S12, S13: the turning point of the partition's coordinate is passed with a new partition, and lost without."""
    settings: dict[str, Any] = {"span": 10.0, "step": 1e-3, "output_step": 0.1, "channels": ["joint1.q", "joint2.q"]}
    good = simulate("bricard", **settings)
    off = simulate("bricard", repartition=False, move_steps=False, **settings)
    assert good.status == 0 and good.certificate["energy_error"] < 1e-11
    assert off.certificate["repartitions"] == 0 and off.log == () and off.programs == 1
    # Measured: 4.8e-6 of the energy, 2.6e-6 rad; the certificate's pivot ratio of 3e-9 says where.
    assert off.certificate["energy_error"] > 1e-6 and off.certificate["pivot_ratio"] < 1e-6
    assert np.abs(off.channels["joint2.q"] - good.channels["joint2.q"]).max() > 1e-6


def with_multiplier(multiplier: float) -> Any:
    """A Bricard whose file says another multiplier."""
    document = json.loads(path("bricard").read_text())
    document["model_parameters"]["solvers"][0]["infinity_norm_multiplier"] = multiplier
    return load(document)


def test_far_better_pivots_are_taken_where_b_says_nothing() -> None:
    """Was `stuck` at 6.8 s: |B| is 1 on both sides of its trip; 107 of 4 000 speeds under 20 rad/s."""
    found = [-15.028668940017443, 15.57951337, 17.08618212, 18.28840718, 11.02764752, -9.0, 3.0]
    result = simulate("bennett", 20.0, 1e-3, vary={"joint1.initial_velocity": found})
    assert (result.status == 0).all(), result.messages


def test_a_higher_multiplier_repartitions_less() -> None:
    """S12: the file's key decides; pivots still ask for a partition where the coordinate turns back."""
    counts = []
    for multiplier in (1.5, 3.0, 1e9):
        vary = {"joint1.initial_velocity": np.linspace(3.0, 5.0, 4)}
        result = simulate(with_multiplier(multiplier), span=2.0, step=1e-3, vary=vary)
        assert (result.status == 0).all() and result.certificate["energy_error"].max() < 1e-6
        counts.append(int(result.certificate["repartitions"].sum()))
    assert counts[0] >= counts[1] >= counts[2] > 0 and counts[0] > counts[2]


def test_the_same_split_is_no_repartition() -> None:
    """S12, design rule 3: a fresh partition equal to the old one changes no set, no program, no log."""
    lanes = lanes_of("bricard")
    members = np.array([0, 2])
    before, programs = lanes.table.copy(), lanes.recordings[0].programs.pieces
    driver.repartition(lanes, 0, members, np.array([True, False]))
    assert lanes.log == [] and not lanes.repartitions.any() and lanes.recordings[0].programs.pieces == programs
    changed = [
        (name, *place)
        for name in lanes.layout.columns()
        for place in np.argwhere(lanes.table.rows(name) != before.rows(name)).tolist()
    ]
    assert ("armed", 1, 0) in changed  # by pivot: off until the pivot has recovered
    assert all(place[:2] in (("armed", 1), ("limit", 0)) for place in changed)
    limit, earlier = lanes.table.row("limit"), before.row("limit")
    assert limit[2] == 2.0 * max(1.0, earlier[2] / 2.0)  # by |B|: counted from here


def test_limits_follow_the_partition() -> None:
    """Design rule 3: multiplier times |B| (floored at 1), a hundredth of the pivot ratio, the window of moved steps."""
    lanes = lanes_of("four_bar", 2)
    limit, ratio = lanes.table.rows("limit"), lanes.ratio[0]
    monitors = lanes.table.rows("mon")
    assert np.allclose(limit[0], 2.0 * np.maximum(monitors[0], 1.0), rtol=1e-12)
    assert np.allclose(limit[1], (PIVOT_TRIGGER * ratio) ** -2.0, rtol=1e-12)
    assert np.allclose(limit[2], (WINDOW * ratio) ** -2.0, rtol=1e-12)
    assert np.allclose(monitors[1], ratio**-2.0, rtol=1e-12)


def test_programs_do_not_grow_with_members() -> None:
    """S9, S16: a partition is one program, whatever the number of members and repartitions."""
    vary = {"joint1.initial_velocity": np.linspace(-6.0, 6.0, 50)}
    result = simulate("bricard", span=2.0, step=2e-3, output_step=0.1, vary=vary)
    splits = {tuple(line[key]) for line in result.log for key in ("old", "new")}
    assert len(result.log) > 50 and result.programs <= len(splits) + 1


# -- moved steps ---------------------------------------------------------------------------------------------------


def test_moved_steps_keep_the_output_ticks() -> None:
    """Design section 2: samples due inside a moved run are interpolated, as good as those of a finer run."""
    speeds = np.random.default_rng(11).uniform(1.0, 6.0, 24)
    vary = {"pivot_0.initial_velocity": speeds}
    channels = ["pivot_0.q", "pivot_2.q", "pivot_2.v", "crank_2:tip.position"]
    settings: dict[str, Any] = {"span": 2.0, "output_step": 1e-3, "channels": channels, "vary": vary}
    coarse = simulate("n_four_bar_2", step=1e-3, **settings)
    fine = simulate("n_four_bar_2", step=2.5e-4, **settings)
    assert (coarse.status == 0).all() and (coarse.certificate["rejected"] > 0).all()
    assert (coarse.certificate["steps"] == 2000).all()
    for channel in channels:
        assert np.isfinite(coarse.channels[channel]).all()
        assert np.abs(coarse.channels[channel] - fine.channels[channel]).max() < FINER_STEP, channel
    parallel = np.abs(coarse.channels["pivot_0.q"] - coarse.channels["pivot_2.q"])
    assert parallel.max() < 1e-9


def test_moving_steps_can_be_switched_off() -> None:
    """Issue 3: the N-four-bar passes its flat pose with moved steps and visibly fails without."""
    vary = {"pivot_0.initial_velocity": np.random.default_rng(1).uniform(0.1, 6.0, 128)}
    settings: dict[str, Any] = {"span": 10.0, "step": 1e-3, "vary": vary, "channels": ["pivot_0.q", "pivot_2.q"]}
    moved = simulate("n_four_bar_2", **settings)
    plain = simulate("n_four_bar_2", move_steps=False, **settings)
    assert (moved.status <= 0).all() and moved.certificate["energy_error"].max() < 1e-7
    assert np.abs(moved.channels["pivot_0.q"] - moved.channels["pivot_2.q"]).max() < 1e-9
    # Measured: 0.65 rad, 1.3e-2 of the energy.
    assert np.nanmax(np.abs(moved.channels["pivot_0.q"] - plain.channels["pivot_0.q"])) > 1e-5
    assert plain.certificate["energy_error"].max() > 1e-5


# -- outcomes ------------------------------------------------------------------------------------------------------


def test_too_large_a_step_ends_a_member() -> None:
    """Design rule 3: the lane is frozen before the bad step, its status says why, the others go on."""
    vary = {"crank_pivot.initial_velocity": np.array([2.0, 400.0])}
    result = simulate("four_bar", span=1.0, step=0.01, output_step=0.1, vary=vary, channels=["crank_pivot.q"])
    assert result.status[0] <= 0  # `inaccurate` at 10 ms
    assert result.status[1] in (Outcome.stuck, Outcome.loop_open)
    assert "smaller" in result.messages[1] and result.messages[1].startswith("at ")
    assert result.certificate["steps"][1] < 100 == result.certificate["steps"][0]
    assert np.isnan(result.channels["crank_pivot.q"][1, -1])
    assert result.final is not None and np.isfinite(result.final["q"]).all()


def test_numbers_that_overflow_end_a_member() -> None:
    """Design rule 3: finiteness is watched; the others go on."""
    result = simulate(four_bars(), span=0.1, vary={"pivot.initial_velocity": np.array([1.0, 1e180])})
    assert result.status[0] == 0
    assert result.status[1] in (Outcome.non_finite, Outcome.stuck)
    massless = simulate(pendulum(), span=0.1, vary={"rod.mass": [1.0, 0.0], "rod.inertia.Iyy": [0.083, 0.0]})
    assert massless.status.tolist() == [0, Outcome.no_mass]
    assert massless.messages[1].startswith("the motion of a:pivot moves no mass of a:rod: ")


def test_a_spin_too_fast_for_the_steps_is_not_called_massless() -> None:
    """A top has its inertia at any speed: where its step is too large, the step is named, at a smaller one it runs."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("top", mass=1.0, inertia=(0.01, 0.02, 0.025), center_of_mass=(0, 0, 0.1))
    a.joint("ball", "spherical", child="top", initial_velocity=(1.0, 0.5, 1.0))
    speeds = np.array([2e3, 3e3, 1e4])
    vary = {f"ball.initial_velocity[{k}]": share * speeds for k, share in enumerate((1.0, 0.5, 1.0))}
    result = simulate(builder.build(), span=0.5, step=1e-3, vary=vary)
    assert np.isin(result.status, (Outcome.stuck, Outcome.non_finite)).all(), result.messages
    assert all("take a smaller" in message for message in result.messages)
    slow = {path: values * 1e-2 for path, values in vary.items()}
    assert (simulate(builder.build(), span=0.01, step=1e-4, vary=slow).status <= 0).all()


def test_lingering_at_a_singular_pose_is_a_warning() -> None:
    """Design rule 3: where no pattern of steps avoids the pose the member goes on, flagged."""
    slow = load("n_four_bar_1").replace({"model_parameters.gravity[1]": 0.0})
    # From 0.02 rad before the flat pose at 5e-5 rad/s: the window of 3e-4 of the pivots is 240 ms, 120 steps, long.
    vary = {"pivot_0.initial_displacement": [-1.55, -1.55], "pivot_0.initial_velocity": [-5e-5, 5e-5]}
    result = simulate(slow, span=440.0, step=2e-3, vary=vary)
    assert result.status.tolist() == [Outcome.near_singular, Outcome.ok]
    assert "pivot_ratio" in result.messages[0] and result.messages[1] == ""
    assert result.certificate["pivot_ratio"][0] < 1e-4 * result.certificate["pivot_ratio"][1]
    assert result.certificate["steps"].tolist() == [220_000, 220_000]


# -- certificates --------------------------------------------------------------------------------------------------


def test_certificate_of_a_conservative_run() -> None:
    """Design rule 4: the figures are those recomputed from channels of every step."""
    channels = ["energy.kinetic", "energy.potential", "energy.total", "substructure[0].pivot_ratio"]
    result = simulate("four_bar", span=1.0, step=1e-3, output_step=1e-3, channels=channels)
    kinetic, potential, total, ratio = (result.channels[channel] for channel in channels)
    scale = max(kinetic.max(), np.abs(potential - potential[0]).max())
    certificate = result.certificate
    assert abs(certificate["energy_error"] - np.abs(total - total[0]).max() / scale) < EXACT
    assert -1e-4 < certificate["pivot_ratio"] - ratio.min() <= 0.0  # stages between the instants count too
    assert certificate["steps"] == 1000 and certificate["rejected"] == 0 and certificate["repartitions"] == 0
    assert 0 <= certificate["gap"] < 1e-14 and 0 <= certificate["velocity_gap"] < 1e-13


def test_a_resting_mechanism_has_no_energy_error() -> None:
    """Design rule 4: 0 where neither kinetic nor potential energy changes."""
    result = simulate(pendulum().replace({"model_parameters.gravity[2]": 0.0}), span=0.1)
    assert result.certificate["energy_error"] == 0.0 and result.certificate["pivot_ratio"] == 1.0


def test_energy_of_a_damped_run_balances() -> None:
    """Design rule 4: what dampers and friction take is integrated with the state."""
    damped = pendulum(damping=(0.0, 0.3, 0.05), initial_velocity=2.0)
    result = simulate(damped, span=3.0, channels=["energy.total"])
    assert result.certificate["energy_error"] < BALANCE
    assert result.channels["energy.total"][-1] < result.channels["energy.total"][0] - 4.0
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).body("end", **rod(0.5))
    a.joint("first", "Ry", child="rod", initial_displacement=0.2).joint(
        "second", "Ry", parent=("rod", "tip"), child="end"
    )
    a.restraint("rub", "damper", joint="second", coefficients=((0.2, 0.0),))
    a.restraint("strut", "damper", frames=("fixed", ("end", "tip")), coefficients=((0.5, 0.0),))
    result = simulate(builder.build(), span=2.0, channels=["energy.total"])
    assert result.certificate["energy_error"] < BALANCE
    assert result.channels["energy.total"][-1] < result.channels["energy.total"][0] - 0.5


# -- prescribed coordinates ----------------------------------------------------------------------------------------

SWING = Harmonic(offset=-1.0, rate=3.0, amplitude=0.3, frequency=5.0, phase=0.4)


def expected(motion: Harmonic, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    angle = motion.frequency * t + motion.phase
    return (
        (motion.offset or 0.0) + motion.rate * t + motion.amplitude * np.sin(angle),
        motion.rate + motion.amplitude * motion.frequency * np.cos(angle),
        -motion.amplitude * motion.frequency**2 * np.sin(angle),
    )


def test_a_driven_crank_follows() -> None:
    """Issue 3 item 6: position, speed, acceleration to rounding; no freedom left; loop closed; power balanced."""
    channels = [f"bar0:pivot.{word}" for word in "qva"]
    result = simulate(four_bars(), span=2.0, output_step=0.01, drive={"pivot": SWING}, channels=channels)
    assert result.status == 0 and result.report["dof"] == 0
    assert result.report["substructures"][0]["rows"] == 7 and result.report["substructures"][0]["rank"] == 4
    for channel, values in zip(channels, expected(SWING, result.time), strict=True):
        assert np.abs(result.channels[channel] - values).max() < EXACT
    assert result.certificate["gap"] < EXACT and result.certificate["energy_error"] < BALANCE


def test_a_driven_slide_follows() -> None:
    """The same for a length: driver rows are scaled like translations."""
    motion = Harmonic(offset=0.3, amplitude=0.05, frequency=7.0)
    channels = ["guide.q", "guide.v", "guide.a"]
    result = simulate("slider_crank", span=1.0, output_step=0.01, drive={"guide": motion}, channels=channels)
    assert result.status == 0 and result.report["dof"] == 0
    for channel, values in zip(channels, expected(motion, result.time), strict=True):
        assert np.abs(result.channels[channel] - values).max() < EXACT
    assert result.certificate["energy_error"] < BALANCE


def test_power_of_a_driver_has_the_sign_of_its_multiplier() -> None:
    """Design rule 4: W is the driver's work, -nu lambda: raising a rod costs m g dz, lowering it gives it back."""
    for rate in (1.0, -1.0):
        result = simulate(
            pendulum(damping=(0.0, 0.7)), span=1.0, output_step=0.5, channels=["energy.total"],
            drive={"pivot": Harmonic(rate=rate, amplitude=0, offset=0)},
        )  # fmt: skip
        energy = result.channels["energy.total"]
        raised = -9.81 * 0.5 * np.sin(rate)  # turning about +y lowers the rod
        assert abs(energy[-1] - energy[0] - raised) < 1e-10
        assert result.certificate["energy_error"] < BALANCE


class Ramp:
    """q = rate t^2 / 2, a prescribed motion written by a user."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def position(self, t: Scalar) -> Scalar:
        return 0.5 * self.rate * (t * t)

    def velocity(self, t: Scalar) -> Scalar:
        return self.rate * t

    def acceleration(self, t: Scalar) -> Scalar:
        return self.rate


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_a_motion_of_the_users_own(rate: float) -> None:
    """Rows take the general form: any object with position, velocity, acceleration; never another's compiled code."""
    drive: Any = {"pivot": Ramp(rate)}
    result = simulate(pendulum(), span=1.0, output_step=0.1, drive=drive, channels=["pivot.q", "pivot.v"])
    assert np.abs(result.channels["pivot.q"] - 0.5 * rate * result.time**2).max() < EXACT
    assert np.abs(result.channels["pivot.v"] - rate * result.time).max() < EXACT


def test_a_driver_that_leaves_freedom() -> None:
    """A driven first joint of a double pendulum: the second swings, and the work of the driver balances."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).body("end", **rod(0.5))
    a.joint("first", "Ry", child="rod").joint("second", "Ry", parent=("rod", "tip"), child="end")
    motion = Harmonic(offset=0.0, amplitude=0.4, frequency=6.0)
    result = simulate(
        builder.build(), span=2.0, output_step=0.05, drive={"first": motion}, channels=["first.q", "second.q"]
    )
    assert np.abs(result.channels["first.q"] - expected(motion, result.time)[0]).max() < EXACT
    assert np.ptp(result.channels["second.q"]) > 0.5
    assert result.certificate["energy_error"] < BALANCE


def test_going_on_with_a_driver_goes_on_in_time() -> None:
    first = simulate(four_bars(), span=0.55, step=1e-3, output_step=0.1, drive={"pivot": SWING})
    second = simulate(
        four_bars(), span=0.45, step=1e-3, output_step=0.45, drive={"pivot": SWING}, start=first, channels=["pivot.q"]
    )
    assert np.abs(second.channels["pivot.q"] - expected(SWING, np.array([0.55, 1.0]))[0]).max() < EXACT


def test_drives_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"drive .*bar0:crank: found a body"):
        simulate(four_bars(), span=0.1, drive={"crank": SWING})
    with pytest.raises(ModelError, match="pivo"):
        simulate(four_bars(), span=0.1, drive={"pivo": SWING})


def test_members_take_their_own_partition_only_where_the_nominal_fails() -> None:
    """Design section 2: the nominal partition where it serves; a function of model and member alone."""
    vary = {"joint1.initial_displacement": np.linspace(-0.5, 1.2, 40)}
    prepared = prepare(load("bricard"), vary)
    (mine,) = partitions(prepared, start_of(prepared), 1.5)
    nominal: Block = partitions(prepared, prepared.file_start, 1.5)[0][0]
    assert 0 < sum(block != nominal for block in mine) < 30
    assert len(set(mine)) <= 4
    for k in (0, 13, 39):
        single = prepare(load("bricard"), {"joint1.initial_displacement": prepared.values[0][k : k + 1]})
        assert partitions(single, start_of(single), 1.5)[0][0] == mine[k]
    assert independent_speeds(prepared.plan, Partition((nominal,))) == nominal.independent
