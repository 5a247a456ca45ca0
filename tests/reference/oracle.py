"""A slow, trusted multibody oracle in plain NumPy: shares no code with the library.

Reads our own v2.0 files (flat assemblies, strict JSON) and keeps every joint's coordinates: a mechanism is a spanning
tree plus six closure rows for every further joint. Everything is written with dense body Jacobians in world axes:

    J a = gamma                     all rows, redundant ones too
    a = c + N (N^T M N)^-1 N^T (f - M c)     c any solution of the rows, N an orthonormal null space of J (SVD)

Spatial vectors are (angular, linear of the body point now at the world's origin). Angles rad, lengths m, SI.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tests.reference.rotations import (
    Pose,
    cross,
    motion,
    quaternion_of,
    quaternion_rate,
    rotation,
    rotation_of,
    rotation_vector,
)

RANK = 1e-8  # of the largest singular value of the dimensionless Jacobian
AXIS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def pose_of(entry: Any) -> Pose:
    """Pose of a frame or a placement as the file writes it."""
    entry = entry if isinstance(entry, dict) else {}
    return Pose(np.array(entry.get("R", np.eye(3)), float), np.array(entry.get("T", [0, 0, 0]), float))


class Joint:
    """One joint: its numbers in q and v, its motion and its screws."""

    def __init__(self, entry: dict, oracle: Oracle, first_q: int, first_v: int) -> None:
        self.name, self.kind, self.entry = entry["name"], entry["type"], entry
        self.parent, self.child = oracle.end(entry["parent"]), oracle.end(entry["child"])
        self.axis = np.zeros(3)
        if self.kind in ("revolute", "prismatic"):
            written = entry["axis"]
            a = np.array(AXIS[written] if isinstance(written, str) else written, float)
            self.kind, self.axis = "R" if self.kind == "revolute" else "T", a / np.linalg.norm(a)
        elif len(self.kind) == 2:
            self.kind, self.axis = self.kind[0], np.array(AXIS[self.kind[1]])
        nq, nv = {"R": (1, 1), "T": (1, 1), "spherical": (4, 3), "float": (7, 6), "rigid": (0, 0)}[self.kind]
        self.q, self.v = slice(first_q, first_q + nq), slice(first_v, first_v + nv)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of the file."""
        given, nv = self.entry.get("initial_displacement", 0), self.v.stop - self.v.start
        placed = pose_of(given)
        q = {"R": [given], "T": [given], "rigid": []}.get(self.kind)
        if q is None:
            q = [*(placed.p if self.kind == "float" else []), *quaternion_of(placed.R)]
        v = self.entry.get("initial_velocity", 0)
        return np.array(q, float), np.zeros(nv) if np.ndim(v) == 0 and nv != 1 else np.ravel(np.array(v, float))[:nv]

    def pose(self, q: np.ndarray) -> Pose:
        """Child joint frame in the parent joint frame."""
        own, zero = q[self.q], np.zeros(3)
        if self.kind == "R":
            return Pose(rotation(self.axis * own[0]), zero)
        if self.kind == "T":
            return Pose(np.eye(3), self.axis * own[0])
        if self.kind == "rigid":
            return pose_of(self.entry.get("initial_displacement"))
        return Pose(rotation_of(own[-4:]), own[:3] if self.kind == "float" else zero)

    def screws(self, F: Pose, G: Pose) -> tuple[np.ndarray, list[bool]]:
        """(6, nv) screws in the world, F and G the parent and child joint frames there; True where G carries it."""
        if self.kind == "R":
            a = F.R @ self.axis
            return np.r_[a, np.cross(F.p, a)][:, None], [False]
        if self.kind == "T":
            return np.r_[np.zeros(3), F.R @ self.axis][:, None], [False]
        ball = np.vstack([G.R, cross(G.p) @ G.R])
        if self.kind == "spherical":
            return ball, [True] * 3
        if self.kind == "float":
            return np.hstack([np.vstack([np.zeros((3, 3)), F.R]), ball]), [False] * 3 + [True] * 3
        return np.zeros((6, 0)), []


@dataclass
class Motion:
    """Everything of one state: poses, body Jacobians (6, nv), velocities, accelerations at zero joint acceleration."""

    X: dict[str, Pose]
    J: dict[str, np.ndarray]
    V: dict[str, np.ndarray]
    A: dict[str, np.ndarray]
    rows: np.ndarray  # (6 loops, nv) closure Jacobian about each cut point, angular rows first
    gamma: np.ndarray  # (6 loops,) right side of rows @ a = gamma
    gap: np.ndarray  # (6 loops,) rotation [rad] and displacement [m] of each cut


class Oracle:
    """A model file seen by the oracle; bodies and joints go by their plain names."""

    def __init__(self, source: str | Path | dict) -> None:
        document = source if isinstance(source, dict) else json.loads(Path(source).read_text())
        entries = [a for a in document["assemblies"] if a.get("active", True)]
        self.gravity = np.array(document["model_parameters"]["gravity"], float)
        self.bodies: dict[str, dict] = {b["name"]: b for a in entries for b in a["bodies"]}
        self.frames = {("fixed", f["name"]): pose_of(f) for f in document.get("frames") or []}
        for name, body in self.bodies.items():
            self.frames |= {(name, f["name"]): pose_of(f) for f in body.get("frames") or []}
        self.restraints: list[dict] = [r for a in entries for r in a.get("restraints", [])]
        self.joints: list[Joint] = []
        self.nq = self.nv = 0
        for entry in (j for a in entries for j in a["joints"]):
            joint = Joint(entry, self, self.nq, self.nv)
            self.joints.append(joint)
            self.nq, self.nv = joint.q.stop, joint.v.stop
        self.tree, self.chords = self._span()
        self.length = self._size()

    def end(self, written: list) -> tuple[str, str]:
        """(body, frame) of one end of a joint or restraint as written."""
        body = written[0] if isinstance(written[0], str) else written[0][-1]
        return body, written[1]

    def frame(self, end: tuple[str, str]) -> Pose:
        """The frame in its body."""
        return Pose(np.eye(3), np.zeros(3)) if end[1] == "origin" else self.frames[end]

    def _span(self) -> tuple[list[tuple[Joint, bool]], list[Joint]]:
        """A spanning tree from ground, joints in the order they are walked (True: parent to child), and the rest."""
        seen, tree, left = {"fixed"}, [], list(self.joints)
        while True:
            found = next((j for j in left if (j.parent[0] in seen) != (j.child[0] in seen)), None)
            if found is None:
                break
            tree.append((found, found.parent[0] in seen))
            seen |= {found.parent[0], found.child[0]}
            left.remove(found)
        if lost := set(self.bodies) - seen:
            raise ValueError(f"bodies without a way to ground: {sorted(lost)}")
        return tree, left

    def _size(self) -> float:
        """The largest distance between two joint frames of one body, else 1: the length that makes rows comparable."""
        points: dict[str, list[np.ndarray]] = {}
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                points.setdefault(end[0], []).append(self.frame(end).p)
        spans = [np.linalg.norm(a - b) for n, ps in points.items() if n != "fixed" for a in ps for b in ps]
        return float(max(spans, default=0.0)) or 1.0

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,) and v (nv,) as the file gives them."""
        pairs = [j.start() for j in self.joints]
        return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])

    def motion(self, q: np.ndarray, v: np.ndarray) -> Motion:
        """Walks the tree outwards from ground, then looks at the joints that close the loops."""
        zero = np.zeros(6)
        X = {"fixed": Pose(np.eye(3), np.zeros(3))}
        J, V, A = {"fixed": np.zeros((6, self.nv))}, {"fixed": zero}, {"fixed": zero}
        for joint, forward in self.tree:
            near, far = (joint.parent, joint.child) if forward else (joint.child, joint.parent)
            step = joint.pose(q) if forward else joint.pose(q).inverse()
            at = X[near[0]] @ self.frame(near)
            X[far[0]] = at @ step @ self.frame(far).inverse()
            F, G = (at, at @ step) if forward else (at @ step, at)
            sign = 1.0 if forward else -1.0
            S, carried = joint.screws(F, G)
            J[far[0]] = J[near[0]].copy()
            J[far[0]][:, joint.v] += sign * S
            V[far[0]] = J[far[0]] @ v
            rate = self._drift(S, carried, V[joint.parent[0]], V[joint.child[0]], v[joint.v])
            A[far[0]] = A[near[0]] + sign * rate
        rows, gamma, gap = [], [], []
        for joint in self.chords:
            F = X[joint.parent[0]] @ self.frame(joint.parent)
            G, there = F @ joint.pose(q), X[joint.child[0]] @ self.frame(joint.child)
            S, carried = joint.screws(F, G)
            row = J[joint.child[0]] - J[joint.parent[0]]
            row[:, joint.v] -= S
            rate = self._drift(S, carried, V[joint.parent[0]], V[joint.child[0]], v[joint.v])
            bias = A[joint.child[0]] - A[joint.parent[0]] - rate
            shift = np.block([[np.eye(3), np.zeros((3, 3))], [-cross(there.p), np.eye(3)]])
            rows.append(shift @ row)
            gamma.append(-shift @ bias)
            gap.append(np.r_[rotation_vector(there.R @ G.R.T), there.p - G.p])
        stack = (lambda a: np.concatenate(a)) if rows else (lambda a: np.zeros((0, *np.shape(a)[1:])))
        return Motion(X, J, V, A, np.vstack(rows) if rows else np.zeros((0, self.nv)), stack(gamma), stack(gap))

    @staticmethod
    def _drift(S, carried, V_parent, V_child, speeds):
        """dS/dt times the speeds: each screw moves with the frame that carries it."""
        out = np.zeros(6)
        for k, by_child in enumerate(carried):
            out += motion(V_child if by_child else V_parent) @ S[:, k] * speeds[k]
        return out

    def poses(self, q: np.ndarray) -> dict[str, Pose]:
        return self.motion(q, np.zeros(self.nv)).X

    def point(self, q: np.ndarray, body: str, frame: str = "origin") -> np.ndarray:
        """World position of a frame."""
        return (self.poses(q)[body] @ self.frame((body, frame))).p

    def gap(self, q: np.ndarray) -> float:
        """Largest closure error over all cuts [rad, m]."""
        return float(np.max(np.abs(self.motion(q, np.zeros(self.nv)).gap), initial=0.0))

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Dimensionless closure Jacobian: translation rows divided, sliding columns multiplied by the size."""
        out = rows.copy()
        out[[i for i in range(len(out)) if i % 6 >= 3]] /= self.length
        out[:, self.sliding()] *= self.length
        return out

    def sliding(self) -> np.ndarray:
        """(nv,) True where a speed is linear."""
        mask = np.zeros(self.nv, bool)
        for j in self.joints:
            mask[j.v.start : j.v.start + {"T": 1, "float": 3}.get(j.kind, 0)] = True
        return mask

    def rank(self, rows: np.ndarray) -> int:
        return int(np.linalg.matrix_rank(rows, tol=RANK * max(np.linalg.norm(rows, 2), 1e-300))) if rows.size else 0

    def null(self, rows: np.ndarray, rank: int | None = None) -> np.ndarray:
        """(nv, dof) basis of the motions the loops allow, orthonormal in dimensionless speeds."""
        if not rows.size:
            return np.eye(self.nv)
        scaled = self.scaled(rows)
        return np.linalg.svd(scaled)[2][self.rank(scaled) if rank is None else rank :].T * self.units()[:, None]

    def units(self) -> np.ndarray:
        """(nv,) what one dimensionless speed is: the size for a linear one."""
        return np.where(self.sliding(), self.length, 1.0)

    def least(self, rows: np.ndarray, right: np.ndarray, rank: int | None = None) -> np.ndarray:
        """(nv,) the smallest x, in dimensionless speeds, with rows @ x = right as nearly as the rank allows."""
        if not rows.size:
            return np.zeros(self.nv)
        scaled = self.scaled(rows)
        U, s, Vt = np.linalg.svd(scaled)
        r = self.rank(scaled) if rank is None else rank
        scale = np.tile(np.r_[np.ones(3), np.full(3, 1 / self.length)], len(self.chords))
        return self.units() * (Vt[:r].T @ (U[:, :r].T @ (scale * right) / s[:r]))

    def substructures(self, q: np.ndarray) -> list[dict[str, Any]]:
        """Loops that share a joint, merged: loops, rows, columns, rank, joints of each, in the order of the joints."""
        up = {(j.child if f else j.parent)[0]: (j, (j.parent if f else j.child)[0]) for j, f in self.tree}
        rows = self.scaled(self.motion(q, np.zeros(self.nv)).rows)
        groups: list[tuple[set[str], list[int]]] = []
        for k, chord in enumerate(self.chords):
            sides = [self._to_ground(up, end[0]) for end in (chord.parent, chord.child)]
            loop = {chord.name} | (set(sides[0]) ^ set(sides[1]))
            loops = [k]
            for other in [g for g in groups if g[0] & loop]:
                loop, loops = loop | other[0], other[1] + loops
                groups.remove(other)
            groups.append((loop, loops))
        out = []
        for names, loops in groups:
            members = [j for j in self.joints if j.name in names]
            columns = np.concatenate([np.arange(j.v.start, j.v.stop) for j in members])
            block = rows[[6 * k + i for k in loops for i in range(6)]][:, columns]
            size = {"loops": len(loops), "rows": block.shape[0], "columns": block.shape[1]}
            out.append(size | {"rank": self.rank(block), "joints": [j.name for j in members]})
        return sorted(out, key=lambda s: [j.name for j in self.joints].index(s["joints"][0]))

    @staticmethod
    def _to_ground(up: dict, body: str) -> list[str]:
        names = []
        while body != "fixed":
            joint, body = up[body]
            names.append(joint.name)
        return names

    def inertia(self, name: str) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre and inertia about the centre, body axes."""
        b = self.bodies[name]
        i = b.get("inertia", {})
        xx, yy, zz, xy, yz, zx = (float(i.get(k, 0)) for k in ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"))
        tensor = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        return float(i.get("mass", 0)), np.array(b.get("center_of_mass", [0, 0, 0]), float), tensor

    def dynamics(self, m: Motion, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M (nv, nv) and f (nv,) of the tree with all joints free: M a = f + constraint forces."""
        M, f = np.zeros((self.nv, self.nv)), self.forces(m, q, v)
        for name in self.bodies:
            mass, centre, tensor = self.inertia(name)
            X, w = m.X[name], m.V[name][:3]
            c, about_c = X.p + X.R @ centre, X.R @ tensor @ X.R.T
            Jw, Jc = m.J[name][:3], m.J[name][3:] - cross(c) @ m.J[name][:3]
            alpha = m.A[name][:3]
            a = m.A[name][3:] + np.cross(alpha, c) + np.cross(w, Jc @ v)
            M += mass * Jc.T @ Jc + Jw.T @ about_c @ Jw
            f += mass * Jc.T @ (self.gravity - a) - Jw.T @ (about_c @ alpha + np.cross(w, about_c @ w))
        return M, f

    def forces(self, m: Motion, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised forces of joint polynomials (ascending) and restraints (descending pieces)."""
        f = np.zeros(self.nv)
        for j in self.joints:
            if stiffness := j.entry.get("stiffness"):
                f[j.v] -= np.polyval(stiffness[::-1], q[j.q])
            if damping := j.entry.get("damping"):
                f[j.v] -= np.polyval(damping[::-1], v[j.v])
        for r in self.restraints:
            x, gradient = self.measure(r, m, q)
            f -= piecewise(r, x if r["type"] == "spring" else float(gradient @ v)) * gradient
        return f

    def measure(self, r: dict, m: Motion, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The length or angle a restraint looks at, and its derivative by the speeds."""
        if "joint" in r:
            name = r["joint"] if isinstance(r["joint"], str) else r["joint"][-1]
            joint = next(j for j in self.joints if j.name == name)
            return float(q[joint.q][0]), np.eye(self.nv)[joint.v.start]
        ends = [self.end(e) for e in r["body_frame_pair"]]
        F, G = (m.X[e[0]] @ self.frame(e) for e in ends)
        Jf, Jg = (m.J[e[0]][3:] - cross(X.p) @ m.J[e[0]][:3] for e, X in zip(ends, (F, G), strict=True))
        d = G.p - F.p
        if kind := r.get("distance_type"):
            axis = F.R @ np.array(AXIS[kind[1].lower()])
            return float(axis @ d), axis @ (Jg - Jf) + np.cross(axis, d) @ m.J[ends[0][0]][:3]
        return float(np.linalg.norm(d)), d / np.linalg.norm(d) @ (Jg - Jf)

    def acceleration(self, q: np.ndarray, v: np.ndarray, rank: int | None = None) -> np.ndarray:
        """(nv,) accelerations of all joints; the least solution where a motion moves no mass."""
        m = self.motion(q, v)
        M, f = self.dynamics(m, q, v)
        N, c = self.null(m.rows, rank), self.least(m.rows, m.gamma, rank)
        return c + N @ np.linalg.lstsq(N.T @ M @ N, N.T @ (f - M @ c), rcond=1e-14)[0]

    def kinetic(self, q: np.ndarray, v: np.ndarray) -> float:
        return float(0.5 * v @ self.dynamics(self.motion(q, v), q, v)[0] @ v)

    def potential(self, q: np.ndarray) -> float:
        """Gravity, joint stiffness and spring restraints; their zero is at coordinate, length or position zero."""
        m, total = self.motion(q, np.zeros(self.nv)), 0.0
        for name in self.bodies:
            mass, centre, _ = self.inertia(name)
            total -= mass * self.gravity @ (m.X[name].p + m.X[name].R @ centre)
        for j in self.joints:
            for k, c in enumerate(j.entry.get("stiffness") or []):
                total += c * q[j.q][0] ** (k + 1) / (k + 1)
        for r in (r for r in self.restraints if r["type"] == "spring"):
            total += piecewise_integral(r, self.measure(r, m, q)[0])
        return float(total)

    def energy(self, q: np.ndarray, v: np.ndarray) -> float:
        return self.kinetic(q, v) + self.potential(q)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """dq/dt (nq,)."""
        out = np.zeros(self.nq)
        for j in self.joints:
            own, speeds = q[j.q], v[j.v]
            if j.kind in ("R", "T"):
                out[j.q] = speeds
            elif j.kind != "rigid":
                out[j.q] = [*speeds[:-3], *quaternion_rate(own[-4:], speeds[-3:])]
        return out

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after the small motion `step` (nv,), quaternions kept at length one."""
        out = q.copy()
        for j in self.joints:
            own, d = q[j.q], step[j.v]
            if j.kind in ("R", "T"):
                out[j.q] = own + d
            elif j.kind != "rigid":
                turned = quaternion_of(rotation_of(own[-4:]) @ rotation(d[-3:]))
                out[j.q] = [*(own[:-4] + d[:-3]), *(turned if turned @ own[-4:] >= 0 else -turned)]
        return out

    def closed(self, q: np.ndarray, hold: tuple[str, ...] = (), tol: float = 1e-13, steps: int = 100) -> np.ndarray:
        """Gauss-Newton on all rows with the named joints held, steps capped at 0.2 rad or of the size."""
        free = np.ones(self.nv, bool)
        for j in (j for j in self.joints if j.name in hold):
            free[j.v] = False
        unit = self.units()
        for _ in range(steps):
            m = self.motion(q, np.zeros(self.nv))
            if np.max(np.abs(m.gap), initial=0.0) < tol:
                break
            scale = np.tile(np.r_[np.ones(3), np.full(3, 1 / self.length)], len(self.chords))
            step = np.zeros(self.nv)
            step[free] = np.linalg.lstsq(self.scaled(m.rows)[:, free], -scale * m.gap, rcond=RANK)[0]
            q = self.moved(q, unit * step * min(1.0, 0.2 / max(np.max(np.abs(step)), 1e-300)))
        return q

    def consistent(self, q: np.ndarray, v: np.ndarray, hold: tuple[str, ...] = ()) -> np.ndarray:
        """Speeds the loops allow: held joints keep theirs, the others get the smallest change."""
        rows, free = self.motion(q, v).rows, np.ones(self.nv, bool)
        for j in (j for j in self.joints if j.name in hold):
            free[j.v] = False
        out = v.copy()
        if rows.size:
            unit = self.units()
            scale = np.tile(np.r_[np.ones(3), np.full(3, 1 / self.length)], len(self.chords))
            out[free] -= (unit[free]) * np.linalg.lstsq(self.scaled(rows)[:, free], scale * (rows @ v), rcond=RANK)[0]
        return out

    def trajectory(self, q, v, times, rtol: float = 1e-11, atol: float = 1e-12):
        """(T, nq) and (T, nv) by DOP853 on all coordinates, put back on the loops at every output time.

        The rank is that of the start: an overconstrained loop that has drifted open by rounding would gain a rank.
        """
        rank, n = self.rank(self.scaled(self.motion(np.asarray(q), np.asarray(v)).rows)), self.nq

        def rate(t, y):
            return np.r_[self.rate(y[:n], y[n:]), self.acceleration(y[:n], y[n:], rank)]

        qs, vs = [np.asarray(q, float)], [np.asarray(v, float)]
        for before, t in pairwise(times):
            y = solve_ivp(rate, (before, t), np.r_[qs[-1], vs[-1]], method="DOP853", rtol=rtol, atol=atol).y[:, -1]
            qs.append(self.closed(self.moved(y[:n], np.zeros(self.nv))))
            vs.append(self.consistent(qs[-1], y[n:]))
        return np.array(qs), np.array(vs)


def piecewise(r: dict, x: float) -> float:
    """f(x) of a restraint: a value at a knot belongs to the piece on its right."""
    return float(np.polyval(r["coefficients"][int(np.searchsorted(r.get("knot_points") or [], x, side="right"))], x))


def piecewise_integral(r: dict, x: float) -> float:
    """Integral of f from 0 to x, piece by piece."""
    low, high = min(0.0, x), max(0.0, x)
    marks = [low, *(k for k in r.get("knot_points") or [] if low < k < high), high]
    total = 0.0
    for a, b in pairwise(marks):
        pieces = r["coefficients"][int(np.searchsorted(r.get("knot_points") or [], (a + b) / 2, side="right"))]
        whole = np.polyint(pieces)
        total += np.polyval(whole, b) - np.polyval(whole, a)
    return float(total if x >= 0 else -total)
