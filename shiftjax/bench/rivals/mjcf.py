"""The same mechanisms for MuJoCo: an MJCF text, loops closed by `connect` or `weld` constraints.

MuJoCo's own settings are left as they are, but for the integrator, the step and contacts, of which there are none, and
the softness of the loops where `SOFTNESS` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from shiftjax.bench.rivals.hinge_tree import HingeTree, hinge_points, split

# Attributes of the loops' constraints. A time constant of twice the step is the smallest that MuJoCo's `refsafe` lets
# through; 0.9999 is the largest impedance it takes.
SOFTNESS = {
    "default": "",
    "solref": 'solref="{time} 1"',
    "tuned": 'solref="{time} 1" solimp="0.9999 0.9999 0.001 0.5 2"',
}
THIN = 1e-9  # kg m^2, added to rods without inertia about their own axis, which MuJoCo refuses


class Closing(NamedTuple):
    """How loops are closed.

    Attributes:
        kind: "connect" holds points of both bodies together, "weld" a body and its twin. softness: of `SOFTNESS`.
    """

    kind: str = "connect"
    softness: str = "default"

    @property
    def text(self) -> str:
        """The settings in words."""
        if self.softness == "default":
            return f"{self.kind}, as soft as it is by default"
        return f"{self.kind}, solref twice the step" + ", solimp 0.9999" * (self.softness == "tuned")


CLOSINGS = {f"{kind} {soft}": Closing(kind, soft) for soft in ("default", "tuned") for kind in ("connect", "weld")}


def mjcf(tree: HingeTree, step: float, closing: Closing) -> str:
    """The mechanism as MJCF; link k is body bk with hinge jk, twins come after the tree's links."""
    attributes = SOFTNESS[closing.softness].format(time=2.0 * step)
    if closing.kind == "weld":
        tree, pairs = split(tree)
        loops = "".join(f'<weld body1="b{a}" body2="b{b}" {attributes}/>' for a, b in pairs)
    else:
        loops = _connects(tree, attributes)
    grounded = "".join(_body(tree, k) for k, link in enumerate(tree.links) if link.parent < 0)
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option timestep="{step!r}" gravity="{_words(tree.gravity)}" integrator="RK4" jacobian="dense">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{grounded}</worldbody><equality>{loops}</equality></mujoco>"
    )


def _connects(tree: HingeTree, attributes: str) -> str:
    loops = ""
    for cut in tree.cuts:
        first, second = sorted((cut.first, cut.second), reverse=True)  # the first one is never ground
        link = tree.links[first]
        name = f"b{second}" if second >= 0 else "world"
        for point in hinge_points(tree, cut):
            anchor = _words(link.R_WB.T @ (point - link.p_WB))
            loops += f'<connect body1="b{first}" body2="{name}" anchor="{anchor}" {attributes}/>'
    return loops


def _body(tree: HingeTree, k: int) -> str:
    """A link with its hinge, its inertia and the links it carries; hinges count from the start pose."""
    link = tree.links[k]
    parent = tree.links[link.parent] if link.parent >= 0 else None
    R_WP, p_WP = (parent.R_WB, parent.p_WB) if parent else (np.eye(3), np.zeros(3))
    quaternion = Rotation.from_matrix(R_WP.T @ link.R_WB).as_quat(scalar_first=True)
    i, share = link.body.inertia, link.share
    thin = THIN if np.linalg.eigvalsh(share * np.array(i.matrix))[0] < THIN else 0.0
    about_axes, products = np.array([i.Ixx, i.Iyy, i.Izz]), np.array([i.Ixy, i.Izx, i.Iyz])
    inertia = _words([*(share * about_axes + thin), *(share * products)])
    mass, centre = share * link.body.mass, _words(link.body.center_of_mass)
    anchor, axis = link.R_WB.T @ (link.anchor_W - link.p_WB), link.R_WB.T @ link.axis_W
    inside = "".join(_body(tree, n) for n, other in enumerate(tree.links) if other.parent == k)
    return (
        f'<body name="b{k}" pos="{_words(R_WP.T @ (link.p_WB - p_WP))}" quat="{_words(quaternion)}">'
        f'<joint name="j{k}" type="hinge" pos="{_words(anchor)}" axis="{_words(axis)}"/>'
        f'<inertial pos="{centre}" mass="{mass!r}" fullinertia="{inertia}"/>'
        f"{inside}</body>"
    )


def _words(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)
