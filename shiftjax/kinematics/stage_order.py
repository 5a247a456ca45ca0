"""The order of solution of sublinkages in numbers of a plan: to which stage joints, loops and constraints belong. Host
code, no jax.

A loop or a constraint belongs to the latest stage that has a joint which moves it: then all other joints that do are
where earlier stages left them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.sublinkages import LinkageStage, stages_of
from shiftjax.record import record
from shiftjax.topology.plan import Plan


@record
class StageOrder:
    """Stages of a plan.

    Attributes:
        stages: in their order; one where there are no sublinkages, or simultaneous ones alone. of_joint, of_group:
            number of the stage of each joint, and of each loop and constraint, of the plan.
    """

    stages: tuple[LinkageStage, ...]
    of_joint: tuple[int, ...]
    of_group: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, plan: Plan) -> StageOrder:
        """That of a model."""
        welds = [joint.path for joint in plan.joints if not joint.nv]
        stages = stages_of(model.sublinkages, [joint.path for joint in plan.joints], welds)
        places = stage_places(plan, stages)
        return cls(stages, tuple(places), tuple(latest(places, group.coupled) for group in plan.constraints))


def stage_places(plan: Plan, stages: Sequence[LinkageStage]) -> list[int]:
    """Of each joint of a plan the number of its stage."""
    of = {path: k for k, stage in enumerate(stages) for path in stage.joints}
    return [of[joint.path] for joint in plan.joints]


def latest(places: Sequence[int], joints: Iterable[int]) -> int:
    """The latest stage of some joints; the first one of none."""
    return max((places[joint] for joint in joints), default=0)
