"""A gear between two joints: q_1 = ratio q_2 + offset."""

from __future__ import annotations

from shiftjax.constraints import CONSTRAINTS, ConstraintKind, RowGroup, Rows
from shiftjax.field import number
from shiftjax.plan_elements import MotionView


class Gear(ConstraintKind):
    """Two joints that turn in a fixed ratio."""

    joints, row_names = 2, ("meshes",)
    fields = (
        number("ratio", "1", "turns of the first joint for one of the second"),
        number(
            "offset",
            "{x}",
            "displacement of the first joint where the second's is zero",
            default=0.0,
        ),
    )

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        n, (first, second) = motion.values(group.numbers), group.coordinates
        phi = (
            motion.coordinate(first)
            - n["ratio"] * motion.coordinate(second)
            - n["offset"]
        )
        J = {
            motion.speed_index(first): 1.0,
            motion.speed_index(second): -n["ratio"],
        }
        return Rows(
            phi=[phi], J=[J], nu=[0.0], gamma=[0.0], unit=[group.units[0]]
        )


CONSTRAINTS["my_gear"] = Gear()
