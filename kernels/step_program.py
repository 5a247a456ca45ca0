"""What one step of a method is: a list of instructions over regions of a lane, and the lists of Runge-Kutta tables.

A region holds one number for every coordinate, or one for every speed, state and quadrature:

    q, x            coordinates; speeds, states and quadratures: what calls read
    qdot, dx        their rates, which calls write
    q0, x0, dx0     the accepted state before the step, which every step begins with
    eq, ex          estimates of their errors; only steps whose size is controlled have them
    ft              the partial derivative of dx by the time, which `linearize` writes
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
KINDS |= {"ft": "x"}
RATES = {"drift": "qdot", "accelerate": "dx"}  # phases that a method calls, beside the projection, and what they write
LINEAR = {"linearize": ("ft",), "solve": ("qdot", "dx")}  # phases of linearly implicit methods, and what they write
ESTIMATES = ("eq", "ex")


@record
class Combine:
    """target = sum of the base + h sum of the rates, h the size of the step [s]; the target may be among them."""

    target: str
    base: Weights
    rates: Weights = ()


@record
class Call:
    """A phase at the time of `at` steps after the beginning: drift, accelerate, project, linearize or solve.

    See `LaneProgram`; the last two are `linearly_implicit`'s.
    """

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

    Attributes:
        gamma: of a linearly implicit method, whose calls of solve turn r in qdot and dx into (1 - gamma h J)^-1 r, J
            the Jacobian of the rates where linearize was called; 0 of any other.
        of_speeds: whether J is that of dx by x alone, half the work; qdot is then left as it is, and there is no ft.
        predicts: whether the projection makes the end of a step of a prediction alone, which x and dx may tell more of;
            the body then calls no phase that would read them.

    Raises:
        ModelError: an instruction reads what nothing has written, mixes coordinates and speeds, writes what a step
            keeps, calls no phase of a step, or solves what nothing has linearized.
    """

    name: str
    body: tuple[Instruction, ...]
    gamma: float = 0.0
    of_speeds: bool = False
    predicts: bool = False

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
    return one.phase in ("project", "solve") or (before.phase in ("project", "solve") and one.phase in RATES)


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
    _check_targets(method)
    linear, linearized = {"solve": ("dx",)} if method.of_speeds else LINEAR, False
    for one in method.instructions:
        if isinstance(one, Call):
            linearized |= one.phase == "linearize"
            if one.phase == "solve" and not linearized:
                raise _refused(method, "a call of 'solve' before one of 'linearize'", "first 'linearize', then 'solve'")
            written.update((RATES[one.phase],) if one.phase in RATES else linear.get(one.phase, ()))
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


def _check_targets(method: Method) -> None:
    """Refuses calls of no phase, and combinations into what phases or the step itself write."""
    phases, rates = (*RATES, "project"), (*RATES.values(),)
    if method.gamma:
        phases, rates = (*phases, *LINEAR), ()  # what is solved for is combined into the rates
    if method.predicts:
        phases, rates = ("drift",), ("qdot",)
    for one in method.body:
        if isinstance(one, Call) and one.phase not in phases:
            more = "" if method.gamma else f"; with a gamma {', '.join(LINEAR)}, too"
            raise _refused(method, f"a call of {one.phase!r}", ", ".join(phases) + more)
        if isinstance(one, Combine) and one.target in ("q0", "x0", "dx0", "ft", *rates):
            raise _refused(method, f"a combination into {one.target!r}", "q, x, eq, ex and registers")


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


def rosenbrock(
    name: str,
    gamma: float,
    A: Sequence[Sequence[float]],
    C: Sequence[Sequence[float]],
    m: Sequence[float],
    error: Sequence[float] = (),
) -> Method:
    """A Rosenbrock table (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.7, equation 7.25).

    Stage i solves (1 / (gamma h) - J) u_i = f(t + alpha_i h, y + sum_j A[i][j] u_j) + sum_j C[i][j] u_j / h + gamma_i h
    f_t, J and f_t the derivatives of f at the beginning of the step; y + sum_i m[i] u_i is its end. The registers are
    u_i / h. alpha and gamma_i follow from the table, by the autonomous form of t' = 1.

    Args:
        A, C: row i has i entries. m: weights of the end. error: weights of the estimate sum error[i] u_i of an embedded
            method, which controls the step size.
    """
    solved: list[float] = []  # u_i / h of t' = 1
    body: list[Instruction] = [Call("drift", 0.0), Call("linearize", 0.0)]
    for i in range(len(m)):
        rates = {"x": ("dx", "ux"), "q": ("qdot", "uq")}
        if i:
            at = round(sum(a * u for a, u in zip(A[i], solved, strict=False)), 13)  # no stage is past the end
            body += [combine(y, f"{y}0", {f"{u}{j}": a for j, a in enumerate(A[i])}) for y, (_, u) in rates.items()]
            body += [Call("drift", at), Call("accelerate", at)]
        solved.append(gamma * (1.0 + sum(c * u for c, u in zip(C[i], solved, strict=False))))
        for y, (rate, u) in rates.items():
            from_start = "dx0" if (i, y) == (0, "x") else rate
            base = {from_start: gamma} | {f"{u}{j}": gamma * c for j, c in enumerate(C[i])}
            body.append(combine(rate, base, {"ft": gamma * solved[i]} if y == "x" else {}))
        body.append(Call("solve", 0.0))
        body += [combine(f"{u}{i}", rate) for rate, u in rates.values()]
    body += [combine("x", "x0", {f"ux{i}": a for i, a in enumerate(m)})]
    body += [combine("q", "q0", {f"uq{i}": a for i, a in enumerate(m)})]
    if any(error):
        body += [combine(f"e{y}", {}, {f"u{y}{i}": a for i, a in enumerate(error)}) for y in ("x", "q")]
    return Method(name, tuple(body), gamma)
