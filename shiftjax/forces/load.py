"""What every force element gives to one lane."""

from __future__ import annotations

from dataclasses import dataclass, field

from shiftjax.algebra import Scalar, Vec, add, plus


@dataclass
class Load:
    """Sum of force elements.

    generalized: speed index -> force or torque [N, N m]; wrenches: node -> (moment about the reference point of the
    node's dynamic chain, force); potential [J] of springs; power [W] of what is not conservative.
    """

    generalized: dict[int, Scalar] = field(default_factory=dict)
    wrenches: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    potential: Scalar = 0.0
    power: Scalar = 0.0

    def push(self, speed: int, force: Scalar) -> None:
        self.generalized[speed] = add(self.generalized.get(speed, 0.0), force)

    def pull(self, node: int, moment: Vec, force: Vec) -> None:
        old = self.wrenches.get(node)
        self.wrenches[node] = (moment, force) if old is None else (plus(old[0], moment), plus(old[1], force))
