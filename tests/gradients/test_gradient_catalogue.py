"""Every number of every kind of the catalogue has the slope of differences, in one sweep (S42, D28, D29, E10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.constraints import CONSTRAINTS
from shiftjax.forces import FORCES
from shiftjax.formats import load, to_dict
from shiftjax.mechanism.model import Model
from tests.extensions import cam, mechanisms, screw  # noqa: F401
from tests.gradients.test_gradients import CASES as EVERY
from tests.inverse import test_inverse_poses as poses
from tests.mechanics.constraints import test_between_frames as between
from tests.mechanics.constraints import test_couplings as couplings
from tests.mechanics.constraints import test_guides as guides
from tests.mechanics.forces import test_ball_friction as balls
from tests.mechanics.forces import test_bearings as bearings
from tests.mechanics.forces import test_force_kinds as forces
from tests.mechanics.forces import test_tyres as tyres

FAR = 1e6  # of an end that is not there
STEP, NOUGHT = 1e-3, 1e-4  # of differences of order 4: relative, and of numbers that are 0
SLOPE = 6e-4  # relative, of differences over the bends where contacts begin and tyres slide


class Case(NamedTuple):
    """An element in a mechanism, and what is recorded."""

    model: Callable[[], Model]
    element: str
    channel: str
    drive: dict[str, float] | None = None


def screwed() -> Model:
    document = to_dict(mechanisms.press())
    next(joint for joint in document["assemblies"][0]["joints"] if joint["name"] == "lead")["type"] = "screw"
    return load(document)


OTHERS: dict[str, dict[str, Any]] = {
    "planetary": {"sun_teeth": 24, "ring_teeth": 72},
    "geneva": {"slots": 5, "middle": 0.2},
}


def coupled(kind: str) -> Callable[[], Model]:
    def model() -> Model:
        names = "abc" if kind in ("planetary", "differential") else "ab"
        numbers, slide, _ = couplings.PAIRS.get(kind, (OTHERS.get(kind, {}), "", 0.0))
        builder, assembly = couplings.discs(names, slide)
        assembly.constraint("it", kind, joints=[f"{name}_joint" for name in names], **numbers)
        return builder.build()

    return model


def driven(law: str, **numbers: Any) -> Callable[[], Model]:
    def model() -> Model:
        builder, bar = between.bars()
        bar.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"),
                  initial_displacement=-0.9641064959743676)  # fmt: skip
        bar.entry["joints"][0].pop("initial_velocity")
        bar.driver("it", law, frame=("rocker", "tip"), component="x", **numbers)
        return builder.build()

    return model


def shaken() -> Model:
    builder, bar = mechanisms.four_bar()
    numbers = {"times": [-0.2, 0.05, 0.2], "accelerations": [2.0, 9.0, -5.0], "speed": 2.0, "offset": -1.0}
    bar.driver("it", "acceleration_table", joint="pivot", **numbers)
    return builder.build()


def cammed() -> Model:
    document = to_dict(mechanisms.cammed())
    document["assemblies"][0]["constraints"][0] |= {"name": "it", "type": "cam"}
    return load(document)


ANGLES: dict[str, dict[str, Any]] = {
    "harmonic": guides.SWING,
    "polynomial": {"coefficients": [guides.START, 0.1, -0.2]},
    "table": {"times": [-0.2, 0.1, 0.2], "values": [guides.START, guides.START + 0.02, guides.START + 0.03]},
}
POSES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # numbers of places, and of orientations
    "uniform": (
        {"position": (0.1, 0.2, 0.3), "velocity": (1.0, -0.5, 0.2), "acceleration": (2.0, 1.0, -3.0)},
        {"rotation": (0.3, -0.4, 0.5), "angular_velocity": (2.0, 1.0, -3.0),
         "angular_acceleration": (4.0, -5.0, 6.0), "origin": 0.03},
    ),
    "harmonic": (
        {"position": (0.1, 0.2, 0.3), "position_amplitude": (0.1, -0.05, 0.2)},
        {"rotation": (0.3, -0.4, 0.5), "rotation_amplitude": (0.4, 0.3, -0.5), "frequency": 9.0, "phase": 0.3},
    ),
    "table": (
        {"positions": [(0.1, 0.2, 0.3), (0.15, 0.25, 0.2), (0.3, 0.2, 0.1)]},
        {"rotations": [(0.3, -0.4, 0.5), (0.5, -0.3, 0.4), (0.7, -0.4, 0.1)], "times": [-0.05, 0.06, 0.2]},
    ),
}  # fmt: skip


def posed(what: str, law: str) -> Model:
    """A body that is led, and an arm that swings on it."""
    builder, a = poses.top("float" if what == "pose" else "spherical", arm=True)
    places, turns = POSES[law]
    a.driver("it", f"{what}_{law}", frames=["fixed", "top"], **turns, **(places if what == "pose" else {}))
    return builder.build()


START = between.GROUND + between.ROCKER * np.cos(between.STARTS["hinge"])
ROLLING = {"way": 10.0, "spin": 28.0}


def tyre(kind: str) -> Callable[[], Model]:
    numbers = tyres.TYRE if "fiala" in kind else tyres.SIZES | tyres.MAGIC
    return lambda: tyres.rig(0.03, kind, numbers=numbers)


CASES: dict[str, Case] = {
    "a joint of type screw": Case(screwed, "a:lead.pitch", "rise.q"),
    **{f"a force module of type {kind}": Case(lambda kind=kind: forces.looped(kind), "a:it", "hinge.v")
       for kind in forces.KINDS},
    **{f"a force module of type {kind}": Case(lambda kind=kind: bearings.slide(kind), "a:it", "way.q")
       for kind in ("slide_friction", "slide_bristles")},
    "a force module of type sleeve_friction": Case(
        lambda: bearings.sleeve(span=0.3, preload=5.0), "a:it", "shaft.v"),
    "a force module of type plate_friction": Case(lambda: balls.puck(width=0.3, preload=5.0), "a:it", "table.v"),
    "a force module of type ball_friction": Case(balls.on_a_ball, "a:it", "hook.v"),
    **{f"a force module of type {kind}": Case(tyre(kind), "a:tyre", "carriage.position", {"spin": 28.0})
       for kind in ("fiala_tyre", "transient_fiala_tyre", "pacejka_tyre", "transient_pacejka_tyre")},
    **{f"a constraint of type {kind}": Case(coupled(kind), "m:it", "b_joint.q")
       for kind in ("gear", "belt", "rack", "screw_coupling", "mimic", "geneva", "planetary")},
    "a constraint of type distance": Case(lambda: between.rodded("constraint"), "a:tie", "pivot.q"),
    "a constraint of type cam": Case(cammed, "a:it", "pivot.q"),
    **{f"a constraint of type {kind}": Case(lambda kind=kind: guides.hung(kind), "a:it", "bead.position")
       for kind in ("point_on_curve", "point_on_surface")},
    **{f"a driver of type frame_angle_{law}": Case(
        lambda law=law: guides.tilted(f"frame_angle_{law}", **ANGLES[law]), "a:it", "pivot.q") for law in ANGLES},
    "a driver of type acceleration_table": Case(shaken, "a:it", "hinge.v"),
    "a driver of type frame_harmonic": Case(
        driven("frame_harmonic", amplitude=0.01, frequency=4.0, offset=START), "a:it", "pivot.q"),
    "a driver of type frame_polynomial": Case(
        driven("frame_polynomial", coefficients=[START, 0.1, -0.2]), "a:it", "pivot.q"),
    "a driver of type frame_table": Case(
        driven("frame_table", times=[-0.2, 0.1, 0.2], values=[START, START + 0.005, START + 0.02]), "a:it", "pivot.q"),
    **{f"a driver of type {what}_{law}": Case(lambda what=what, law=law: posed(what, law), "a:it", "arm.position")
       for what in ("pose", "orientation") for law in POSES},
}  # fmt: skip


@pytest.mark.parametrize("label", CASES)
def test_every_number_has_the_slope_of_differences(label: str) -> None:
    case = CASES[label]
    model = case.model()
    numbers = {path: x for path, x in model.numbers().items() if path.startswith(case.element) and abs(x) < FAR}
    numbers = {path: x for path, x in numbers.items() if not (path.endswith(".limit") and x == 0.0)}
    paths, count = list(numbers), len(numbers)
    assert count, "it has numbers"

    def end(vary: dict[str, Any]) -> Any:
        run = shiftjax.simulate(model, 0.1, 5e-4, vary=vary, channels=[case.channel], drive=case.drive, output_step=0.1,
                                accuracy="local")  # fmt: skip
        return run.channels[case.channel].reshape(len(next(iter(vary.values()))), -1).sum(1)

    slopes = jax.grad(lambda vary: end(vary).sum())({path: jnp.array([x]) for path, x in numbers.items()})
    steps = np.array([STEP * abs(x) or NOUGHT for x in numbers.values()])
    offsets, weights = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
    x = np.tile([*numbers.values()], (count, 4, 1))
    for k in range(count):
        x[k, :, k] += steps[k] * offsets
    ends = np.asarray(end(dict(zip(paths, x.reshape(-1, count).T, strict=True)))).reshape(count, 4)
    exact = ends @ weights / steps
    found = np.array([float(slopes[path][0]) for path in paths])
    assert np.abs(exact).max() > 0
    largest = np.abs(exact * steps).max() / steps
    wrong = np.abs(found - exact) > SLOPE * np.abs(exact) + 1e-6 * largest
    assert not wrong.any(), [(paths[k], found[k], exact[k]) for k in np.flatnonzero(wrong)]


def test_every_kind_with_numbers_stands_here() -> None:
    """Of the package; those of test_gradients stand there."""
    there = {key.rpartition(".")[0] for key in EVERY}
    kinds = {f"a force module of type {name}" for name, kind in FORCES.items()
             if kind.listed and FORCES.ships(kind) and kind.numbers()}  # fmt: skip
    for what, listed in (("constraint", "constraints"), ("driver", "drivers")):
        kinds |= {f"a {what} of type {name}" for name, kind in CONSTRAINTS.items()
                  if kind.listed == listed and CONSTRAINTS.ships(kind) and kind.numbers()}  # fmt: skip
    assert kinds - there <= set(CASES)
