"""The methods of `[optimize]` beside SciPy's `trf`, SLSQP and differential evolution, on five problems of mechanisms.

Every method has the same bounds, starts and runs; SciPy's work in parts of the distance of the bounds, too. Counted are
runs without and with slopes (a Jacobian or gradient, whatever it takes), and, start by start, where the final value is
worse than SciPy's; a design that is over a constraint by more than 1e-6 counts as none. Differential evolution has the
runs of all starts for one search. A design that does not run is worth `BAD` to SciPy, without a slope.

    PYTHONPATH=. python benchmarks/bench_optimizers.py --starts 24
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import differential_evolution, least_squares, minimize

import shiftjax
import shiftjax.models as models
from shiftjax.bench.timing import emit
from shiftjax.ensembles import Definition, optimize
from shiftjax.ensembles.optimization.optimize import asked, problem_of
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.designs import designs

BAD = 1e3  # of a design that does not run
ALLOWED = 1e-6  # excess of a constraint
EQUAL = 1e-6  # of the best value, within which two are equal
SMALL = 1e-6  # of values near 0
ITERATIONS, TOLERANCE, POPULATION = 200, 1e-10, 8
TORQUE = 3.0  # N m, a root mean square: without a limit the first motor gives 3.26
LINKS = "{coupler:tip.T[0]} + {rocker:tip.T[0]} <= 0.92"


def arm() -> shiftjax.Model:
    """An arm on a spring with a constant pull, which tells mass and stiffness apart."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.frame("post", T=(0.0, 0.0, 0.5))
    a = builder.assembly("a")
    hook = {"hook": {"T": (0.3, 0.0, 0.0)}}
    a.body("arm", mass=2.0, center_of_mass=(0.4, 0, 0), inertia=(0.01, 0.02, 0.03), frames=hook)
    a.joint("pivot", "Ry", child="arm", initial_displacement=-0.5)
    frames = (("fixed", "post"), ("arm", "hook"))
    a.restraint("spring", "spring", frames=frames, coefficients=((40.0, -5.0),))
    a.restraint("rub", "damper", joint="pivot", coefficients=((0.3, 0.0),))
    return builder.build()


def identification(folder: Path, stiffness: str) -> Definition:
    """Mass, stiffness and damping from a recorded motion."""
    model = arm()
    clock: dict[str, Any] = {"span": 1.0, "step": 5e-3, "output_step": 0.05}
    truth = {"a:arm.mass": 2.3, "a:spring.coefficients[0][0]": 44.0, "a:rub.coefficients[0][0]": 0.2}
    run = shiftjax.simulate(model.replace(truth), **clock, channels=["pivot.q"])
    lines = [f"{t!r}, {q!r}" for t, q in zip(run.time.tolist(), run.channels["pivot.q"].tolist(), strict=True)]
    (folder / "motion.csv").write_text("\n".join(["time, pivot.q", *lines]))
    words = {"residuals": ["pivot.q"], "sigmas": {"pivot.q": 1e-3}, "data": "motion.csv"}
    vary = {"arm.mass": "0.5:8~sobol", "spring.coefficients[0][0]": stiffness, "rub.coefficients[0][0]": "0.02:2~sobol"}
    return Definition(model=model, **clock, samples=1, vary=vary, folder=str(folder), optimize=words)


def path_synthesis() -> Definition:
    """A four-bar whose coupler draws a given curve; the study of the library."""
    return study_file.read(models.study("path_synthesis"))


def swing() -> Definition:
    """Least swing of a four-bar whose coupler reaches far, of links that are no longer together than a length."""
    return Definition(
        model="four_bar", span=1.0, step=2e-3, samples=1, drive={"crank_pivot": 2 * np.pi},
        vary={"coupler:tip.T[0]": "0.40:0.60~sobol", "rocker:tip.T[0]": "0.35:0.50~sobol",
              "crank:tip.T[0]": "0.08:0.16~sobol"},
        metrics={"swing": "peak_to_peak(rocker_pivot.q)", "reach": "maximum(coupler:tip.position[0])"},
        optimize={"objective": "swing", "constraints": ["reach >= 0.6", LINKS]},
    )  # fmt: skip


def torque() -> Definition:
    """The motion of a delta robot that takes least torque and keeps to the continuous torque of each motor."""
    least = study_file.read(models.study("delta_minimum_torque"))
    words = {**(least.optimize or {}), "constraints": [f"torque_{k} <= {TORQUE}" for k in (1, 2, 3)]}
    return dataclasses.replace(least, optimize=words)


PROBLEMS: dict[str, Callable[[Path], Definition]] = {
    "identification": lambda folder: identification(folder, "10:120~sobol"),
    "identification at a bound": lambda folder: identification(folder, "10:40~sobol"),
    "path synthesis": lambda folder: path_synthesis(),
    "four-bar with constraints": lambda folder: swing(),
    "delta with a torque limit": lambda folder: torque(),
}


METHOD = {"path synthesis": "lbfgs", "four-bar with constraints": "sqp", "delta with a torque limit": "sqp"}


class Counted:
    """A problem as functions of designs in the box, for SciPy, with runs counted.

    Args:
        problem: of a method that keeps to a box. member: whose other numbers the designs have.
    """

    def __init__(self, problem: Problem, member: int = 0) -> None:
        self.problem, self.member, self.box, self.runs, self.slopes = problem, member, problem.space, 0, 0
        self._last: tuple[bytes, Any, Any, bool, Any] = (b"", np.zeros(0), np.zeros(0), False, np.zeros(0))
        self._sloped: tuple[bytes, Any] = (b"", np.zeros(0))
        self._of, self._ofs = jax.jit(self.of), jax.jit(jax.vmap(self.of))
        self._by = jax.jit(jax.jacobian(self.of, argnums=(0, 1)))

    def at(self, member: int) -> Counted:
        """The same for another start, with counts of its own; what was compiled is used again."""
        self.member, self.runs, self.slopes = member, 0, 0
        self._last = (b"", np.zeros(0), np.zeros(0), False, np.zeros(0))
        self._sloped = (b"", np.zeros(0))
        return self

    def _seen(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool, np.ndarray]:
        """The numbers (V,) of a design, its outputs (O,), whether it runs, and its values."""
        if self._last[0] != u.tobytes():
            x = self.problem.designs(np.array([self.member]), np.asarray(self.box.numbers(u))[None])
            outputs, status = self.problem.runs.outputs(x)
            self.runs += 1
            runs = bool(status[0] <= 0 and np.isfinite(outputs).all())
            values = np.asarray(self._of(outputs[0], x[0]))
            self._last = (u.tobytes(), x[0], outputs[0], runs, values if runs else np.full_like(values, BAD))
        _, numbers, outputs, runs, values = self._last
        return numbers, outputs, runs, values

    def of(self, outputs: Any, x: Any) -> Any:
        """Residuals, or the objective and the excess of every constraint, of outputs."""
        if self.problem.wanted.residuals:
            return self.problem.residuals(outputs)
        objective, by = self.problem.value(outputs[self.problem.runs.recorded :], x)
        return jnp.append(objective, by)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Of a design; of one that does not run `BAD`."""
        return self._seen(u)[3]

    def jacobian(self, u: np.ndarray) -> np.ndarray:
        """Slopes of the values with the places in the box."""
        x, outputs, runs, values = self._seen(u)
        if self._sloped[0] != u.tobytes():
            slopes = np.zeros((len(values), len(u)))
            if runs:
                by_outputs, direct = (np.asarray(some) for some in self._by(outputs, x))
                changes = self.problem.runs.tangent(x[None])[:, 0]  # (P, O)
                slopes, self.slopes = by_outputs @ changes.T + direct[:, self.problem.columns], self.slopes + 1
            self._sloped = (u.tobytes(), slopes * np.asarray(self.box.slopes(u)))
        return self._sloped[1]

    def penalised(self, u: np.ndarray) -> np.ndarray:
        """(B,) of designs (P, B): half a sum of squares, or the objective and `BAD` times what is over constraints."""
        x = self.problem.designs(np.zeros(u.shape[1], int), np.asarray(self.box.numbers(u.T)))
        outputs, status = self.problem.runs.outputs(x)
        self.runs += u.shape[1]
        values = np.asarray(self._ofs(outputs, x))
        if self.problem.wanted.residuals:
            scores = (values**2).sum(1) / 2
        else:
            over = np.where(self.problem.equal, np.abs(values[:, 1:]), np.maximum(values[:, 1:], 0.0))
            scores = values[:, 0] + BAD * over.max(1, initial=0.0)
        return np.where((status <= 0) & np.isfinite(scores), scores, BAD**2)


def by_scipy(problem: Problem) -> Iterator[tuple[float, int, int]]:
    """Final value, runs and slopes of every start: of `trf` for residuals, else of SLSQP."""
    box, tight = problem.space, {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "max_nfev": ITERATIONS}
    shared = Counted(problem)
    for member, start in enumerate(problem.starts()):
        one = shared.at(member)
        if problem.wanted.residuals:
            jacobian: Any = one.jacobian
            end = least_squares(
                one.values, start, jacobian, (box.lower, box.upper), method="trf", x_scale="jac", **tight
            )
            yield float(end.cost), one.runs, one.slopes
            continue
        constraints = [
            {"type": "eq" if equal else "ineq", "fun": lambda u, one=one, k=k: -one.values(u)[k + 1],
             "jac": lambda u, one=one, k=k: -one.jacobian(u)[k + 1]}
            for k, equal in enumerate(problem.equal)
        ]  # fmt: skip
        end = minimize(
            lambda u, one=one: one.values(u)[0], start, jac=lambda u, one=one: one.jacobian(u)[0],
            bounds=list(zip(box.lower, box.upper, strict=True)), constraints=constraints, method="SLSQP",
            options={"maxiter": ITERATIONS, "ftol": 1e-12},
        )  # fmt: skip
        counts = one.runs, one.slopes
        values = one.values(np.clip(end.x, box.lower, box.upper))
        yield (float(values[0]) if problem.excess(values[1:]) <= ALLOWED else np.inf), *counts


def by_evolution(problem: Problem, runs: int) -> tuple[float, int]:
    """The value of differential evolution with so many runs, and how many they were."""
    one, limits = Counted(problem), list(zip(problem.space.lower, problem.space.upper, strict=True))
    population = POPULATION * len(limits)
    end = differential_evolution(
        one.penalised, limits, popsize=POPULATION, rng=1, polish=False, tol=0.0, vectorized=True, updating="deferred",
        maxiter=max(1, runs // population - 1), init="sobol",
    )  # fmt: skip
    return float(end.fun), one.runs


def compared(name: str, definition: Definition) -> None:
    """Prints a line for each contender."""
    method = {} if definition.optimize and definition.optimize.get("residuals") else {"method": METHOD[name]}
    optimum = optimize(dataclasses.replace(definition, optimize={**(definition.optimize or {}), **method}))
    definition, wanted = asked(optimum.definition)
    problem = problem_of(definition, wanted, designs(definition)[0])
    ours = np.where(optimum.starts["excess"].values <= ALLOWED, optimum.objective, np.inf)
    runs, slopes = (int(optimum.starts[count].sum()) for count in ("runs", "slopes"))
    ends = np.array([*by_scipy(problem)])
    best = min(ours.min(), ends[:, 0].min())
    near = EQUAL * (abs(best) + SMALL)

    def row(contender: str, values: np.ndarray, **more: int) -> None:
        row = {"problem": name, "contender": contender, "starts": len(values), "best": float(values.min())}
        emit("optimizers", {**row, "reach_best": int((values <= best + near).sum()), **more})

    with np.errstate(invalid="ignore"):
        worse, better = int((ours > ends[:, 0] + near).sum()), int((ours + near < ends[:, 0]).sum())
    endings = {f"ended_{ending}": optimum.ending.count(ending) for ending in sorted(set(optimum.ending))}
    row(wanted.method, ours, runs=runs, slopes=slopes, worse=worse, better=better, **endings)
    scipy = "scipy trf" if wanted.residuals else "scipy SLSQP"
    row(scipy, ends[:, 0], runs=int(ends[:, 1].sum()), slopes=int(ends[:, 2].sum()))
    value, count = by_evolution(problem, runs)
    row("scipy differential_evolution", np.array([value]), runs=count, slopes=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=24)
    parser.add_argument("--only", choices=[*PROBLEMS], help="one problem")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, jax.enable_x64(True):
        for name, problem in PROBLEMS.items():
            if options.only in (None, name):
                study = problem(Path(folder))
                words = {"iterations": ITERATIONS, "tolerance": TOLERANCE}
                study = dataclasses.replace(study, samples=options.starts, optimize={**(study.optimize or {}), **words})
                compared(name, study)


if __name__ == "__main__":
    main()
