"""The way back over a step, from the instructions of its method: every instruction mirrored, in reverse order.

The cotangent of region R is region `bar(R)`. A combination hands that of its target to what it is made of; a call runs
the reverse pieces of its phase (`adjoint`), which do the same, on the arguments that the step left on a stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shiftjax.kernels.lane_program import REVERSED
from shiftjax.kernels.step_program import LINEAR, RATES, Combine, Part


class Mirrored(NamedTuple):
    """A part of a step on its way back: its calls, last first, then its combinations.

    Attributes:
        phases: those that have reverse pieces. at: as in `Part`.
        before, after: the place on the stack of the state that the calls take, with the rates that they give, and of
            that after a projection; None for the end of the step, whose state is the first of the next step.
    """

    phases: tuple[str, ...]
    at: float
    before: int
    after: int | None
    combines: tuple[Combine, ...]


def bar(region: str) -> str:
    """The region of the cotangent of a region."""
    return f"bar_{region}"


def recorded(parts: Sequence[Part]) -> tuple[list[tuple[int, int | None]], int]:
    """Places on the stack of the state before and after the calls of each part, and how many there are.

    Place 0 is the state at the beginning.
    """
    places: list[tuple[int, int | None]] = []
    last = 0
    for number, part in enumerate(parts):
        last += bool(part.combines)
        after = last + 1 if "project" in part.phases and number < len(parts) - 1 else None
        places.append((last, after))
        last = last if after is None else after
    return places, last + 1


def mirrored(parts: Sequence[Part]) -> list[Mirrored]:
    """The parts of a step on the way back, from the cotangents of q and x at its end to those at its beginning.

    Of regions whose cotangents are still zero nothing is added up.
    """
    places, _ = recorded(parts)
    zero = {bar(one.target) for part in parts for one in part.combines}
    zero |= {bar(name) for name in (*RATES.values(), *LINEAR["linearize"])}
    zero -= {bar("q"), bar("x")}
    back = []
    for part, (before, after) in zip(reversed(parts), reversed(places), strict=True):
        phases = tuple(phase for phase in reversed(part.phases) if phase in REVERSED)
        phases = tuple(phase for phase in phases if phase not in RATES or bar(RATES[phase]) not in zero)
        for phase in phases:  # uses up the cotangents of what it writes
            if phase == "solve":
                zero -= {bar(name) for name in LINEAR[phase]}  # which it reads, too
                continue
            zero.update(map(bar, LINEAR.get(phase, (RATES.get(phase, "dx"),))))
            zero -= {bar("q"), bar("x")}
        combines = tuple(one for forward in reversed(part.combines) for one in _transposed(forward, zero))
        back.append(Mirrored(phases, part.at, before, after, combines))
    return back


def _transposed(forward: Combine, zero: set[str]) -> Iterator[Combine]:
    """What a combination adds to the cotangents of its regions, and what is left of that of its target."""
    source = bar(forward.target)
    if source in zero:
        return
    itself: tuple[list[tuple[str, float]], list[tuple[str, float]]] = [], []  # of the target in itself, if it is
    for power, terms in enumerate((forward.base, forward.rates)):
        for name, a in terms:
            if name == forward.target:
                itself[power].append((source, a))
                continue
            target, given = bar(name), ((source, a),)
            before = () if target in zero else ((target, 1.0),)
            yield Combine(target, before, given) if power else Combine(target, (*before, *given))
            zero.discard(target)
    if any(itself):
        yield Combine(source, tuple(itself[0]), tuple(itself[1]))
    else:
        yield Combine(source, ())
        zero.add(source)
