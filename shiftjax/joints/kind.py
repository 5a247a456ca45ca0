"""What a joint kind declares: its motion, its counts, and how it is written in a file."""

from __future__ import annotations

from shiftjax.joints.primitives import Primitive
from shiftjax.record import record


@record
class JointKind:
    """A joint kind: a sequence of primitive motions from the parent's frame to the child's.

    Attributes:
        primitives: the motions in order; a rigid joint has none.
        displacement: "scalar" (one number), "placement" (T and R) or "rotation" (R only).
        drawing: hint for the viewer: "hinge", "slider", "ball", "weld" or "free".
    """

    primitives: tuple[Primitive, ...]
    displacement: str
    drawing: str

    @property
    def nq(self) -> int:
        return sum(p.nq for p in self.primitives)

    @property
    def nv(self) -> int:
        return sum(p.nv for p in self.primitives)

    @property
    def needs_axis(self) -> bool:
        return any(p.axis == "axis" for p in self.primitives)

    @property
    def quaternion(self) -> bool:
        return any(p.quaternion for p in self.primitives)

    @property
    def unit(self) -> str:
        """Unit of a one-coordinate joint's displacement."""
        return "m" if self.drawing == "slider" else "rad"
