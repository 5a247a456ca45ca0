"""A joint that a driver keeps where each design has it, to be led from there: what loops count, and where all stands.
Host code.

Of a model with sublinkages the loops of the stage of the joint count. What earlier stages have of them stays where it
is, since what is driven never moves it; loops of later ones never hold a joint that drives them, and are left open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.constraints import Polynomial
from shiftjax.errors import ModelError
from shiftjax.kinematics.stage_order import StageOrder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, split
from shiftjax.run.beginning import unsound
from shiftjax.run.options import Options
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.plan import Plan

TOGETHER = "Give together=True (--together) of `travel`, or make sublinkages simultaneous: all loops close at once"


@dataclass(frozen=True)
class StageTravel:
    """What counts where a joint is led in its stage.

    Attributes:
        still: coordinates of earlier stages on which its loops depend, which stay. opened: names of loops and
            constraints that do not count, and later: those of later stages. Nothing of a model without stages.
    """

    still: tuple[str, ...] = ()
    opened: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: Model, plan: Plan, path: str) -> StageTravel:
        """That of a coordinate.

        Raises:
            ModelError: a joint of an earlier stage with a coordinate that no driver keeps, as of a ball.
        """
        order = StageOrder.of(model, plan)
        if len(order.stages) < 2:
            return cls()
        stage = order.of_joint[next(one.joint for one in plan.coordinates if one.path == path)]
        counted = [group for group, of in zip(plan.constraints, order.of_group, strict=True) if of == stage]
        before = {joint for group in counted for joint in group.coupled if order.of_joint[joint] < stage}
        still = [one for one in plan.coordinates if one.joint in before]
        if turning := [one.path for one in still if one.nq > 1]:
            fault = f"{listed(turning)} of an earlier stage, which turns any way"
            raise ModelError(f"travel {path}", fault, "joints of one number, which stay where they are", f"{TOGETHER}.")
        groups = zip(plan.constraints, order.of_group, strict=True)
        others = {group.name: of for group, of in groups if of != stage}
        later = frozenset(name for name, of in others.items() if of > stage)
        return cls(tuple(one.path for one in still), frozenset(others), later)

    def refuse_slopes(self) -> None:
        """Raises where what stays follows from numbers, which the equations of an end do not know.

        Raises:
            ModelError: such joints.
        """
        if self.still:
            fault = f"numbers of which slopes are asked, of a joint whose stage depends on {listed(self.still)}"
            raise ModelError("sublinkages", fault, "a joint of the first stage", f"{TOGETHER}. Or take differences.")


@dataclass
class LedJoint:
    """Designs with a driver that keeps a coordinate where each has it, loops closed.

    Attributes:
        prepared: with that driver, and those of coordinates that stay; of its numbers the first `varied` are the
            caller's. stage: what counts. free: the same without drivers, all loops closed, and stated: where designs
            stand there. q: (nq, B) where they stand, in the order of `prepared`; closed: (B,) whether loops close.
    """

    prepared: Prepared
    varied: int
    stage: StageTravel
    free: Prepared
    stated: Start
    q: np.ndarray
    closed: np.ndarray

    @classmethod
    def of(
        cls, model: Model, path: str, options: Options, *, together: bool = False, apart: bool = False
    ) -> LedJoint:  # fmt: skip
        """Of a coordinate of a model, in its stage or with all loops `together`; `apart`: designs begin with loops of
        later stages open, as they do where these cannot close.

        What designs state of its start has been heard then, and is left out: a driver says where it is. Ways to designs
        begin where the model itself stands; what it does not state is 0 there, from which loops may not close.
        """
        free = prepare(model, options.design.vary or {}, options)
        stage = StageTravel() if together else StageTravel.of(model, free.plan, path)
        if stage.opened and options.start.branch is not None:
            fault = "a branch, whose name is one of all loops"
            raise ModelError("branch", fault, "none beside sublinkages", f"{TOGETHER}.")
        began = start_of(free, unsound(free, 0.0, 0.0, strict=False), moving=False)
        q, closed, (at_file,), file_closed = began.q, began.closed, free.file_start.q.T, bool(free.file_start.closed[0])
        if stage.later and (apart or not (closed.all() and file_closed)):
            open_later = prepare(model, options.design.vary or {}, options, opened=stage.later)
            other = start_of(open_later, unsound(open_later, 0.0, 0.0, strict=False), moving=False)
            whole = closed & (not apart)
            q = np.where(whole, q, in_order(other.q, open_later.plan, free.plan))
            closed = whole | other.closed
            if apart or not file_closed:
                (at_file,) = in_order(open_later.file_start.q, open_later.plan, free.plan).T
                file_closed = bool(open_later.file_start.closed[0])
        places = {one.path: one.q for one in free.plan.coordinates if one.path in (path, *stage.still)}
        led = {one: np.where(closed, q[at], at_file[at]) for one, at in places.items()}
        standing = {one: float(at_file[at]) for one, at in places.items()} if file_closed else {}
        prepared, varied = _led(model, options, free, led, standing, stage)
        return cls(prepared, varied, stage, free, began, in_order(q, free.plan, prepared.plan), closed)


def _led(
    model: Model, options: Options, free: Prepared, led: dict[str, np.ndarray], standing: dict[str, float],
    stage: StageTravel,
) -> tuple[Prepared, int]:  # fmt: skip
    """The model with drivers that keep coordinates at places (B,), and how many numbers vary.

    Args:
        standing: places of the same in the model itself, where its loops close.
    """
    stated = {number for number in free.vary if _states(number, led)}
    vary = {
        number: values for number, values in (options.design.vary or {}).items() if model.resolve(number) not in stated
    }
    assign = {
        number: x for number, x in (options.design.assign or {}).items() if not _states(model.resolve(number), led)
    }
    drivers = {path: Polynomial([place if options.design.vary else place[0]]) for path, place in led.items()}
    if standing:
        starts = {_start_of(path): place for path, place in standing.items()}
        origin = model.origin and model.origin.with_values(starts)
        model = replace(model.with_values(starts), origin=origin)
    replaced = tuple(number for number in model.replaced if not _states(number, led))
    changed = options.changed(assign=assign or None, drive=drivers)
    return prepare(replace(model, replaced=replaced), vary, changed, opened=stage.opened), len(vary)


def in_order(q: np.ndarray, first: Plan, last: Plan) -> np.ndarray:
    """Coordinates (nq, B) of a plan in the order of another one of the same joints."""
    if [joint.path for joint in first.joints] == [joint.path for joint in last.joints]:
        return q
    places, out = {joint.path: joint for joint in first.joints}, np.empty_like(q)
    for joint in last.joints:
        before = places[joint.path]
        out[joint.q : joint.q + joint.nq] = q[before.q : before.q + before.nq]
    return out


def _start_of(path: str, what: str = "displacement") -> str:
    """The number where a coordinate begins, or how fast."""
    joint, coordinate = split(path)
    return f"{joint}.initial_{what}{coordinate}"


def _states(number: str, paths: Iterable[Any]) -> bool:
    """Whether a number is where one of some coordinates begins, or how fast."""
    return any(number in (_start_of(path), _start_of(path, "velocity")) for path in paths)
