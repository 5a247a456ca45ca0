"""A method is a list of instructions: what tables become, what is refused, what is stored, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.kernels.llvm.sums import Sum, by_speeds, live, sum_of
from shiftjax.kernels.mirror import mirrored, recorded
from shiftjax.kernels.step_program import KEEP, Call, Combine, Instruction, Method, combine, registers
from shiftjax.run.programs.integrators import METHODS
from tests.extensions import low_storage  # noqa: F401
from tests.support.models.sample_programs import BOGACKI

RK4 = METHODS["rk4"]


def lines(method: Method) -> list[str]:
    return [one.target if isinstance(one, Combine) else f"{one.phase} {one.at:g}" for one in method.body]


def test_a_table_is_a_list_of_stages() -> None:
    assert lines(RK4)[:5] == ["drift 0", "kq0", "x", "q", "drift 0.5"]
    assert RK4.body[-2] == combine("x", "x0", {"dx0": 1 / 6, "kx1": 1 / 3, "kx2": 1 / 3, "kx3": 1 / 6})
    assert (RK4.calls("drift"), RK4.calls("accelerate"), RK4.calls("project")) == (4, 3, 1)
    assert METHODS["rosenbrock"].calls("solve") == 8 and METHODS["rosenbrock"].calls("linearize") == 1
    assert lines(METHODS["euler"]) == ["x", "drift 0", "q"], "no stage whose rates nobody takes"
    assert not RK4.controls and BOGACKI.controls and lines(BOGACKI)[-2:] == ["ex", "eq"]


def test_a_step_keeps_the_state_and_ends_projected() -> None:
    assert RK4.instructions[1:4] == KEEP and RK4.instructions[0] == Call("drift", 0.0)
    assert [part.phases for part in RK4.parts(controlled=False)] == [
        ("drift",), *[("drift", "accelerate")] * 3, ("project", "events")
    ]  # fmt: skip
    assert BOGACKI.parts(controlled=True)[-1].phases == ("project", "error", "events")
    assert "ex" not in {one.target for part in BOGACKI.parts(controlled=False) for one in part.combines}
    assert registers(METHODS["williamson"]) == {"q0": "q", "x0": "x", "dx0": "x", "kx": "x", "kq": "q"}


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (
            (combine("x", "x0", {"k": 1.0}),),
            "method 'new': found x from 'k', which nothing has written before; allowed",
        ),
        ((combine("q", "q0", {"qdot": 1.0}),), "found q from 'qdot', which nothing has written"),
        ((combine("q", "q0", {"dx": 1.0}),), "found q from q0, dx; allowed: regions of equal width"),
        ((combine("k", "x"), combine("k", "q")), "found k from q; allowed: regions of equal width"),
        ((combine("dx", "dx0"),), "found a combination into 'dx'; allowed: q, x, eq, ex and registers"),
        ((combine("x0", "x"),), "found a combination into 'x0'"),
        ((Call("observe", 0.5),), "found a call of 'observe'; allowed: drift, accelerate, project"),
    ],
)
def test_lists_that_make_no_step_are_refused(body: tuple[Instruction, ...], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Method("new", body)


def test_coordinates_of_speeds_take_no_rates() -> None:
    """Nystrom's form of RK4: q + h v + h^2 / 6 (a_0 + a_1 + a_2); methods that write registers again have none."""
    sums = by_speeds(RK4)
    assert sums is not None
    (end,) = sums[-1]
    terms = {(n, name): a for n, a, name in end.terms}
    assert terms == pytest.approx(
        {(0, "q0"): 1.0, (1, "x0"): 1.0, (2, "dx0"): 1 / 6, (2, "kx1"): 1 / 6, (2, "kx2"): 1 / 6}
    )
    assert by_speeds(METHODS["williamson"]) is None and by_speeds(METHODS["midpoint"]) is None


def test_a_register_that_nobody_reads_again_is_not_stored() -> None:
    parts = [[sum_of(one) for one in part.combines] for part in RK4.parts(controlled=False)]
    stored = live(parts, ("q", "x"))
    assert stored[1] == {"q0", "x0", "dx0", "kq0", "x", "q"}
    assert stored[-1] == {"x", "q"}, "the last rates are taken at once"
    assert live([[Sum("a", ((0, 1.0, "q"),))], [Sum("q", ((0, 1.0, "a"),))]], ("q",)) == [{"a"}, {"q"}]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_way_back_is_the_transpose(method: Method) -> None:
    """Of the combinations alone, with rates that are linear: <bar, A y> = <A^T bar, y> for one number of each kind."""
    parts, h, rates = method.parts(controlled=False), 0.37, {"drift": (0.7, -0.3), "accelerate": (-1.3, 0.4)}
    rates |= {"linearize": (0.2, -0.6)}
    target = {"drift": "qdot", "accelerate": "dx", "linearize": "ft"}
    solved = np.eye(2) if method.of_speeds else np.array([[0.9, 0.3], [-0.4, 0.8]])  # of qdot and dx
    solved[1, 1] = 0.8

    def combined(values: dict[str, float], combines: tuple[Combine, ...]) -> None:
        for one in combines:
            base, rate = (sum(a * values[name] for name, a in part) for part in (one.base, one.rates))
            values[one.target] = base + h * rate

    def ahead(start: np.ndarray) -> np.ndarray:
        values: dict[str, float] = dict(zip(("q", "x", "dx"), start, strict=True))
        for part in parts:
            combined(values, part.combines)
            for phase in part.phases:
                if phase in rates:
                    a, b = rates[phase]
                    values[target[phase]] = a * values["q"] + b * values["x"]
                elif phase == "solve":
                    values["qdot"], values["dx"] = solved @ (values.get("qdot", 0.0), values["dx"])
                elif phase == "project":  # here it takes a fifth of x from q
                    values["q"] -= 0.2 * values["x"]
                    values["dx"] = 0.9 * values["q"]
        return np.array([values["q"], values["x"]])

    forward = np.array([ahead(one) for one in np.eye(3)]).T
    for k in range(2):
        values = {"bar_q": float(k == 0), "bar_x": float(k == 1), "bar_dx": 0.0, "bar_qdot": 0.0, "bar_ft": 0.0}
        for part in mirrored(parts):
            for phase in part.phases:
                if phase == "project":
                    values["bar_q"] += 0.9 * values["bar_dx"]
                    values["bar_x"] -= 0.2 * values["bar_q"]
                    values["bar_dx"] = 0.0
                    continue
                if phase == "solve":
                    values["bar_qdot"], values["bar_dx"] = solved.T @ (values["bar_qdot"], values["bar_dx"])
                    continue
                (a, b), given = rates[phase], values[f"bar_{target[phase]}"]
                values["bar_q"] += a * given
                values["bar_x"] += b * given
                values[f"bar_{target[phase]}"] = 0.0
            combined(values, part.combines)
        back = [values["bar_q"], values["bar_x"], values["bar_dx"]]
        np.testing.assert_allclose(back, forward[k], rtol=0, atol=1e-14)  # rounding of some ten products


def test_the_stack_has_what_calls_take() -> None:
    assert recorded(RK4.parts(controlled=False)) == ([(0, None), (1, None), (2, None), (3, None), (4, None)], 5)
    middle, places = recorded(METHODS["midpoint"].parts(controlled=False))
    assert (middle, places) == ([(0, None), (1, 2), (2, None), (3, None)], 4), "before and after the projection"
