"""Six rows of a cut loop: the chord joint's frame on the virtual body coincides with the same frame on the real body.

Along the axes of the loop's base body and about the cut point. They do not depend on the motion of the base, so a
substructure's rows, pivots and partition do not change when its base body moves.
"""

from __future__ import annotations

from shiftjax.algebra import Mat, Vec, cross, is_zero, matmul, minus, plus, scale, transpose, zeros
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.plan_elements import ChainView, Loop, MotionView, NodeState, RowGroup
from shiftjax.rotations import vector_of_rotation

ROWS = tuple(f"{what} {axis}" for what in ("rotation", "translation") for axis in "xyz")


class LoopClosure(ConstraintKind):
    """The closure of one loop."""

    listed, row_names = "", ROWS

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        """The orientation rows are the antisymmetric part of R_virtual R_real^T, exact to third order."""
        loop, chain, virtual, R, p = loop_ends(group, motion)
        rotation = zeros()
        for a, b in zip(transpose(R), transpose(virtual.R), strict=True):
            rotation = plus(rotation, cross(a, b))
        rows = Rows(phi=[*scale(0.5, rotation), *minus(virtual.p, p)], unit=["rad"] * 3 + ["m"] * 3)
        rows.J = [{} for _ in ROWS]
        _fill(rows, motion, chain, loop.virtual_branch, virtual.p, +1)
        _fill(rows, motion, chain, loop.real_branch, p, -1)
        rows.nu, rows.gamma = zeros(6), zeros(6)
        if motion.v is not None:
            rows.gamma = minus(_bias(chain.node(loop.real), p), _bias(virtual, virtual.p))
        return rows

    def residual(self, group: RowGroup, motion: MotionView, rows: Rows) -> Vec:
        """Rotation logarithms: vee of R - R^T vanishes at a rotation by pi too."""
        _, _, virtual, R, _ = loop_ends(group, motion)
        return [*vector_of_rotation(matmul(virtual.R, transpose(R))), *rows.phi[3:]]


def loop_ends(group: RowGroup, motion: MotionView) -> tuple[Loop, ChainView, NodeState, Mat, Vec]:
    """The loop, its chain, its virtual end, and the frame with which that must coincide."""
    assert group.loop is not None
    chain = motion.chain(group.loop.base)
    (placed,) = group.frames
    return group.loop, chain, chain.node(group.loop.virtual), *chain.frame(placed)


def _fill(rows: Rows, motion: MotionView, chain: ChainView, branch: tuple[int, ...], c: Vec, sign: int) -> None:
    for index in branch:
        first = motion.first_speed(index)
        for k, screw in enumerate(chain.screws_of(index)):
            for row, entry in enumerate([*screw.angular, *screw.linear_at(c)]):
                if not is_zero(entry):
                    rows.J[row][first + k] = entry if sign > 0 else -entry


def _bias(state: NodeState, c: Vec) -> Vec:
    """Bias acceleration as a spatial vector about the cut point c.

    The terms w x (u + w x c) of both bodies cancel where the loop is closed and its speeds are consistent.
    """
    return [*state.alpha, *plus(state.acc, cross(state.alpha, c))]
