"""Functions of one member for many: those that differ in arrays from around them alone share one program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.ensembles.optimization import space
from shiftjax.ensembles.optimization.space import MemberwiseFunction

U = np.linspace(-2.0, 2.0, 12).reshape(6, 2)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Callable[..., Any]]:
    """What has been given to XLA, with nothing remembered before."""
    space._known_options(jax.default_backend())
    programs, jit = list[Callable[..., Any]](), jax.jit
    monkeypatch.setattr(space, "_programs", {})
    monkeypatch.setattr(jax, "jit", lambda run, **how: (programs.append(run), jit(run, **how))[1])
    return programs


@dataclass
class Law:
    """A table, whose last entry is a factor."""

    table: np.ndarray

    def of(self, u: np.ndarray) -> np.ndarray:
        return self.table[-1] * np.asarray(u)


def boxed(low: np.ndarray, factor: float = 2.0) -> MemberwiseFunction:
    """Of a member (2,): what is inside of a box, and a number."""
    return MemberwiseFunction(lambda u: {"inside": jnp.maximum(factor * u, low), "sum": jnp.sum(u)})


def test_names_that_a_version_of_xla_does_not_know_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"xla_backend_optimization_level": 0}
    monkeypatch.setattr(space, "OPTIONS", {"cpu": {**known, "xla_cpu_of_another_version": True}})
    assert space._known_options.__wrapped__("cpu") == known
    assert not space._known_options.__wrapped__("tpu")


def test_other_arrays_share_a_program(compiled: list[Callable[..., Any]]) -> None:
    for low in (np.array([-1.0, 0.0]), np.array([0.5, 1.0])):
        found = boxed(low)(U)
        assert np.array_equal(found["inside"], np.maximum(2.0 * U, low)) and np.array_equal(found["sum"], U.sum(1))
    assert len(compiled) == 1


def test_other_numbers_shapes_and_operations_do_not(compiled: list[Callable[..., Any]]) -> None:
    low = np.array([-1.0, 0.0])
    boxed(low)(U)
    assert np.array_equal(boxed(low, 2.0 + 1e-15)(U)["inside"], np.maximum((2.0 + 1e-15) * U, low))
    boxed(np.zeros(3))(np.zeros((6, 3)))
    MemberwiseFunction(lambda u: jnp.minimum(2.0 * u, low))(U)
    assert len(compiled) == 4


def test_what_calls_the_host_has_its_own(compiled: list[Callable[..., Any]]) -> None:
    for factor in (2.0, 3.0):

        def host(u: np.ndarray, factor: float = factor) -> np.ndarray:
            return factor * u

        called = MemberwiseFunction(lambda u, host=host: jax.pure_callback(host, jax.ShapeDtypeStruct((2,), float), u))
        assert np.array_equal(called(U), factor * U)
    assert len(compiled) == 2 and not space._programs


def test_methods_that_call_the_host_have_their_own(compiled: list[Callable[..., Any]]) -> None:
    """Their text is that of their object, of whose array it shows a part."""
    for factor in (2.0, 3.0):
        law = Law(np.r_[np.ones(2000), factor])
        called = MemberwiseFunction(lambda u, law=law: jax.pure_callback(law.of, jax.ShapeDtypeStruct((2,), float), u))
        assert np.array_equal(called(U), factor * U)
    assert len(compiled) == 2 and not space._programs


def test_few_are_remembered(compiled: list[Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "PROGRAMS", 2)
    for factor in (2.0, 3.0, 2.0, 4.0, 2.0, 3.0):
        boxed(np.zeros(2), factor)(U)
    assert len(space._programs) == 2 and len(compiled) == 4


def test_what_has_arrays_inside_has_its_own(compiled: list[Callable[..., Any]]) -> None:
    """JAX lifts them out of what it traces; where it does not, the text gives their shapes alone."""
    whole = jax.make_jaxpr(jax.jit(lambda u: 2.0 * u))(U[0]).jaxpr
    for factor in (np.array([2.0, 3.0]), np.array([4.0, 5.0])):
        inside = jax.make_jaxpr(lambda u, factor=factor: factor * u)(U[0])
        params = {**whole.eqns[0].params, "jaxpr": inside}
        space._program(whole.replace(eqns=[whole.eqns[0].replace(params=params)]))
    assert len(compiled) == 3 and not space._programs  # jit of the test among them
