"""Six rows of a cut loop: the chord joint's frame on the virtual body coincides with the same frame on the real body.

Along the axes of the loop's base body and about the cut point. Relative to the base nothing above it enters, so a
substructure's rows, pivots and partition do not change when the body it stands on moves or turns.
"""

from __future__ import annotations

from shiftjax.algebra import Vec, cross, is_zero, minus, neg, plus, scale, transpose, zeros
from shiftjax.constraints.rows import Rows
from shiftjax.dynamics.kinematics import BodyState, Chain, Motion
from shiftjax.topology.plan import Loop


def loop_rows(motion: Motion, loop: Loop, length: float) -> Rows:
    """Closure of one loop; `length` [m] makes translation rows comparable with rotations.

    The orientation residual is the antisymmetric part of R_virtual R_real^T, exact to third order; assembly, which may
    start far away, uses rotation logarithms instead.
    """
    chain = motion.chain(loop.base)
    joint = motion.plan.joints[motion.plan.nodes[loop.virtual].joint]
    virtual, real = chain.node(loop.virtual), chain.node(loop.real)
    R, p = chain.frame(loop.real, joint.far_frame)
    turn = zeros()
    for a, b in zip(transpose(R), transpose(virtual.R), strict=True):
        turn = plus(turn, cross(a, b))
    rows = Rows(phi=[*scale(0.5, turn), *minus(virtual.p, p)], unit=[1.0] * 3 + [length] * 3)
    rows.J = [{} for _ in range(6)]
    _fill(rows, chain, loop.virtual_branch, virtual.p, +1)
    _fill(rows, chain, loop.real_branch, p, -1)
    rows.nu = zeros(6)
    rows.turns = [(virtual.R, R)]
    rows.gamma = zeros(6)
    if motion.v is not None:
        rows.gamma = minus(_bias(real, p), _bias(virtual, virtual.p))
    return rows


def _fill(rows: Rows, chain: Chain, branch: tuple[int, ...], c: Vec, sign: int) -> None:
    for index in branch:
        first = chain.plan.joints[index].v
        for k, screw in enumerate(chain.screws_of(index)):
            for row, entry in enumerate([*screw.angular, *screw.linear_at(c)]):
                if not is_zero(entry):
                    rows.J[row][first + k] = entry if sign > 0 else neg(entry)


def _bias(state: BodyState, c: Vec) -> Vec:
    """Bias acceleration as a spatial vector about the cut point c.

    The terms w x (u + w x c) of both bodies cancel where the loop is closed and its speeds agree.
    """
    return [*state.alpha, *plus(state.acc, cross(state.alpha, c))]
