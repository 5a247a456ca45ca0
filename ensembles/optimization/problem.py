"""What is made small, of a study: the runs of its one model, an objective, constraints and residuals of metrics.

And what all methods of making it small share.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.optimization.data import Data, Recorded
from shiftjax.ensembles.optimization.meaning import bounds, expressions
from shiftjax.ensembles.optimization.methods.one_start import Row, Seen, State
from shiftjax.ensembles.optimization.space import BoxSpace, MemberwiseFunction
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import names as names_in
from shiftjax.gradients.derived import derived
from shiftjax.gradients.doubts import Doubts

Array = Any  # of JAX, traced


class Differentiated(Recorded, Protocol):
    """Members of a group as functions of their numbers, as `ensembles.sensitivities.derivatives.Runs` are."""

    paths: tuple[str, ...]
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def recorded(self) -> int: ...

    @property
    def units(self) -> Mapping[str, str]: ...

    @property
    def doubts(self) -> Doubts: ...

    def outputs(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray: ...

    def tangent(self, x: np.ndarray) -> np.ndarray: ...


class Problem:
    """An objective, constraints and residuals of the runs of a study, and the free numbers of its starts.

    Args:
        runs: of the group, with derivatives along the parameters. data: what their channels should be, if residuals are
            of them.
    """

    def __init__(
        self, definition: Definition, wanted: Wanted, group: MemberGroup, runs: Differentiated, data: Data | None = None
    ) -> None:
        self.wanted, self.group, self.runs, self.data = wanted, group, runs, data
        self.parameters = runs.parameters
        self.given = np.stack([*group.vary().values()], axis=1)
        limits = bounds(definition, wanted, group, self.parameters)
        self.space = BoxSpace(*limits)
        self._target = np.zeros(0) if self.data is None else self.data.target(self.runs)
        self._sigmas = np.array([dict(wanted.sigmas).get(text, 1.0) for text in wanted.residuals])
        self._nodes, self._design = expressions(wanted, self.runs.metrics, group)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the metrics."""
        return self.runs.metrics

    @property
    def units(self) -> dict[str, str]:
        """Of parameters and metrics."""
        described = self.group.model.described()
        return {path: described[path].unit for path in self.parameters} | dict(self.runs.units)

    @cached_property
    def equal(self) -> np.ndarray:
        """(C,) which constraints are equalities."""
        return np.array([c.equal for c in self.wanted.constraints], bool)

    def starts(self) -> np.ndarray:
        """(N, P) free numbers of the starts."""
        return self.space.free(self.given[:, self.columns])

    def home(self) -> np.ndarray:
        """(P,) free numbers of the model's own design, inside of the bounds: where a start that cannot run turns to."""
        numbers = self.group.model.numbers()
        return self.space.free(np.array([numbers[path] for path in self.parameters]))

    @cached_property
    def columns(self) -> list[int]:
        return [self.runs.paths.index(path) for path in self.parameters]

    def designs(self, members: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """(n, V) designs of some members from their parameters (n, P)."""
        x = self.given[members].copy()
        x[:, self.columns] = numbers
        return x

    def place(self, z: Array) -> tuple[Array, Array]:
        """Parameters (P,) of free numbers (P,), and their slopes."""
        return self.space.numbers(z), self.space.slopes(z)

    def residuals(self, outputs: Array) -> Array:
        """(R,) residuals of the outputs (O,) of one member."""
        if self.data is not None:
            off = (outputs[: self.runs.recorded] - self._target) / np.repeat(self._sigmas, len(self.runs.time))
            return off[~np.isnan(self._target)]
        outputs = outputs[self.runs.recorded :]
        named = {name: [outputs[k]] for k, name in enumerate(self.names)}
        residuals = [jnp.asarray(evaluate(node, named, text)[0], float) for text, node in self._nodes.items()]
        return jnp.stack(residuals) / self._sigmas

    def value(self, metrics: Array, x: Array) -> tuple[Array, Array]:
        """The objective, and (C,) by which every constraint is exceeded, of one member.

        Args:
            metrics: (M,). x: (V,) its varied numbers.
        """
        named = {name: [metrics[k]] for k, name in enumerate(self.names)} | self._of_design(x)
        values = {text: evaluate(node, named, text)[0] for text, node in self._nodes.items()}
        objective = jnp.asarray(values.pop("objective"), float)
        return objective, jnp.stack([jnp.zeros(()), *values.values()])[1:]

    def _of_design(self, x: Array) -> dict[str, list[Array]]:
        """The numbers of a design that constraints name, by what stands in their braces; no run is needed for them."""
        if not self._design:
            return {}
        varied = {path: x[k : k + 1] for k, path in enumerate(self.runs.paths)}
        columns, assigned = derived(self.group.model, varied, None, self.group.settings.get("derive") or {})
        numbers = {**self.group.model.numbers(), **assigned}
        return {text: [columns[full][0] if full in columns else numbers[full]] for text, full in self._design.items()}

    def excess(self, by: Array) -> Array:
        """By how much the constraint is exceeded that is exceeded most."""
        return jnp.max(self.violations(by), initial=0.0)

    def violations(self, by: Array) -> Array:
        """(C,) by how much each constraint is exceeded, 0 where it is met; of (C,) of `value`."""
        return jnp.where(self.equal, jnp.abs(by), jnp.maximum(by, 0.0))

    @cached_property
    def of_runs(self) -> np.ndarray:
        """(C,) which constraints need a run: those that name metrics."""
        return np.array([any(n.text in self.names for n in names_in(c.excess)) for c in self.wanted.constraints], bool)

    def of_parameters(self, x: np.ndarray) -> np.ndarray:
        """(n, P) of (n, V) of all varied numbers."""
        return x[:, self.columns]


class DescentMethod:
    """A method of a problem's starts: `begin`, then `see` and `advance` in turns; a pure function of what was seen.

    `_begin`, `_judge` and `_advance` are of one start, and compiled for all.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._begun, self._placed = MemberwiseFunction(self._begin), MemberwiseFunction(problem.place)
        self._judged, self._advanced = MemberwiseFunction(self._judge), MemberwiseFunction(self._advance)

    def begin(self) -> State:
        """The state of all starts, before anything is run."""
        z = self.problem.starts()
        return self._begun(z, np.broadcast_to(self.problem.home(), z.shape))

    def place(self, z: np.ndarray) -> np.ndarray:
        """(N, P) parameters of free numbers (N, P)."""
        return self._placed(z)[0]

    def see(self, state: State) -> Seen:
        """Runs the points of those starts that have not ended."""
        raise NotImplementedError

    def advance(self, state: State, seen: Seen) -> State:
        """The state after the points were seen. Nothing is run, so that a stored history gives the same state again."""
        return self._advanced(state, seen)

    def _begin(self, z: Array, home: Array) -> Row:
        """A start, from its free numbers and those of the model's own design."""
        raise NotImplementedError

    def _judge(self, *seen: Array) -> Any:
        """What is seen of the outputs of a start."""
        raise NotImplementedError

    def _advance(self, row: Row, seen: Row) -> Row:
        """A start after its point was seen."""
        raise NotImplementedError
