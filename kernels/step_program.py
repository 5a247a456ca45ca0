"""What one step of a method is: a list of instructions over regions of a lane, and the lists of Runge-Kutta tables.

A region holds one number for every coordinate, or one for every speed, state and quadrature:

    q, x            coordinates; speeds, states and quadratures: what calls read
    qdot, dx        their rates, which calls write
    q0, x0, dx0     the accepted state before the step, which every step begins with
    eq, ex          estimates of their errors; only steps whose size is controlled have them
    any other       a register of the method, as wide as what is first written into it

A method is added as one list: `step_loop.StepLoop` runs it, `llvm.stage_builder` emits it, `mirrored` reverses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from shiftjax.errors import ModelError
from shiftjax.record import record

Weights = tuple[tuple[str, float], ...]  # regions and their factors

KINDS = {"q": "q", "qdot": "q", "q0": "q", "eq": "q", "x": "x", "dx": "x", "x0": "x", "dx0": "x", "ex": "x"}
RATES = {"drift": "qdot", "accelerate": "dx"}  # phases that a method calls, beside the projection, and what they write
ESTIMATES = ("eq", "ex")


@record
class Combine:
    """target = sum of the base + h sum of the rates, h the size of the step [s]; the target may be among them."""

    target: str
    base: Weights
    rates: Weights = ()


@record
class Call:
    """A phase at the time of `at` steps after the beginning: drift, accelerate or project, see `LaneProgram`."""

    phase: str
    at: float


Instruction = Combine | Call
KEEP = (Combine("q0", (("q", 1.0),)), Combine("x0", (("x", 1.0),)), Combine("dx0", (("dx", 1.0),)))
CLOSE = (Call("project", 1.0), Call("error", 1.0), Call("events", 1.0))  # where a program has pieces for them


class Part(NamedTuple):
    """Combinations, then calls at one time, all of which take the same q and x but those that close a step."""

    combines: tuple[Combine, ...]
    phases: tuple[str, ...]
    at: float


@record
class Method:
    """A method by the instructions between the accepted state and the projection that ends every step.

    They leave the end of the step in q and x, and estimates of its errors in eq and ex where they control its size.

    Raises:
        ModelError: an instruction reads what nothing has written, mixes coordinates and speeds, writes what a step
            keeps, or calls no phase of a step.
    """

    name: str
    body: tuple[Instruction, ...]

    def __post_init__(self) -> None:
        registers(self)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The whole step: the state is kept after the drifts at its beginning, which change none of it."""
        first = next((k for k, one in enumerate(self.body) if one != Call("drift", 0.0)), len(self.body))
        return (*self.body[:first], *KEEP, *self.body[first:], *CLOSE)

    @property
    def controls(self) -> bool:
        """Whether the method estimates its errors."""
        return any(isinstance(one, Combine) and one.target in ESTIMATES for one in self.body)

    def kind(self, region: str) -> str:
        """Whether a region is as wide as q or as x."""
        return KINDS.get(region) or registers(self)[region]

    def calls(self, phase: str) -> int:
        """How often a step runs a phase."""
        return sum(isinstance(one, Call) and one.phase == phase for one in self.instructions)

    def parts(self, *, controlled: bool) -> tuple[Part, ...]:
        """The step in parts of combinations and calls.

        Args:
            controlled: whether estimates are wanted.
        """
        return tuple(_parts(one for one in self.instructions if controlled or not _estimates(one)))


def _estimates(one: Instruction) -> bool:
    return one.target in ESTIMATES if isinstance(one, Combine) else one.phase == "error"


def _moves(before: Call, one: Call) -> bool:
    """Whether a call moves what the one before it takes, or the other way round."""
    return one.phase == "project" or (before.phase == "project" and one.phase in RATES)


def _parts(instructions: Iterator[Instruction]) -> Iterator[Part]:
    combines: list[Combine] = []
    calls: list[Call] = []
    for one in instructions:
        if calls and (isinstance(one, Combine) or one.at != calls[-1].at or _moves(calls[-1], one)):
            yield Part(tuple(combines), tuple(call.phase for call in calls), calls[-1].at)
            combines, calls = [], []
        (combines if isinstance(one, Combine) else calls).append(one)  # type: ignore[arg-type]
    yield Part(tuple(combines), tuple(call.phase for call in calls), calls[-1].at)


@cache
def registers(method: Method) -> dict[str, str]:
    """The registers of a method, those of the accepted state first: name -> "q" or "x", which it is as wide as."""
    kinds, written = dict(KINDS), {"q", "x", "dx"}
    for one in method.body:
        if isinstance(one, Call) and one.phase not in (*RATES, "project"):
            raise _refused(method, f"a call of {one.phase!r}", ", ".join((*RATES, "project")))
        if isinstance(one, Combine) and one.target in ("q0", "x0", "dx0", *RATES.values()):
            raise _refused(method, f"a combination into {one.target!r}", "q, x, eq, ex and registers")
    for one in method.instructions:
        if isinstance(one, Call):
            if one.phase in RATES:
                written.add(RATES[one.phase])
            continue
        read = [name for name, _ in (*one.base, *one.rates)]
        if unknown := [name for name in read if name not in written]:
            what = f"{one.target} from {unknown[0]!r}, which nothing has written before"
            raise _refused(method, what, ", ".join(sorted(written)))
        read_kinds = {kinds[name] for name in read} | ({kinds[one.target]} if one.target in kinds else set())
        if len(read_kinds) != 1:
            raise _refused(method, f"{one.target} from {', '.join(read) or 'nothing'}", "regions of equal width")
        kinds[one.target] = read_kinds.pop()
        written.add(one.target)
    return {name: kinds[name] for name in ("q0", "x0", "dx0")} | {k: v for k, v in kinds.items() if k not in KINDS}


def _refused(method: Method, what: str, allowed: str) -> ModelError:
    return ModelError(f"method {method.name!r}", what, allowed, "See kernels/step_program.py.")


# -- lists of tables -----------------------------------------------------------------------------------------------


def combine(target: str, base: str | Mapping[str, float], rates: Mapping[str, float] | None = None) -> Combine:
    """A `Combine`; a base without factors is taken once, factors of 0 are left out."""
    parts = ({base: 1.0} if isinstance(base, str) else base, rates or {})
    return Combine(target, *(tuple((name, float(a)) for name, a in part.items() if a != 0.0) for part in parts))


def explicit(
    name: str,
    A: Sequence[Sequence[float]],
    b: Sequence[float],
    c: Sequence[float],
    error: Sequence[float] = (),
) -> Method:
    """An explicit Runge-Kutta table (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1).

    Args:
        A: row s has s entries. b: weights of the end. c: times of the stages in steps. error: weights of the
            estimate of the error h sum error[s] k_s of an embedded method (II.4), which controls its step size.
    """
    return partitioned(name, (A, A), (b, b), c, error)


def partitioned(
    name: str,
    A: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]],
    b: tuple[Sequence[float], Sequence[float]],
    c: Sequence[float],
    error: Sequence[float] = (),
) -> Method:
    """A pair of explicit tables (Hairer, Lubich, Wanner, Geometric Numerical Integration, II.2), of q and of x.

    Stage s: x_s = x + h sum_j A[1][s][j] dx_j, q_s = q + h sum_j A[0][s][j] qdot_j at t + c[s] h, with the rates
    qdot_s = drift(q_s, x_s) and dx_s = accelerate(q_s, x_s), each where it is used. Stage 0 is the state itself with
    the dx of the last projection.
    """

    def weights(row: Sequence[float], rates: str) -> dict[str, float]:
        return {"dx0" if (rates, j) == ("kx", 0) else f"{rates}{j}": a for j, a in enumerate(row)}

    def used(table: int, s: int) -> bool:
        rows = (*A[table][s + 1 :], b[table], error)
        return any(row[s] != 0.0 for row in rows if len(row) > s)

    body: list[Instruction] = []
    for s in range(len(c)):
        if s and (used(0, s) or used(1, s)):
            body.append(combine("x", "x0", weights(A[1][s], "kx")))
            body.append(combine("q", "q0", weights(A[0][s], "kq")))
        if used(0, s):
            body.append(Call("drift", c[s]))
        if s and used(1, s):
            body += [Call("accelerate", c[s]), combine(f"kx{s}", "dx")]
        if used(0, s):
            body.append(combine(f"kq{s}", "qdot"))
    body.append(combine("x", "x0", weights(b[1], "kx")))
    body.append(combine("q", "q0", weights(b[0], "kq")))
    if any(error):
        body += [combine("ex", {}, weights(error, "kx")), combine("eq", {}, weights(error, "kq"))]
    return Method(name, tuple(body))
