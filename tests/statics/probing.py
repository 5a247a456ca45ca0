"""A planar robot that probes a step, whose poses are known in closed form."""

from __future__ import annotations

import numpy as np

from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

G, BODY, TIP = 9.81, 4.0, 0.5  # m/s^2, kg
FOOT, SHOULDER, SPRING = 0.15, 0.4, 6.0  # m, m, N m/rad
BOUND, STIFF, BLEND = 0.5, 60.0, 0.2  # rad, N m/rad, rad: where the hip meets its stop, and that
FEET = "support_margin(body:left, body:right)"


def prober(stop: float = STIFF) -> Model:
    """A body on two feet; at its shoulder a light arm on a spring, horizontal where it is slack, with a heavy tip at a
    length that nobody knows. Its joint meets a stop below."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("prober")
    frames = {"left": (-FOOT, 0.0, 0.0), "right": (FOOT, 0.0, 0.0), "shoulder": (0.0, 0.0, SHOULDER)}
    a.body("body", mass=BODY, inertia=(0.1,) * 3, center_of_mass=(0.0, 0.0, 0.2), frames=frames)
    a.body("arm").body("tip", mass=TIP, inertia=(0.01,) * 3)
    a.joint("stand", "rigid", child="body")
    a.joint("hip", "Ry", parent=("body", "shoulder"), child="arm", stiffness=[0.0, SPRING])
    a.joint("probe", "Tx", parent="arm", child="tip", initial_displacement=0.2)
    a.force("bound", "stop", joint="hip", upper=BOUND, k=stop, blend=BLEND)
    return builder.build()


def torque(t: np.ndarray) -> np.ndarray:
    """Of spring and stop at the angle t, up to the depth at which the stop has set in: m g L cos t there."""
    depth = np.maximum(t - BOUND, 0.0)
    return SPRING * t + STIFF * depth**2 / (2.0 * BLEND)


def stiffness(t: np.ndarray) -> np.ndarray:
    """Its slope."""
    return SPRING + STIFF * np.maximum(t - BOUND, 0.0) / BLEND


def length_of(t: float) -> float:
    """At which the arm hangs at the angle t."""
    return float(torque(np.array(t)) / (TIP * G * np.cos(t)))


def margin_of(t: np.ndarray, length: np.ndarray) -> np.ndarray:
    """To the right foot, the nearer one."""
    return FOOT - TIP * length * np.cos(t) / (BODY + TIP)


def deflection_slope(t: np.ndarray, length: np.ndarray) -> np.ndarray:
    """dt/dL of m g L cos t = T(t)."""
    return TIP * G * np.cos(t) / (stiffness(t) + TIP * G * length * np.sin(t))


def margin_slope(t: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Of the margin by the length, along equilibria."""
    return -TIP * (np.cos(t) - length * np.sin(t) * deflection_slope(t, length)) / (BODY + TIP)


# The centre of mass is over the foot where m g L cos t, the torque, is (M + m) g a.
HIT = length_of(BOUND)
_rest = (BODY + TIP) * G * FOOT - SPRING * BOUND  # of SPRING d + STIFF d^2 / (2 BLEND)
TIPPING = BOUND + (np.sqrt(SPRING**2 + 2.0 * STIFF / BLEND * _rest) - SPRING) * BLEND / STIFF
TOPPLE = length_of(TIPPING)
