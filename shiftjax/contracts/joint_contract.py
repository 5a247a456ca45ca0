"""`check_joint`: a kind of joint does all that the package asks of joints. Host code.

Each check measures one number beside what it must not exceed, in the mechanism of `JointTrial`: what a kind says wrong
of itself is refused where it shows first, before anything that follows from it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from shiftjax.bodies.absolute import absolute
from shiftjax.contracts.joint_trial import MASS, TRIED, JointTrial
from shiftjax.docs.kind_pictures.joint_pictures import joint_picture
from shiftjax.errors import ModelError
from shiftjax.formats.files import load, save
from shiftjax.gradients.simulate import simulate
from shiftjax.record import record
from shiftjax.run.results.result import Result
from shiftjax.viewer.scene.building import scene_of

STEP = 1e-6  # of differences of motions and rows, central: 1e-12 of truncation, 1e-10 of rounding
AWAY = 1e-4  # m or rad: a row that is missed, or a motion
SPAN, STEP_OF_RUNS = 0.1, 1e-3  # s
CHANNELS = ("cart.position", "part.position")
MEMBERS = (0.9, 1.0, 1.2)  # masses of the part, of a batch
OFFSETS, WEIGHTS = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, -8.0, 8.0, -1.0]) / 12.0  # of order 4


@record
class JointCheck:
    """A check of a kind of joint.

    Attributes:
        measure: a number. most: what it must not exceed. says: what it is. todo: what to look at where it is more.
    """

    measure: Callable[[JointTrial], float]
    most: float
    says: str
    todo: str


def check_joint(name: str, **numbers: Any) -> dict[str, float]:
    """Tries a kind of joint, of a plug-in or of the package, in all that joints are for.

    Its screws beside its motion, and the rows that it has between free bodies; then a closed loop in space with it:
    written to a file, drawn, simulated with the energy balanced, cut at the joint and elsewhere, in a batch, and
    differentiated by reverse mode. It takes some seconds, most of which is compilation.

    Args:
        name: of the kind in `shiftjax.KINDS`.
        numbers: of one joint of it, as keys of a file or arguments of `AssemblyBuilder.joint`: `axis=(0, 0, 1)`, and
            the fields of the kind.

    Returns:
        what each check measured, by its name: "screws", "rows", "slopes", "saved", "drawn", "simulated", "partitioned",
        "batched", "differentiated".

    Raises:
        ModelError: no such kind, a number that is not there; the first check that fails, with what it measured.
    """
    trial, measured = JointTrial(name, numbers), dict[str, float]()
    for check, one in CHECKS.items():
        measured[check] = _measured(trial, check, one)
        if not measured[check] <= one.most:  # and what is no number
            fault = f"{one.says}: {measured[check]:.2g}"
            raise ModelError(f"joint kind {name}, {check}", fault, f"at most {one.most:g}", one.todo)
    return measured


def _measured(trial: JointTrial, check: str, one: JointCheck) -> float:
    """What a check measures.

    Raises:
        ModelError: the kind's code, or what is made of it, raises something; that is its cause.
    """
    try:
        return float(one.measure(trial))
    except Exception as error:  # of lane code on what is no array, of names that nothing has, of anything
        fault = f"{type(error).__name__}: {error}"
        raise ModelError(f"joint kind {trial.name}, {check}", fault, "a number that is measured", LANE_CODE) from error


def _screws(trial: JointTrial) -> float:
    """The largest difference between a screw and the motion of the child's frame for a unit of its speed."""
    kind, worst, random = trial.kind, 0.0, np.random.default_rng(3)
    for _ in range(3):
        q = trial.q + random.uniform(-0.2, 0.2, kind.nq)
        for one in kind.coordinates:
            if one.primitive.quaternion:
                q[one.q : one.q + 4] /= np.linalg.norm(q[one.q : one.q + 4])
        R, _, turns, ways = trial.at(q)
        for one in kind.coordinates:
            part = slice(one.q, one.q + one.nq)
            for k in range(one.nv):
                rate = np.zeros(kind.nq)
                rate[part] = one.primitive.rate([*map(float, q[part])], [*map(float, np.eye(one.nv)[k])])
                ahead, behind = (trial.at(q + sign * STEP * rate) for sign in (1.0, -1.0))
                turning = (np.array(ahead[0]) - np.array(behind[0])) @ np.array(R, float).T / (2.0 * STEP)
                turned = np.array([turning[2, 1], turning[0, 2], turning[1, 0]], float)
                moved = (np.array(ahead[1], float) - np.array(behind[1], float)) / (2.0 * STEP)
                off = [turned - np.array(turns[one.v + k], float), moved - np.array(ways[one.v + k], float)]
                worst = max(worst, float(np.abs(off).max()))
    return worst


def _placed(trial: JointTrial) -> np.ndarray:
    """(3, 1, 7) states of a body that the joint alone holds."""
    q = trial.q + np.random.default_rng(4).uniform(-0.2, 0.2, (3, trial.kind.nq))
    return trial.alone.placed(q)


def _rows(trial: JointTrial) -> float:
    """How far the joint's rows are from vanishing where its coordinates put the child; they do nowhere else."""
    view, x = trial.alone, _placed(trial)
    away = np.abs(view.phi(view.moved(x, 0.1 * np.random.default_rng(5).standard_normal((3, 6)))))
    if len(view.rows) != 6 - trial.kind.nv or (view.rows and not (away > AWAY).any(1).all()):
        return np.inf
    return float(np.abs(view.phi(x)).max(initial=0.0))


def _slopes(trial: JointTrial) -> float:
    """The largest difference between the Jacobian of the rows and their differences, near where they vanish."""
    view, along = trial.alone, np.eye(6)
    x = view.moved(_placed(trial)[:, None], 0.02 * np.random.default_rng(6).standard_normal((3, 1, 6)))
    ahead, behind = (view.phi(view.moved(x, sign * STEP * along)) for sign in (1.0, -1.0))
    exact = view.jacobian(x)[:, 0]
    return float(np.abs(exact - np.swapaxes((ahead - behind) / (2.0 * STEP), 1, 2)).max(initial=0.0))


def _run(trial: JointTrial, factors: Sequence[float] = MEMBERS, **more: Any) -> Result:
    """Members whose part has the mass of the trial times some factors; all numbers vary, so that one program runs."""
    vary = {path: np.full(len(factors), x) for path, x in trial.numbers_at_start.items()}
    vary[MASS] = vary[MASS] * factors
    return simulate(trial.model, SPAN, STEP_OF_RUNS, channels=CHANNELS, output_step=SPAN / 5, vary=vary, **more)


def _apart(one: Result, other: Result) -> float:
    """The largest difference of places [m] between good runs."""
    if not (one.status <= 0).all() or not (other.status <= 0).all():
        return np.inf
    return max(float(np.abs(one.channels[name] - other.channels[name]).max()) for name in CHANNELS)


def _simulated(trial: JointTrial) -> float:
    """The error of the energy, relative to the largest one, or the gap of the loop [m] where that is more."""
    result = _run(trial)
    if result.status.any() or not np.ptp(result.channels["part.position"], axis=1).max() > AWAY:
        return np.inf
    return max(*result.certificate["energy_error"], *result.certificate["gap"])


def _partitioned(trial: JointTrial) -> float:
    """How far runs are apart [m] whose loop is cut at the joint, and at a ball, with other independent coordinates."""
    return _apart(_run(trial, cut=[f"a:{TRIED}"]), _run(trial, cut=["a:ball"]))


def _batched(trial: JointTrial) -> float:
    """How far members of a batch are from members alone [m]."""
    batch = _run(trial)
    alone = [_run(trial, [factor]) for factor in MEMBERS]
    channels = {name: np.concatenate([one.channels[name] for one in alone]) for name in CHANNELS}
    return _apart(batch, replace(batch, channels=channels))


def _differentiated(trial: JointTrial) -> float:
    """The largest difference between a derivative by reverse mode and differences, of the largest derivative.

    Of where part and cart come to, by the numbers that vary.
    """
    paths, values = [*trial.numbers_at_start], np.array([*trial.numbers_at_start.values()])

    def ends(vary: dict[str, Any]) -> Any:
        run = simulate(trial.model, SPAN, STEP_OF_RUNS, channels=CHANNELS, output_step=SPAN / 5, vary=vary)
        return sum(run.channels[name][:, -1].sum(-1) for name in CHANNELS)

    with jax.enable_x64(True):
        slopes = jax.grad(lambda vary: ends(vary).sum())(
            {path: jax.numpy.array([x]) for path, x in zip(paths, values, strict=True)}
        )
    steps = 1e-3 * np.maximum(np.abs(values), 0.1)
    x = np.tile(values, (len(paths), 4, 1))
    for k, step in enumerate(steps):
        x[k, :, k] += step * OFFSETS
    exact = ends(dict(zip(paths, x.reshape(-1, len(paths)).T, strict=True))).reshape(-1, 4) @ WEIGHTS / steps
    return float(np.abs(np.array([float(slopes[path][0]) for path in paths]) - exact).max() / np.abs(exact).max())


def _saved(trial: JointTrial) -> float:
    """The largest difference between a number of the model and of that of its file."""
    with tempfile.TemporaryDirectory() as folder:
        save(trial.model, Path(folder) / "trial.json")
        again = load(Path(folder) / "trial.json").numbers()
    numbers = trial.model.numbers()
    return max(abs(again[path] - x) for path, x in numbers.items()) if again.keys() == numbers.keys() else np.inf


def _drawn(trial: JointTrial) -> float:
    """How many numbers of its shapes in a scene are not finite; infinite where it has no shape."""
    picture, view = joint_picture(trial.kind).svg(), absolute(trial.model)
    scene = scene_of(trial.model, dict(zip(view.bodies, view.start, strict=True)))
    shapes = [part for part in scene.parts if part.path == f"a:{TRIED}"]
    if "nan" in picture or (trial.kind.drawing != "free" and not shapes):
        return np.inf
    arrays = [array for shape in shapes for array in (shape.mesh.vertices, shape.transform)]
    return float(sum((~np.isfinite(array)).sum() for array in arrays))


LAW = "See that `screws` are the derivatives of `motion`, and `rate` those of its coordinates."
LANE_CODE = (
    "See that its code is lane code: operators and `shiftjax.algebra`, no branch on a value, and nothing remembered."
)
CHECKS = {
    "screws": JointCheck(_screws, 1e-7, "screws less the motion for a unit of their speed [rad, m]", LAW),
    "rows": JointCheck(
        _rows,
        1e-9,
        "rows, 6 less the speeds, where coordinates put the child [m, rad]",
        "See that each speed moves the child in a direction of its own.",
    ),
    "slopes": JointCheck(_slopes, 1e-7, "a Jacobian less differences of rows", LANE_CODE),
    "saved": JointCheck(
        _saved, 0.0, "numbers less those of their file", "See that its fields have names of their own."
    ),
    "drawn": JointCheck(
        _drawn,
        0.0,
        "numbers of its shapes that are none, where it has some",
        "Give a `drawing` that `JointKind` lists.",
    ),
    "simulated": JointCheck(_simulated, 1e-7, "the error of the energy, relative, or the gap of the loop [m]", LAW),
    "partitioned": JointCheck(_partitioned, 1e-8, "runs of other cuts apart [m]", LAW),
    "batched": JointCheck(_batched, 1e-10, "members of a batch less members alone [m]", LANE_CODE),
    "differentiated": JointCheck(_differentiated, 1e-5, "derivatives less differences, relative", LANE_CODE),
}
