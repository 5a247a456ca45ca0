"""Small turns: polynomials by 40 digits, pairs without another sine, what a path's gap then measures. E1."""

import mpmath
import numpy as np

import shiftjax
from shiftjax.algebra import cos, sin
from shiftjax.dynamics.reduction import gram_schmidt, of_two
from shiftjax.dynamics.small_angles import SMALL, SmallTurn, note_turned
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.graph import without_dead_code
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.run.programs.closed_poses import FARTHEST, STILL, THETA

ROUNDING = 2.0**-53
LENGTHS = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]")


def test_changes_of_believed_steps_are_small() -> None:
    assert THETA * FARTHEST + max(STILL.values()) < SMALL


def test_small_turns_are_right_to_a_rounding() -> None:
    """Angles, sines and cosines less 1, each in units of what it is added to: the sine of the angle, or 1."""
    mpmath.mp.dps = 40
    x = np.concatenate([np.linspace(-SMALL, SMALL, 41), [1e-9, 3e-17]])
    by, of = SmallTurn.by(x), SmallTurn.of_sine(x)
    for k, number in enumerate(map(mpmath.mpf, x)):
        pairs = ((by.sine[k], mpmath.sin(number)), (of.angle[k], mpmath.asin(number)))
        assert all(abs(value - exact) <= 2.0 * ROUNDING * abs(number) for value, exact in pairs)
        assert abs(by.less[k] - (mpmath.cos(number) - 1)) < 0.1 * ROUNDING
        assert abs(of.less[k] - (mpmath.sqrt(1 - number**2) - 1)) < 0.1 * ROUNDING


def test_a_turned_angle_takes_no_sine() -> None:
    """One of the angle before and none after, of its negative either; off by two roundings of 1."""

    def turned(values: list) -> list:
        q, change = values
        after = q + change
        note_turned(q, [SmallTurn.by(change), SmallTurn.by(change).back(), SmallTurn.by(change)], after)
        return [sin(after), cos(after), sin(-after)]

    graph = without_dead_code(graph_of(turned, 2))
    assert [node[0] for node in graph.nodes].count("sin") == 1
    rng = np.random.default_rng(0)
    q, change = rng.uniform(-7.0, 7.0, 1000), rng.uniform(-SMALL, SMALL, 1000)
    sine, cosine, opposite = InNumpy(graph)([q, change])
    exact = np.longdouble(q) + np.longdouble(change)
    for value, right in ((sine, np.sin(exact)), (cosine, np.cos(exact)), (opposite, -np.sin(exact))):
        assert np.abs(value - right).max() < 6.0 * ROUNDING  # three turns, and that of the sum


def test_two_columns_at_once_are_those_of_gram_and_schmidt() -> None:
    rng = np.random.default_rng(1)
    A, sides = rng.normal(size=(2, 2, 500)), rng.normal(size=(3, 2, 500))
    one, other = (solve([list(row) for row in A], [list(b) for b in sides]) for solve in (of_two, gram_schmidt))
    worst = np.sqrt(np.max(one[1], axis=0) * np.max(one[2], axis=0))
    for values, expected in zip(one, other, strict=True):
        off = np.abs(np.array(values) - np.array(expected)) / np.abs(expected)
        assert np.median(off) < 1e-15 and (off < 20.0 * ROUNDING * worst**2).mean() > 0.99
    lost = [[np.array([1.0]), np.array([2.0])], [np.array([2.0]), np.array([4.0])]]
    with np.errstate(all="ignore"):
        _, squares, inverses = of_two(lost, [])
    assert squares[1] == 0.0 and np.isinf(inverses[1])


def test_the_gap_is_that_of_recorded_coordinates() -> None:
    """Loops of random four-bars by the angles that are written down: open by no more than the certificate says, but for
    roundings of the sines here."""
    lengths = np.random.default_rng(2).uniform((0.1, 0.4, 0.4), (0.2, 0.6, 0.6), (40, 3)).T
    vary: dict[str, np.ndarray] = dict(zip(LENGTHS, lengths, strict=True))
    names = ("crank_pivot", "crank_pin", "rocker_pin", "rocker_pivot")
    for order in (0, 2):
        path = shiftjax.follow(
            "four_bar", {"crank_pivot": np.linspace(0.0, 2.0 * np.pi, 91)}, order=order, vary=vary,
            channels=[*(f"{name}.q" for name in names), "coupler:tip.position", "rocker:tip.position"],
        )  # fmt: skip
        apart = path.channels["coupler:tip.position"] - path.channels["rocker:tip.position"]
        crank, pin, last, rocker = (path.channels[f"{name}.q"] for name in names)
        around = (crank + pin + last - rocker)[path.status == 0]
        around -= 2.0 * np.pi * np.round(around / (2.0 * np.pi))
        assert (path.status == 0).sum() > 20 and np.ptp(around - around[:, :1]) < 1e-14
        gap = np.abs(apart[path.status == 0]).max((1, 2))
        assert (gap <= path.certificate["gap"][path.status == 0] + 4.0 * ROUNDING).all() and gap.max() > 0.0
