"""`configuration`: everything inside a model at one state, or at one of each of many variants of it. Host code.

Loops are closed as `assemble` closes them; nothing is compiled. What is asked is computed when it is asked for, once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.access.answers import Question, answers_of
from shiftjax.access.asking import answered
from shiftjax.access.closing import LoopsInJax, independent_places
from shiftjax.access.common_partition import common_partition
from shiftjax.access.derivatives import along_closed, along_motion, with_number, with_places, with_speeds
from shiftjax.access.dynamic_questions import DynamicQuestions
from shiftjax.access.kinematic_questions import KinematicQuestions
from shiftjax.access.lane_state import Ground
from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, nearest, need, need_mapping, refuse_text, shown
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.derive import Formula
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.run.start.prepared import forced_speeds
from shiftjax.topology.plan import row_names

Array = Any  # of NumPy, or of JAX


class Configuration(KinematicQuestions, DynamicQuestions):
    """A state of a model, or one of each of B members, of which everything can be asked.

    Attributes:
        model, plan: with drivers that were added, and its structure.
        q, v: (nq,) or (B, nq) coordinates and (nv,) or (B, nv) speeds of all joints.
        states: (ns,) or (B, ns) internal states of forces. t: () or (B,) time [s].
        numbers: path -> () or (B,) the varied numbers that are no starts.
        speed_names, independent_names, row_names: of all speeds, of the independent ones, of rows of constraints.
        status: () or (B,) `Outcome`, above 0 where loops cannot be closed: all answers are NaN there.
        gap: () or (B,) by which loops are open [m or rad]. messages: texts, "" where all is good.
    """

    def __init__(self, stated: StatedState, ground: Ground, given: np.ndarray, again: Callable[..., Any]) -> None:
        self.model, self.plan = stated.prepared.model, stated.prepared.plan
        self._stated, self._ground, self._again = stated, ground, again
        self._answers = answers_of(ground)
        lost = stated.status > 0
        q, v = (np.where(lost, np.nan, x) for x in (stated.q, stated.v))
        self._x = np.concatenate([q, v, stated.states, stated.t[None], stated.numbers, given])
        self._computed: dict[Any, np.ndarray] = {}
        self.q, self.v, self.states = (self._of_members(x.T) for x in (q, v, stated.states))
        self.t, self.status, self.gap = (self._of_members(x) for x in (stated.t, stated.status, stated.gap))
        paths = [self.plan.numbers[place].path for place in ground.varied]
        self.numbers = {path: self._of_members(x) for path, x in zip(paths, stated.numbers, strict=True)}
        self.messages = stated.messages

    @property
    def speed_names(self) -> tuple[str, ...]:
        """(nv,) of all joints: rows and columns where `constrained` is False."""
        return self.plan.speed_names()

    @property
    def independent_names(self) -> tuple[str, ...]:
        """(n,) of the independent speeds: rows and columns where `constrained` is True."""
        return tuple(self.speed_names[k] for k in self._ground.independent)

    @property
    def length(self) -> float:
        """The model's length, with which metres are compared with radians [m]."""
        return self._ground.length

    @property
    def row_names(self) -> tuple[str, ...]:
        """(m,) of all rows of loops, drivers and constraints."""
        return tuple(name for k in range(len(self.plan.substructures)) for name in row_names(self.plan, k))

    def __repr__(self) -> str:
        members = "" if self._stated.members is None else f", {self._stated.members} members"
        lost = int((np.atleast_1d(self.status) > 0).sum())
        return (
            f"configuration of {self.model.name or 'a model'}: {self.plan.nv} speeds, {len(self.independent_names)} "
            f"independent{members}" + (f", {lost} of them not closed" if lost else "")
        )

    def changed(self, **given: Any) -> Configuration:
        """The same with other arguments of `configuration`; what is not named stays, in mappings such as `q`, too.

        The same coordinates are independent where the loops allow it, so that columns keep their meaning.

        Raises:
            ModelError: as `configuration` does.
        """
        return self._again(given)

    def _answer(self, question: Question) -> np.ndarray:
        """The answer to a question, computed when it is first asked; the same array, read-only, from then on."""
        key = (question.key, tuple(np.asarray(x, float).tobytes() for x in question.extras))
        if key not in self._computed:
            values = self._answers.in_numpy(question, self._x)
            values[self._stated.status > 0] = np.nan  # also what is known whatever the pose
            value = self._of_members(values)
            value.setflags(write=False)
            self._computed[key] = value
        return self._computed[key]

    def _of_members(self, values: np.ndarray) -> np.ndarray:
        """Without the axis of members where there are none."""
        return values if self._stated.members is not None else np.asarray(values[0])

    @answered
    def rate(self, name: str, *args: Any, **options: Any) -> Question:
        """(...) the time derivative of anything, by the accelerations of this state: `at.rate("mass_matrix")`.

        Args:
            name: of a method; args, options: what it takes. Components along `axes` that move change with them.
        """
        return along_motion(self._question(name, args, options))

    @answered
    def jacobian_rate(self, frame: Any, **options: Any) -> Question:
        """(6, n) the time derivative of `jacobian`, of its components along `axes`; arguments as there.

        Along the axes of `relative_to`, acceleration = J a + J' v; along those of the frame itself the spatial one is.
        """
        return along_motion(self._question("jacobian", (frame,), options))

    @answered
    def derivative(self, name: str, *args: Any, wrt: str = "q", closed: bool = False, **options: Any) -> Question:
        """(..., n) slopes of anything: `at.derivative("pose", "tool", wrt="q")`.

        Args:
            name: of a method; args, options: what it takes.
            wrt: "q" for the displacements of all speeds, with speeds held; "v" for speeds; or the path of a varied
                number, without a last axis.
            closed: by the n independent coordinates or speeds, all others following by the loops; a number then moves
                what follows, too. Else all coordinates are on their own.
        """
        question = self._question(name, args, options)
        need("wrt", wrt, str, '"q", "v", or the path of a varied number')
        if wrt in ("q", "v"):
            return (with_places if wrt == "q" else with_speeds)(question, closed=closed)
        path = self.model.resolve(wrt)
        if path not in self.numbers:
            known = ["q", "v", *self.numbers]
            raise ModelError("wrt", repr(wrt), listed(known), nearest(path, known) or "Name it in `vary`.")
        return with_number(question, [*self.numbers].index(path), closed=closed)

    @answered
    def along(
        self, name: str, *args: Any, places: Any = None, numbers: Mapping[str, Any] | None = None, **options: Any
    ) -> Question:
        """(...) the slope of anything in one direction, with all loops closed.

        Args:
            name: of a method, "derivative" among them; args, options: what it takes.
            places: (n,) or (B, n) displacements of the independent coordinates. numbers: path of a varied number -> its
                change, one or (B,). Both are 0 where they are left out.
        """
        question, known = self._question(name, args, options), [*self.numbers]
        changes = {self.model.resolve(path): change for path, change in (numbers or {}).items()}
        for path in changes:
            if path not in known:
                raise ModelError("numbers", repr(path), listed(known), nearest(path, known) or "Name it in `vary`.")
        n = len(self._ground.independent)
        rates = np.zeros(n) if places is None else np.asarray(places, float)
        if rates.shape[-1:] != (n,):
            raise ModelError("places", f"an array of shape {rates.shape}", f"(..., {n})", "Give one a coordinate.")
        extras = (*np.moveaxis(rates, -1, 0), *(np.asarray(changes.get(path, 0.0), float) for path in known))
        return replace(along_closed(question), extras=(*question.extras, *extras))

    def function(self, name: str, *args: Any, **options: Any) -> Callable[..., Any]:
        """Anything as a pure function of one member for `jax.jit`, `grad`, `vmap`.

        Args:
            name: of a method, "rate" and "derivative" among them; args, options: what it takes.

        Returns:
            f(q, v=None, numbers=None, *, states=None, t=0.0, a=None): (nq,) coordinates, (nv,) speeds, 0 where left
            out, path -> varied numbers, those of this configuration where left out; gives an array of one member.
        """
        question = self._of_one_member(self._question(name, args, options))

        def asked(
            q: Any, v: Any = None, numbers: Mapping[str, Any] | None = None, *, states: Any = None, t: Any = 0.0,
            a: Any = None,
        ) -> Any:  # fmt: skip
            q = jnp.asarray(q, float)
            x = self._inputs(q, v, numbers, states, t, a)
            return self._answers.in_jax(question, x, q.dtype)

        return asked

    def closed_function(self, name: str, *args: Any, **options: Any) -> Callable[..., Any]:
        """The same by independent coordinates and speeds alone: JAX closes the loops, and slopes go through that.

        Args:
            name, args, options: as of `function`.

        Returns:
            f(q, v=None, numbers=None, *, near=None, states=None, t=0.0, a=None): (n,) independent coordinates and
            speeds in the order of `independent_names`. Newton's method closes the loops from the pose `near` (nq,),
            that of this configuration where left out; the answer is NaN where it does not end. First and second
            derivatives are exact, by numbers as lengths, too.

        Raises:
            ModelError: speeds of balls or floating bodies among the independent ones.
        """
        question = self._of_one_member(self._question(name, args, options))
        independent_places(self._ground)

        def asked(
            q: Any, v: Any = None, numbers: Mapping[str, Any] | None = None, *, near: Any = None, states: Any = None,
            t: Any = 0.0, a: Any = None,
        ) -> Any:  # fmt: skip
            if near is None and self._stated.members is not None:
                raise ModelError("near", "left out", "a pose (nq,) of many members", "Give one, as `at.q[0]`.")
            count, q = len(self._ground.independent), jnp.asarray(q, float)
            q, v = (jnp.stack(_scalars(x, count, q.dtype)) if count else jnp.zeros(0, q.dtype) for x in (q, v))

            def inputs(q: Any, v: Any) -> list[Any]:
                return self._inputs(q, v, numbers, states, t, a)

            closing = LoopsInJax(self._answers, inputs, q.dtype)
            pose = jnp.asarray(self.q if near is None else near, q.dtype)
            return self._answers.in_jax(question, inputs(*closing.closed(pose, q, v)), q.dtype)

        return asked

    def _of_one_member(self, question: Question) -> Question:
        if any(np.ndim(value) for value in question.extras):
            raise ModelError("function", "frames with values for members", "values of one member", "Give one each.")
        return question

    def _inputs(self, q: Any, v: Any, numbers: Mapping[str, Any] | None, states: Any, t: Any, a: Any) -> list[Any]:
        """What a state is made of, in the order of `Ground.parts`."""
        parts = [(q, self.plan.nq), (v, self.plan.nv), (states, self.plan.ns)]
        x = [y for given, count in parts for y in _scalars(given, count, q.dtype)]
        x += [jnp.asarray(t, q.dtype), *self._scalar_numbers(numbers or {}, q.dtype)]
        return x + _scalars(a, len(self._ground.independent) if self._ground.given else 0, q.dtype)

    def _scalar_numbers(self, numbers: Mapping[str, Any], dtype: Any) -> list[Any]:
        values = {self.model.resolve(path): value for path, value in numbers.items()}
        if unknown := [path for path in values if path not in self.numbers]:
            todo = nearest(unknown[0], self.numbers) or "Name it in `vary` of the configuration."
            raise ModelError("numbers", listed(unknown), listed(self.numbers) or "none: nothing varies", todo)
        missing = [path for path in self.numbers if path not in values]
        if missing and self._stated.members is not None:
            raise ModelError("numbers", f"{listed(missing)} left out", "all that vary between members", "Give them.")
        return [jnp.asarray(values.get(path, value), dtype) for path, value in self.numbers.items()]

    def _question(self, name: str, args: Sequence[Any], options: Mapping[str, Any]) -> Question:
        """A question by the name of a method.

        Raises:
            ModelError: no method that asks.
        """
        need("name", name, str, "the name of a method")
        method = getattr(getattr(type(self), name, None), "question", None)
        if method is None:
            known = [key for key in dir(type(self)) if hasattr(getattr(type(self), key), "question")]
            raise ModelError("name", shown(name), listed(known, 40), nearest(str(name), known) or "Name one of these.")
        return method(self, *args, **options)


def _scalars(given: Any, count: int, dtype: Any) -> list[Any]:
    """The entries of an array of JAX; zeros where it is left out."""
    if given is None:
        return [jnp.zeros((), dtype)] * count
    array = jnp.asarray(given, dtype)
    if array.shape != (count,):
        raise ModelError(
            "function", f"an array of shape {array.shape}", f"({count},)", "Give one member; `jax.vmap` does many."
        )
    return [array[k] for k in range(count)]


def configuration(
    model: Model | str,
    q: Mapping[str, Any] | Array | None = None,
    v: Mapping[str, Any] | Array | None = None,
    a: Mapping[str, Any] | None = None,
    *,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    time: Any = None,
    start: Result | None = None,
    independent: Sequence[str] = (),
) -> Configuration:
    """A state of a model of which all can be asked: frames, Jacobians, matrices of motion, forces, energies.

    Args:
        model: a Model, a library name or a path.
        q, v: coordinate -> its place and speed, one value or (B,) [rad or m, per second]; others follow by the loops,
            or are where the model has them. Or arrays (nq,) and (nv,), or (B, nq), (B, nv), of all joints in the order
            of `Configuration.q`, which are taken as they are.
        a: coordinate -> its acceleration, of all that are to be independent; else they follow from the forces.
        vary: number path -> one value or (B,). assign, derive, drive, tie: as those of `simulate`.
        time: one instant or (B,), which laws in time see [s]; 0 where left out.
        start: a `Result` at whose end the members stand, in place of `q` and `v`; its `vary` is to be given, too.
        independent: coordinates that are to be independent; where left out those of `q` where the loops leave them free
            together, and for the rest those of the partition whose worst member has the largest pivots.

    Returns:
        a `Configuration`; without arrays of members it has no axis of members.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    need("start", start, (Result, type(None)), "a Result")
    given = {
        "q": q, "v": v, "a": a, "vary": vary, "assign": assign, "derive": derive, "drive": drive, "tie": tie,
        "time": time, "start": start, "independent": independent,
    }  # fmt: skip
    return _configured(
        model if isinstance(model, Model) else load(model), given, [*q] if isinstance(q, Mapping) else ()
    )


def _configured(
    model: Model, given: Mapping[str, Any], wished: Sequence[str], speeds: Collection[str] = ()
) -> Configuration:
    """A configuration by its arguments.

    Args:
        wished: coordinates that are to be independent where they can be; speeds: the same by their own names.
    """
    refuse_text("independent", given["independent"])
    if given["a"] is not None:
        need_mapping("a", given["a"])
    asked = {name: value for name, value in given.items() if name not in ("a", "independent")}
    stated = stated_state(model, **asked, massless=True)
    prepared, a = stated.prepared, given["a"]
    plan, setup = prepared.plan, prepared.setup
    forced = forced_speeds(prepared, [*given["independent"], *(a or ())])
    liked = {k for k, name in enumerate(plan.speed_names()) if name in speeds} or forced_speeds(prepared, wished)
    good = (stated.status <= 0) & np.isfinite(stated.q).all(0)
    partition = common_partition(prepared, stated.q, good, forced, liked)
    numbers = tuple(None if k in setup.varied else x for k, x in enumerate(setup.numbers))
    ground = Ground(
        plan, partition, numbers, setup.varied, setup.matrices, setup.length, setup.functions, a is not None,
        need_masses=stated.need_masses,
    )  # fmt: skip
    rows = np.zeros((0, stated.q.shape[1])) if a is None else stated.accelerations(a, ground.independent)

    def again(changes: Mapping[str, Any]) -> Configuration:
        merged = dict(given)
        for name, value in changes.items():
            if name not in merged:
                raise ModelError(
                    "changed", repr(name), listed(merged, 20), nearest(name, merged) or "Name one of these."
                )
            both = isinstance(value, Mapping) and isinstance(given[name], Mapping)
            merged[name] = {**given[name], **value} if both else value
        names = plan.speed_names()
        return _configured(model, merged, (), [names[k] for k in ground.independent])

    return Configuration(stated, ground, rows, again)
