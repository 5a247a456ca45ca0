"""`equilibrium`: poses at rest, whether they are stable, and what joints bear there. M8b, M18, M19."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome

ROUNDING = 1e-12  # of W, or of a place in m or rad
SETTLED = 1e-6  # rad or m: what is left of motions that a damped run of some seconds ends with
LENGTH, LOAD = 0.6, 80.0  # m, N
SMALL_MASS = {"mass": 1.0, "inertia": (0.1,) * 3, "gravity_scale": 0.0}  # of bars that weigh nothing


def scissor(stages: int, angle: float, push: float | None = None) -> Model:
    """Bars of 0.6 m crossed at an angle from the ground, on a pivot and a slide, LOAD at the top, above the pivot."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    lift = builder.assembly("lift")
    lift.body("shoe", **SMALL_MASS)
    lift.joint("slide", "Tx", child="shoe", initial_displacement=LENGTH * np.cos(angle))
    below: dict[str, Any] = {"up": ("fixed", "origin"), "down": ("shoe", "origin")}
    turns = {"up": -angle, "down": angle - np.pi}  # about y: those from lower left and from lower right
    before = {"up": 0.0, "down": 0.0}
    for k in range(1, stages + 1):
        for bar, turn in turns.items():
            frames = {"middle": (LENGTH / 2, 0.0, 0.0), "tip": (LENGTH, 0.0, 0.0)}
            lift.body(f"{bar}{k}", center_of_mass=(LENGTH / 2, 0.0, 0.0), frames=frames, **SMALL_MASS)
            lift.joint(f"{bar}_pin{k}", "Ry", parent=below[bar], child=f"{bar}{k}",
                       initial_displacement=turn - before[bar])  # fmt: skip
        lift.joint(f"cross{k}", "Ry", parent=(f"up{k}", "middle"), child=(f"down{k}", "middle"),
                   initial_displacement=2.0 * angle - np.pi)  # fmt: skip
        below = {"up": (f"down{k}", "tip"), "down": (f"up{k}", "tip")}
        before = {"up": turns["down"], "down": turns["up"]}
    lift.force("weight", "constant_wrench", frame=(f"down{stages}", "tip"), force=(0.0, 0.0, -LOAD), axes="world")
    if push is not None:
        lift.force("push", "constant_load", joint="slide", load=-push)
    return builder.build()


def spring(a: AssemblyBuilder, name: str, frames: list[Any], k: float, rest: float) -> None:
    a.restraint(name, "spring", frames=frames, coefficients=[[k, -k * rest]])


def arch(b: float, rest: float, k: float) -> Model:
    """A block on a guide between two springs from (-b, 0) and (b, 0), drawn where they are slack."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.frame("left", T=(-b, 0.0, 0.0)).frame("right", T=(b, 0.0, 0.0))
    a = builder.assembly("arch")
    a.body("block", mass=1.0, inertia=(0.1,) * 3)
    a.joint("way", "Tz", child="block", initial_displacement=float(np.sqrt(rest * rest - b * b)))
    for side in ("left", "right"):
        spring(a, side, [("fixed", side), ("block", "origin")], k, rest)
    a.force("load", "constant_load", joint="way", load=0.0)
    return builder.build()


B, REST, STIFF = 1.0, 1.2, 100.0
ARCH = arch(B, REST, STIFF)


def resistance(y: Any) -> Any:
    """P(y) of the arch, upwards [N]."""
    return 2.0 * STIFF * (REST / np.hypot(B, y) - 1.0) * y


def test_a_scissor_holds_its_load() -> None:
    """F = n W / tan theta at the slide; what ground bears is the load and that push (row 12)."""
    for stages in (1, 3):
        angles = np.array([0.3, 0.7, 1.2])
        at = LENGTH * np.cos(angles)
        model = scissor(stages, 0.7)
        names = ["slide.drive_load", "slide.reaction_force", "up_pin1.reaction_force"]
        stand = shiftjax.equilibrium(
            model,
            drive={"slide": shiftjax.Polynomial([at])},
            channels=names,
            vary={"weight.force[2]": [-LOAD] * 3},
        )
        assert (stand.status == Outcome.ok).all(), stand.messages
        assert np.abs(stand.q["lift:up_pin1"] + angles).max() < ROUNDING
        drive, shoe, pivot = (stand.channels[name] for name in names)
        F = stages * LOAD / np.tan(angles)
        assert np.abs(drive.reshape(3) + F).max() < ROUNDING * F.max()
        assert np.abs(shoe + pivot - [0.0, 0.0, LOAD]).max() < ROUNDING * F.max()
        assert np.abs(pivot[:, 0] - F).max() < ROUNDING * F.max()


def test_a_scissor_that_is_pushed_stands_where_the_push_holds_it_and_falls_from_there() -> None:
    push = np.array([60.0, 80.0, 120.0])
    model = scissor(1, 0.8, push=80.0)
    stand = shiftjax.equilibrium(model, unstable=True, vary={"push.load": -push})
    assert (stand.status == Outcome.ok).all(), stand.messages
    assert np.abs(-stand.q["lift:up_pin1"] - np.arctan(LOAD / push)).max() < ROUNDING
    assert stand.stability.tolist() == ["unstable"] * 3
    assert (stand.squared_frequencies < 0.0).all()


def test_an_arch_has_two_sides() -> None:
    """Both stable sides of it are where springs are slack, and its middle is not stable (row 13)."""
    high = np.sqrt(REST * REST - B * B)
    starts = np.array([0.3, 2.0, 1e-9, 0.0, -0.1, -2.0])
    stand = shiftjax.equilibrium(ARCH, vary={"way.initial_displacement": starts})
    assert (stand.status == Outcome.ok).all() and (stand.stability == "stable").all()
    assert repr(stand) == "Equilibrium of model: 6 members, 6 ok; 6 stable\n  arch:way from -0.663325 to 0.663325 m"
    assert np.abs(stand.q["arch:way"] - high * np.array([1, 1, 1, 1, -1, -1])).max() < ROUNDING
    assert np.abs(stand.potential + STIFF * REST * REST).max() < ROUNDING * 144.0  # springs count from length 0
    middle = shiftjax.equilibrium(ARCH, unstable=True, assign={"way.initial_displacement": 0.05})
    assert abs(middle.q["arch:way"]) < ROUNDING and middle.stability == "unstable"


def test_an_arch_snaps_through() -> None:
    """P(y) = 2 k (L / sqrt(b^2 + y^2) - 1) y up to y* = sqrt((L b^2)^(2/3) - b^2), and beyond on the other side."""
    snap = np.sqrt((REST * B * B) ** (2.0 / 3.0) - B * B)
    share = np.concatenate([np.linspace(0.0, 0.99, 12), [1.0 - 1e-6, 1.0 - 1e-10, 1.0 + 1e-10, 1.0 + 1e-6, 1.2]])
    load = share * resistance(snap)
    stand = shiftjax.equilibrium(ARCH, vary={"load.load": -load})
    y = stand.q["arch:way"]
    assert (stand.status == Outcome.ok).all()
    assert np.abs(resistance(y) - load).max() < 1e-10
    stays = share < 1.0
    assert ((y >= snap) == stays).all() and (y[~stays] < -snap).all()
    assert abs(y[stays].min() - snap) < 1e-4  # the root of 1e-10, by the curvature of P there
    assert (np.diff(stand.squared_frequencies[stays, 0]) < 0.0).all()  # it softens all the way


def test_a_run_goes_on_from_there_and_stays() -> None:
    vary = {"load.load": [0.0, -4.0]}
    stand = shiftjax.equilibrium(ARCH, vary=vary)
    run = shiftjax.simulate(ARCH, 0.5, 1e-2, channels=["way.q"], start=stand.result, vary=vary)
    assert np.abs(run.channels["way.q"] - stand.q["arch:way"][:, None]).max() < ROUNDING


def test_a_member_of_a_batch_is_one_alone() -> None:
    starts = [2.0, 0.4, -0.3]
    every = shiftjax.equilibrium(ARCH, vary={"way.initial_displacement": starts})
    for k, start in enumerate(starts):
        one = shiftjax.equilibrium(ARCH, vary={"way.initial_displacement": [start]})
        assert one.q["arch:way"][0] == every.q["arch:way"][k]
        assert one.squared_frequencies[0, 0] == every.squared_frequencies[k, 0]
    lengths = np.linspace(0.46, 0.54, 5)
    loops = shiftjax.equilibrium("four_bar", vary={"coupler:tip.T[0]": lengths})
    for k, length in enumerate(lengths):
        one = shiftjax.equilibrium("four_bar", vary={"coupler:tip.T[0]": [length]})
        assert {path: q[0] for path, q in one.q.items()} == {path: q[k] for path, q in loops.q.items()}
        assert one.squared_frequencies[0, 0] == loops.squared_frequencies[k, 0]


@pytest.mark.parametrize(
    ("name", "damped"),
    [("sarrus", ("east_knee",)), ("double_wishbone", ("lower_right_pivot", "rack_guide"))],
)
def test_library_models_settle_where_damped_runs_end(name: str, damped: tuple[str, ...]) -> None:
    """Dampers near the critical ones, by M and K on their joints; a wheel without a spring stays as it is."""
    assign, free = {"model_parameters.gravity[2]": 12.0}, []
    if name == "double_wishbone":
        assign["wheel_right_bearing.initial_velocity"], free = 0.0, ["wheel_right_bearing"]
    about = shiftjax.modes(name, independent=[*damped, *free])
    whole = to_dict(shiftjax.load(name))
    for k, joint in enumerate(damped):
        c = 2.0 * float(np.sqrt(about.M[k, k] * about.K[k, k]))
        force = {"name": f"damper{k}", "type": "joint_spring", "joint": joint, "k": 0.0, "c": c}
        whole["assemblies"][0].setdefault("force_modules", []).append(force)
    model = shiftjax.load(whole)
    stand = shiftjax.equilibrium(model, assign=assign)
    assert stand.status == Outcome.ok, stand.messages
    channels = [f"{path}.q" for path, joint in model.joints() if joint.type != "rigid"]
    end = shiftjax.simulate(model, 2.0, 2e-3, channels=channels, output_step=2.0, assign=assign)
    far = shiftjax.assemble(model, channels=channels)
    moved = 0.0
    for path, place in stand.q.items():
        if f"{path}.q" in end.channels and not path.endswith("bearing"):
            assert np.abs(end.channels[f"{path}.q"][-1] - place).max() < SETTLED, path
            moved = max(moved, float(np.abs(far.channels[f"{path}.q"][-1] - place).max()))
    assert moved > 1e-3  # it was drawn elsewhere


def test_faulty_members_leave_the_others_alone() -> None:
    vary = {"coupler:tip.T[0]": [0.48, 1.2, np.nan, 0.5], "coupler.mass": [1.0, 1.0, 1.0, -1.0]}
    stand = shiftjax.equilibrium("four_bar", vary=vary, channels=["crank_pivot.reaction_force"])
    assert stand.status.tolist() == [Outcome.ok, Outcome.not_assembled, Outcome.non_finite, Outcome.unphysical]
    assert stand.stability.tolist() == ["stable", "", "", ""] and all(stand.messages[1:])
    assert np.isfinite(stand.channels["crank_pivot.reaction_force"]).all(1).tolist() == [True, False, False, False]
    swing = shiftjax.modes("four_bar", vary=vary)
    assert np.isfinite(swing.K[:, 0, 0]).tolist() == [True, False, False, False]


def falling() -> Model:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("block", mass=1.0, inertia=(0.1,) * 3).joint("way", "Tz", child="block")
    return builder.build()


def test_what_falls_has_no_equilibrium() -> None:
    stand = shiftjax.equilibrium(falling(), channels=["way.q"])
    assert stand.status == Outcome.no_equilibrium and stand.stability == ""
    assert "forces of up to 9.81 N m still move a:way: hold what falls" in stand.messages[0]
    assert np.isnan(stand.channels["way.q"])


def test_a_driver_that_moves_is_refused() -> None:
    with pytest.raises(ModelError, match="drivers that stand still"):
        shiftjax.equilibrium(falling(), drive={"way": shiftjax.ConstantSpeed(1.0)})
