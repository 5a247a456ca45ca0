"""The contract of joints (E12, F18): a short file from outside passes it by one call; what breaks a joint is named."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import shiftjax
from shiftjax.algebra import matvec, scale
from shiftjax.contracts.joint_contract import CHECKS
from shiftjax.docs.pages import text
from shiftjax.errors import ModelError
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Ball, Rotation, Translation
from shiftjax.record import record
from tests.extensions import screw

LINES = 30
FILE = Path(screw.__file__)
TEMPLATE = re.compile(r"^```python\n(\"\"\"A carriage on an arc.*?)^```$", re.M | re.S)


def test_a_joint_from_outside_passes_the_contract() -> None:
    """One call: its screws and rows, runs with it cut or not, a batch, reverse mode, its file, its pictures."""
    assert len([line for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip()]) <= LINES
    measured = shiftjax.check_joint("my_screw", axis=(0.0, 0.6, 0.8), pitch=0.05)
    assert measured.keys() == CHECKS.keys() and all(measured[name] <= one.most for name, one in CHECKS.items())


def test_the_template_of_the_page_is_short() -> None:
    """`tests/house/test_docs.py` runs it, with its check."""
    (code,) = TEMPLATE.findall(text("extending.md"))
    assert len([line for line in code.splitlines() if line.strip()]) <= LINES


@record
class Backwards(Rotation):
    """A rotation whose screw is that of the other sense."""

    def screws(self, R_before: Any, R_after: Any, n: Any) -> Any:
        ((line, way),) = Rotation.screws(self, R_before, R_after, n)
        return [(scale(-1.0, line), way)]


@record
class Slow(Ball):
    """A ball whose quaternion goes half as fast as it says."""

    def rate(self, q: Any, v: Any) -> Any:
        return scale(0.5, Ball.rate(self, q, v))


@record
class Numeric(Rotation):
    """A rotation by functions of the standard library."""

    def motion(self, q: Any, n: Any) -> Any:
        c, s = math.cos(q[0]), math.sin(q[0])
        return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]


@record
class Counting(Rotation):
    """A slide along the axis that is longer each time it is asked for: something is remembered."""

    def motion(self, q: Any, n: Any) -> Any:
        R, _ = Rotation.motion(self, q, n)
        CALLS.append(0.0)
        return R, matvec(R, [1e-3 * len(CALLS), 0.0, 0.0])


CALLS: list[float] = []
BROKEN = {
    "backwards": (JointKind((Backwards("z"),), "hinge"), r"screws: found screws less .*: 2; allowed: at most 1e-07"),
    "slow": (JointKind((Slow(),), "ball"), r"screws: found screws less .*: 0\.4"),
    "numeric": (JointKind((Numeric("z"),), "hinge"), r"rows: found TypeError: .*lane code"),
    "counting": (JointKind((Counting("z"),), "hinge"), r"screws: found screws less .* \[rad, m\]"),
    "twice": (
        JointKind((Translation("x"), Translation("x")), "slider", ("one", "two")),
        r"rows: found rows, 6 less .*inf",
    ),
    "undrawn": (JointKind((Rotation("z"),), "nothing"), r"drawn: found numbers of its shapes .*inf.*`drawing`"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_joint_is_named(name: str) -> None:
    kind, message = BROKEN[name]
    KINDS[name] = kind
    try:
        with pytest.raises(ModelError, match=f"joint kind {name}, {message}"):
            shiftjax.check_joint(name)
    finally:
        del KINDS[name]


def test_a_joint_that_is_not_there_or_lacks_a_number() -> None:
    with pytest.raises(ModelError, match=r"joint kind: found 'my_scrw'.*my_screw"):
        shiftjax.check_joint("my_scrw")
    with pytest.raises(ModelError, match="joint kind my_screw: found no pitch"):
        shiftjax.check_joint("my_screw", axis=(0.0, 0.0, 1.0))
    with pytest.raises(ModelError, match=r"argument 'pich'.*pitch"):
        shiftjax.check_joint("my_screw", axis=(0.0, 0.0, 1.0), pitch=0.1, pich=0.1)
