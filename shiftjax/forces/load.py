"""What every force gives to one lane."""

from __future__ import annotations

from dataclasses import dataclass, field

from shiftjax.algebra import Scalar, Vec, add, cross, negative, plus, sub
from shiftjax.lane import MotionView, PlacedFrame


@dataclass
class Load:
    """Sum of forces.

    generalized: speed index -> force or torque [N, N m]; wrenches: node -> (moment about the reference point of the
    node's dynamic chain, force); potential [J] of springs; power [W] of what is not conservative.
    """

    generalized: dict[int, Scalar] = field(default_factory=dict)
    wrenches: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    potential: Scalar = 0.0
    power: Scalar = 0.0

    def push(self, speed: int, force: Scalar) -> None:
        """A force or torque along one speed."""
        self.generalized[speed] = add(self.generalized.get(speed, 0.0), force)

    def pull(self, node: int, moment: Vec, force: Vec) -> None:
        """A wrench on one node, its moment about the reference point of the node's dynamic chain."""
        old = self.wrenches.get(node)
        self.wrenches[node] = (moment, force) if old is None else (plus(old[0], moment), plus(old[1], force))

    def pull_apart(self, motion: MotionView, frames: tuple[PlacedFrame, ...], span: Vec, force: Vec) -> None:
        """A force on the second of two frames' bodies, and its reaction on the first, `span` from first to second.

        The reaction acts at the second frame's point: with an axis fixed in the first body the virtual work of turning
        it is part of the displacement's.
        """
        first, second = (motion.chain(rooted=True).frame(placed)[1] for placed in frames)
        self.pull(frames[1].node, cross(second, force), force)
        back = negative(force)
        self.pull(frames[0].node, cross(plus(first, span), back), back)

    def store(self, energy: Scalar) -> None:
        """Potential energy [J]."""
        self.potential = add(self.potential, energy)

    def dissipate(self, power: Scalar) -> None:
        """Power [W] taken out of the mechanism."""
        self.power = sub(self.power, power)

    def supply(self, power: Scalar) -> None:
        """Power [W] brought into the mechanism."""
        self.power = add(self.power, power)
