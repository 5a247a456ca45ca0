"""The library of mechanisms, and of studies of them: names, files and one line about each. Free of jax."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent

SUMMARIES = {
    "pendulum": "point mass on a massless rod (benchmark A01)",
    "double_pendulum": "two links, the second joint written against the tree",
    "four_bar": "Grashof crank-rocker, crank turning",
    "slider_crank": "crank, rod and piston; no repartition in a whole turn",
    "slider_crank_turntable": "a slider-crank on a turning table: a loop based on a moving body",
    "two_slider_cranks": "two slider-cranks in series, the second riding on the first piston",
    "three_slider_cranks": "three slider-cranks in series: three blocks of the Jacobian",
    "n_four_bar_1": "one window of the N-four-bar (benchmark A02), flat twice a turn",
    "n_four_bar_2": "two windows of the N-four-bar (benchmark A02)",
    "n_four_bar_5": "five windows of the N-four-bar",
    "n_four_bar_40": "forty windows of the N-four-bar: one substructure of 240 x 121",
    "bricard": "Bricard's six-revolute loop, overconstrained (benchmark A04)",
    "andrews": "Andrews' squeezing mechanism, stiff and fast (benchmark A03)",
    "sarrus": "Sarrus' straight lift from revolutes only, overconstrained",
    "klann": "Klann's walking leg, two loops on one crank",
    "jansen": "Theo Jansen's walking leg with his published lengths, three loops",
    "bicycle_brake": "cantilever rim brake with straddle cable, three loops, massless links",
    "bennett": "Bennett's four-revolute spatial loop, overconstrained",
    "peaucellier": "Peaucellier's inversor: an exact straight line from seven bars",
    "excavator": "five loops in three substructures, cylinders as springs",
    "double_wishbone": "a double-wishbone corner with rack, tie rod, ball joints and a spinning wheel",
    "vehicle_chassis": "a whole car in one-degree joints: 51 joints, 25 massless bodies, six loops",
    "delta": "delta robot on spherical joints, rods free to spin about themselves",
    "stewart": "Stewart platform on six spring legs",
    "scissor_lift": "three-stage scissor lift on a spring",
    "seven_axis_arm": "serial arm of seven revolutes with springy joints, no loop",
    "meshed_pendulum": "a pendulum with mesh geometry (OBJ and MTL), lights and a frame to hang from",
}

STUDIES = {
    "four_bar_coupler_curve": "path synthesis: lengths of a four-bar that draw a given coupler curve",
    "path_synthesis": "path synthesis by gradients: a four-bar that draws a given curve, from many starts",
    "vehicle_ride": "a double wishbone over a bump: camber, toe and forces by hardpoints and spring rate",
    "excavator_digging_reach": "reach, depth and height of a bucket by boom, stick and places of pins",
    "delta_workspace_accuracy": "where a delta robot really is, made to a tenth of a millimetre",
    "delta_minimum_torque": "the motion of a delta robot from rest to rest that takes least torque, by gradients",
    "bricard_tolerances": "Monte Carlo of an overconstrained loop: masses and the push at its start",
}


def names() -> tuple[str, ...]:
    """Names of all library models, simple ones first."""
    return tuple(SUMMARIES)


def path(name: str) -> Path:
    """The file of a library model; KeyError for an unknown name."""
    if name not in SUMMARIES:
        raise KeyError(name)
    return FOLDER / f"{name}.json"


def summary(name: str) -> str:
    """One line about a library model."""
    return SUMMARIES[name]


def study(name: str) -> Path:
    """The file of a library study, one of `STUDIES`; KeyError for an unknown name."""
    if name not in STUDIES:
        raise KeyError(name)
    return FOLDER / "studies" / f"{name}.toml"
