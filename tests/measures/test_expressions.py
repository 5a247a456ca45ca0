"""The one language of expressions: what texts mean, in lane code and on arrays, and how trees are written again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.expressions.dialects import FUNCTIONS, LANES, NUMBERS, Dialect
from shiftjax.expressions.evaluation import constant, evaluate, evaluate_number
from shiftjax.expressions.expression import Name, is_path, names, written
from shiftjax.expressions.grammar import parse
from shiftjax.measures.expression_units import MIXED, unit_of

ROUNDED = 1e-14  # of functions that are put together of others in lane code
A, B = np.array([0.3, -0.7]), np.array([0.9, 0.4])
SAME = [  # texts of numbers, and what Python makes of them
    ("{a} + 2 * {b} ** 2", A + 2 * B**2),
    ("-{a} ** 2 - -{b}", -(A**2) + B),
    ("{b} ** -{a}", B**-A),
    ("2 ** 3 ** 0.5 * {a}", 2**3**0.5 * A),
    ("{a} / {b} / 2 - {b} - 1", A / B / 2 - B - 1),
    ("10deg * {a} + 2 mm + 1_000", np.deg2rad(10) * A + 2e-3 + 1000),
    ("atan2({a}, {b}) + max({a}, min({b}, .5))  # the rest", np.arctan2(A, B) + np.maximum(A, np.minimum(B, 0.5))),
    ("\n abs({a})\n + pi", np.abs(A) + math.pi),
    ("tanh({a}) * (sin({b}) + (cos({a})))", np.tanh(A) * (np.sin(B) + np.cos(A))),
]


@pytest.mark.parametrize(("text", "expected"), SAME)
def test_a_text_means_the_same_in_lane_code_and_on_arrays(text: str, expected: np.ndarray) -> None:
    on_arrays = evaluate_number(parse(text, "here", NUMBERS), {"a": A, "b": B}, "here")
    (in_lanes,) = evaluate(parse(text, "here", LANES), {"a": [A], "b": [B]}, "here")
    np.testing.assert_allclose(on_arrays, expected, rtol=ROUNDED)
    np.testing.assert_allclose(in_lanes, expected, rtol=ROUNDED)


def test_every_function_is_the_same_in_lane_code_and_on_arrays() -> None:
    for name, function in FUNCTIONS.items():
        if function.on_arrays is not None:
            arguments = (np.abs(A), B)[: function.count]
            np.testing.assert_allclose(function.on_lanes(*arguments), function.on_arrays(*arguments), rtol=ROUNDED)
        assert name in LANES.functions and (name in NUMBERS.functions) != function.of_vectors


@pytest.mark.parametrize("text", [text for text, _ in SAME] + [
    "norm(tip.position - `odd one`:hub.position[2]) / {rod:tip.T[0]}", "[a.q, -2.0][1]", "(a.q - b.q) ** (2.0 * t)",
    "rms(a.q, level=0.1, way='up') - (1.0 - t)", "(-a.q) ** 2.0", "(a.q ** 2.0) ** 3.0", "-(a.q + 1.0)",
])  # fmt: skip
def test_what_is_written_again_is_the_same_tree(text: str) -> None:
    tree = parse(text, "here", LANES)
    assert parse(written(tree), "here", LANES) == tree


def test_paths_are_told_from_names() -> None:
    tree = parse("substructure[0].b_norm * a:b.T[2] + t - {swing} / `x y`.q[1] - 2.5e3", "here", LANES)
    every = list(names(tree))
    assert every == [Name("substructure[0].b_norm"), Name("a:b.T"), Name("t"), Name("swing", True), Name("`x y`.q")]
    assert [is_path(name) for name in every] == [True, True, False, True, True]


def test_vectors_go_number_by_number() -> None:
    values: dict[str, Any] = {"a.p": [A, B], "b.p": [B, A]}
    for text, expected in [
        ("a.p - b.p", [A - B, B - A]),
        ("2 * a.p / 4", [A / 2, B / 2]),
        ("[a.p[1], (a.p, 3)]", [B, A, B, 3.0]),
        ("norm(a.p)", [np.sqrt(A * A + B * B)]),
        ("dot(a.p, b.p)", [2 * A * B]),
    ]:
        found = evaluate(parse(text, "here", LANES), values, "here")
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=ROUNDED)


@pytest.mark.parametrize(
    ("text", "dialect", "message"),
    [
        ("(" * 200 + "1" + ")" * 200, LANES, "channels by path"),
        ("a.q +", LANES, "here: found 'a.q \\+'; allowed: channels by path, numbers"),
        ("a.q^2", LANES, r"A power is written x\*\*2"),
        ("2 a.q", LANES, "allowed: channels by path"),
        ("10degg", LANES, "allowed: channels by path"),
        ("a.q < 2", LANES, "found 'a.q < 2.0'"),
        ("1 / 0 + a.q", LANES, "allowed: channels by path"),
        ("a.q[0.5]", LANES, r"found \[0.5\]; allowed: a whole number from 0 to 0"),
        ("sinn(a.q)", LANES, "Did you mean 'sin'"),
        ("rod.mass * 2", NUMBERS, r"Is it a path\? Write {rod.mass}"),
        ("norm({a})", NUMBERS, r"found norm\(...\); allowed: numbers, paths in braces"),
        ("sin(1, 2)", NUMBERS, "sin of 2; allowed: sin of 1"),
        ("1 + " * 6000 + "1", NUMBERS, "up to 20000 characters"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(text: str, dialect: Dialect, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tree = parse(text, "here", dialect)
        if dialect is LANES:
            evaluate(tree, {"a.q": [A]}, "here")
        else:
            evaluate_number(tree, {"a": A}, "here")


def test_constants_are_those_without_names_and_functions() -> None:
    found = [constant(parse(text, "here", LANES)) for text in ("-2 * (pi - 1)", "90deg", "t", "sin(1)", "1/0")]
    assert found == [-2 * (math.pi - 1), math.pi / 2, None, None, None]


def test_units_are_followed() -> None:
    units = {"a.q": "rad", "b.q": "m", "t": "s"}
    for text, unit in [
        ("a.q - 10deg", "rad"),
        ("2 * norm([b.q, -b.q]) / 3", "m"),
        ("a.q + b.q", MIXED),
        ("a.q / a.q", "1"),
        ("a.q * sin(b.q)", "rad"),
        ("a.q ** 2", MIXED),
        ("atan2(b.q, b.q)", "rad"),
        ("min(a.q, 2)", "rad"),
        ("2 * pi", None),
    ]:
        assert unit_of(parse(text, "here", LANES), units) == unit, text
