"""A mechanism of revolute joints as a tree with cut loops, in world axes at its start pose, for the other codes.

Plain NumPy and SciPy, independent of the library's own topology and kinematics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Body, Frame, Model

AXES = {"Rx": (1.0, 0.0, 0.0), "Ry": (0.0, 1.0, 0.0), "Rz": (0.0, 0.0, 1.0)}
PARALLEL = 1e-12


class Link(NamedTuple):
    """A body of the tree and the hinge that carries it."""

    path: str
    body: Body
    parent: int  # index of a link, -1 for ground
    R_WB: np.ndarray  # (3, 3) at the start
    p_WB: np.ndarray  # (3,) at the start [m]
    joint: str
    anchor_W: np.ndarray  # (3,) a point of the hinge at the start [m]
    axis_W: np.ndarray  # (3,) in the sense in which the link turns against its parent
    speed: float  # as the file says [rad/s]
    share: float = 1.0  # of the body's mass and inertia that it has; the rest is its twins'


class Cut(NamedTuple):
    """A hinge that closes a loop."""

    joint: str
    first: int  # index of a link, -1 for ground
    second: int
    anchor_W: np.ndarray
    axis_W: np.ndarray
    open_by: float  # how far the other body has its end of the hinge from there, as the file's angles say [m]


class HingeTree(NamedTuple):
    links: tuple[Link, ...]
    cuts: tuple[Cut, ...]
    gravity: np.ndarray  # (3,) acceleration [m/s^2]
    planar: bool  # all hinges are parallel


def _pose(frames: tuple[Frame, ...], name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "origin":
        return np.eye(3), np.zeros(3)
    frame = next(f for f in frames if f.name == name)
    return np.array(frame.R) @ Rotation.from_rotvec(frame.rotation).as_matrix(), np.array(frame.T)


def check_hinges(model: Model, where: str) -> None:
    """Raises for a model that the other codes would not move as it moves here.

    Raises:
        ModelError: a joint that is no hinge, a spring, a force, a constraint or a drive.
    """
    allowed, todo = "hinges with gravity alone", "Take four_bar, n_four_bar_5, bricard or bennett."
    for path, joint in model.joints():
        numbers = all(isinstance(one, float) for one in (joint.initial_displacement, joint.initial_velocity))
        if not numbers or not (joint.type in AXES or joint.type == "revolute"):
            raise ModelError(where, f"joint {path} of type {joint.type!r}", allowed, todo)
        if joint.stiffness or joint.damping or joint.values:
            raise ModelError(where, f"forces in joint {path}", allowed, todo)
    for path, _ in (*model.restraints(), *model.force_modules(), *model.constraints(), *model.drivers()):
        raise ModelError(where, path, allowed, todo)


def tree_of(model: Model) -> HingeTree:
    """Breadth first from ground; every joint must be a hinge with a start that closes the loops."""
    bodies = dict(model.bodies())
    frames = {"fixed": model.frames} | {path: body.frames for path, body in bodies.items()}
    placed: dict[str, tuple[np.ndarray, np.ndarray]] = {"fixed": (np.eye(3), np.zeros(3))}
    number = {"fixed": -1}
    links: list[Link] = []
    waiting = list(model.joints())
    cuts: list[Cut] = []
    while waiting:
        path, joint = next(j for j in waiting if j[1].parent.body in placed or j[1].child.body in placed)
        waiting.remove((path, joint))
        axis = np.array(AXES[joint.type] if joint.type in AXES else joint.axis)
        ends = [(ref.body, *_pose(frames[ref.body], ref.frame)) for ref in (joint.parent, joint.child)]
        if not isinstance(joint.initial_displacement, float) or not isinstance(joint.initial_velocity, float):
            raise ValueError(f"{path} is no hinge")
        turn = Rotation.from_rotvec(axis * joint.initial_displacement / np.linalg.norm(axis)).as_matrix()
        known = 0 if ends[0][0] in placed else 1
        name, R_BF, p_BF = ends[known]
        R_WB, p_WB = placed[name]
        R_WF, anchor = R_WB @ R_BF, p_WB + R_WB @ p_BF
        axis_W = R_WF @ axis / np.linalg.norm(axis)
        other, R_CG, p_CG = ends[1 - known]
        if other in placed:
            R_WO, p_WO = placed[other]
            open_by = float(np.linalg.norm(p_WO + R_WO @ p_CG - anchor))
            cuts.append(Cut(path, number[name], number[other], anchor, axis_W, open_by))
            continue
        R_WC = R_WF @ (turn if known == 0 else turn.T) @ R_CG.T
        placed[other] = (R_WC, anchor - R_WC @ p_CG)
        sense = 1.0 if known == 0 else -1.0
        number[other] = len(links)
        speed = float(joint.initial_velocity)
        links.append(
            Link(other, bodies[other], number[name], *placed[other], path, anchor, sense * axis_W, sense * speed)
        )
    axes = np.array([link.axis_W for link in links] + [cut.axis_W for cut in cuts])
    planar = bool(np.all(np.linalg.norm(np.cross(axes, axes[0]), axis=1) < PARALLEL))
    return HingeTree(tuple(links), tuple(cuts), np.array(model.gravity), planar)


def split(tree: HingeTree) -> tuple[HingeTree, list[tuple[int, int]]]:
    """The tree with no cut hinge left: each hangs a twin of the body beyond it from the body before it, with a part of
    its mass; and the pairs of a body and its twin, which are to be one."""
    cuts = [sorted((cut.first, cut.second)) for cut in tree.cuts]  # the second one is never ground
    parts = {k: 1 + sum(whole == k for _, whole in cuts) for k in range(len(tree.links))}
    links = [link._replace(share=1.0 / parts[k]) for k, link in enumerate(tree.links)]
    pairs = []
    for cut, (before, whole) in zip(tree.cuts, cuts, strict=True):
        link = links[whole]
        pairs.append((whole, len(links)))
        links.append(link._replace(parent=before, joint=cut.joint, anchor_W=cut.anchor_W, axis_W=cut.axis_W, speed=0.0))
    return tree._replace(links=tuple(links), cuts=()), pairs


def twin_speeds(tree: HingeTree, speeds: np.ndarray) -> list[float]:
    """Speeds of the hinges of the twins of `split`, with which each moves as its body does [rad/s].

    Args:
        speeds: of the tree's hinges.
    """

    def spin(k: int) -> np.ndarray:
        return sum((tree.links[one].axis_W * speeds[one] for one in carriers(tree, k)), np.zeros(3))

    ends = [(cut, *sorted((cut.first, cut.second))) for cut in tree.cuts]
    return [float(cut.axis_W @ (spin(whole) - spin(before))) for cut, before, whole in ends]


def hinge_points(tree: HingeTree, hinge: Link | Cut) -> list[np.ndarray]:
    """Points in the world that a hinge holds together: one in a plane, two along the axis in space."""
    return [hinge.anchor_W] if tree.planar else [hinge.anchor_W, hinge.anchor_W + hinge.axis_W]


def centre(link: Link) -> np.ndarray:
    """(3,) the centre of mass of a link at the start [m]."""
    return link.p_WB + link.R_WB @ np.array(link.body.center_of_mass)


def inertia_W(link: Link) -> np.ndarray:
    """(3, 3) about the centre of mass, in axes of the world at the start, of the share that the link has [kg m^2]."""
    return link.share * link.R_WB @ np.array(link.body.inertia.matrix) @ link.R_WB.T


def carriers(tree: HingeTree, k: int) -> list[int]:
    """The links whose hinges move link k, itself the last one."""
    return [] if k < 0 else [*carriers(tree, tree.links[k].parent), k]


def depth_first(tree: HingeTree) -> list[int]:
    """The links in an order in which all that one carries follows it at once."""

    def carried(parent: int) -> list[int]:
        return [one for k, link in enumerate(tree.links) if link.parent == parent for one in (k, *carried(k))]

    return carried(-1)


def start_speeds(tree: HingeTree) -> np.ndarray:
    """(hinges,) speeds at the start that the loops allow [rad/s]."""
    rows = [np.zeros((0, len(tree.links)))]
    for cut in tree.cuts:
        for x in hinge_points(tree, cut):
            J = np.zeros((3, len(tree.links)))
            for side, sign in ((cut.first, 1.0), (cut.second, -1.0)):
                for k in carriers(tree, side):
                    J[:, k] += sign * np.cross(tree.links[k].axis_W, x - tree.links[k].anchor_W)
            rows.append(J)
    return consistent_speeds(np.array([link.speed for link in tree.links]), np.concatenate(rows))


def with_mass(tree: HingeTree, varied: int, mass: float) -> HingeTree:
    """The tree with another mass of one link."""
    links = list(tree.links)
    links[varied] = links[varied]._replace(body=replace(links[varied].body, mass=mass))
    return tree._replace(links=tuple(links))


def consistent_speeds(speeds: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Speeds with J v = 0: the given non-zero ones are held, the others are the smallest ones."""
    given = speeds != 0.0
    free = ~given
    v = speeds.copy()
    v[free] = np.linalg.lstsq(J[:, free], -J[:, given] @ speeds[given], rcond=1e-9)[0]
    if np.max(np.abs(J @ v), initial=0.0) > 1e-9:
        raise ValueError("the given speeds open the loops")
    return v
