"""The pictures of docs/conventions.md: one for each sign, axis or order that could be taken the other way."""

from __future__ import annotations

import numpy as np
from figures.style import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    RED,
    WIDE,
    arrow,
    bar,
    figure,
    ground,
    out_of_page,
    sketch,
    turn,
    write,
)
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, FancyBboxPatch, Rectangle


def gravity() -> None:
    drawn, (down, up) = sketch(WIDE, 2)
    for axes, z, name in ((down, -1, "z down: most model files"), (up, 1, "z up")):
        base = (-0.5, 0.55 if z < 0 else -0.35)
        arrow(axes, base, (base[0] + 0.8, base[1]), BLUE, "x")
        arrow(axes, base, (base[0], base[1] + 0.8 * z), GREEN, "z")
        if z < 0:
            out_of_page(axes, base, ORANGE, "y")
        else:
            axes.plot(*base, "o", ms=11, mfc="white", mec=ORANGE, mew=1.8, zorder=5)
            axes.plot(*base, "x", ms=6, color=ORANGE, mew=1.8, zorder=6)
            axes.text(base[0] - 0.13, base[1] + 0.02, "y", color=ORANGE, fontweight="bold", ha="right")
        axes.plot(0.9, 0.35, "o", ms=18, color=GREY)
        arrow(axes, (0.9, 0.22), (0.9, -0.45), RED)
        axes.text(0.9, -0.62, f'"gravity": [0, 0, {"" if z < 0 else "-"}9.81]', ha="center", color=RED)
        axes.text(0.3, 0.95, name, ha="center")
        axes.set(xlim=(-0.9, 1.75), ylim=(-0.75, 1.05))
    write(drawn, "gravity.svg")


def turns() -> None:
    drawn, (left, right) = sketch(WIDE, 2)
    arrow(left, (0, 0), (0.95, 0), GREY, "x")
    arrow(left, (0, 0), (0, -0.7), GREY, "z")
    angle = np.radians(50)
    bar(left, (0, 0), (0.85 * np.cos(angle), 0.85 * np.sin(angle)), BLUE)
    turn(left, (0, 0), 0.45, 0, 50, RED)
    left.text(0.47, 0.12, "q > 0", color=RED)
    out_of_page(left, (0, 0), ORANGE, "axis of Ry: y")
    left.text(0.62, 0.5, "child", color=BLUE)
    left.text(0.1, -1.0, "from +z to +x; from +x upwards", ha="center")
    left.set(xlim=(-1.0, 1.2), ylim=(-1.1, 1.0))
    right.plot([0, 0], [0.8, -0.85], color=GREY, lw=1, ls="--")
    right.add_patch(Rectangle((-0.25, 0.35), 0.5, 0.3, fc="none", ec=GREY))
    right.text(0.36, 0.5, "parent's frame: q = 0", va="center", color=GREY)
    right.add_patch(Rectangle((-0.25, -0.45), 0.5, 0.3, fc=BLUE, ec=BLUE, alpha=0.45))
    right.text(0.36, -0.3, "child", va="center", color=BLUE)
    arrow(right, (-0.4, 0.5), (-0.4, -0.3), RED)
    right.text(-0.48, 0.1, "q > 0", color=RED, ha="right")
    arrow(right, (0, -0.6), (0, -0.85), GREEN, "z")
    right.text(0.2, 0.88, "axis of Tz", color=GREEN, ha="center")
    right.set(xlim=(-0.9, 1.5), ylim=(-1.0, 1.0))
    write(drawn, "turn.svg")


def axes_at(
    axes: Axes, place: tuple[float, float], angle: float, size: float, names: tuple[str, str], colour: str
) -> None:
    """Two axes of a frame, turned by an angle in degrees."""
    for k, name in enumerate(names):
        direction = np.radians(angle + 90 * k)
        end = (place[0] + size * np.cos(direction), place[1] + size * np.sin(direction))
        arrow(axes, place, end, colour, name, lw=1.4)


def joints() -> None:
    drawn, axes = sketch((7.2, 2.8))
    axes.add_patch(Ellipse((0.75, 0), 2.1, 1.1, angle=8, fc=GREY, alpha=0.18))
    axes.add_patch(Ellipse((3.35, 0.35), 2.3, 1.1, angle=20, fc=BLUE, alpha=0.18))
    parent, joint, child = (0.2, -0.1), (1.45, 0.1), (3.9, 0.6)
    second = (2.35, 0.15)
    axes_at(axes, parent, 0, 0.33, ("", ""), DARK)
    axes_at(axes, joint, -15, 0.33, ("", ""), GREY)
    axes_at(axes, second, 30, 0.33, ("", ""), BLUE)
    axes_at(axes, child, 15, 0.33, ("", ""), BLUE)
    for start, end, text, colour, y in (
        (parent, joint, "F_parent", DARK, 0.22),
        (joint, second, "J(q)", RED, 0.22),
        (child, second, "F_child", BLUE, 0.22),
    ):
        style = f"arc3,rad={'-0.25' if start != child else '0.25'}"
        arrow(axes, start, end, colour, connectionstyle=style, lw=1.5, ls="-")
        middle = np.add(start, end) / 2
        axes.text(middle[0], middle[1] + y + 0.12, text, color=colour, ha="center")
    axes.text(0.2, -0.78, "parent body", ha="center", color=DARK)
    axes.text(1.45, -0.78, "its frame", ha="center", color=GREY)
    axes.text(2.45, -0.78, "child's frame", ha="center", color=BLUE)
    axes.text(3.9, -0.78, "child body", ha="center", color=BLUE)
    axes.set(xlim=(-0.6, 4.9), ylim=(-0.95, 1.25))
    write(drawn, "joint.svg")


def frames() -> None:
    drawn, axes = sketch((7.2, 2.8))
    axes.add_patch(Ellipse((0.95, 0.35), 3.0, 1.7, fc=GREY, alpha=0.18))
    axes_at(axes, (0, 0), 0, 0.6, ("x", "y"), DARK)
    axes_at(axes, (1.6, 0.45), 30, 0.6, ("x'", "y'"), BLUE)
    arrow(axes, (0, 0), (1.6, 0.45), RED)
    axes.text(0.85, 0.1, "T", color=RED, fontweight="bold")
    axes.text(0, -0.22, "origin of the body", ha="center")
    axes.text(1.62, 0.2, "frame", color=BLUE, ha="center")
    text = "T = [1.6, 0.45, 0]\n\nR = [[0.87, -0.50, 0],\n     [0.50,  0.87, 0],\n     [0,     0,    1]]\n"
    axes.text(2.75, 0.5, text, family="DejaVu Sans Mono", va="center")
    axes.annotate("first column: x'\nin the body's axes", (3.35, 0.2), (2.75, -0.42), color=BLUE)
    axes.set(xlim=(-0.6, 5.0), ylim=(-0.55, 1.35))
    write(drawn, "frame.svg")


def quaternions() -> None:
    drawn, axes = sketch((7.2, 2.6))
    arrow(axes, (0, -0.75), (0, 0.95), GREEN, "n", lw=2)
    axes.add_patch(Ellipse((0, 0), 1.5, 0.5, fc="none", ec=GREY, ls="--"))
    first, second = np.radians(-100), np.radians(20)
    for angle, colour in ((first, GREY), (second, BLUE)):
        arrow(axes, (0, 0), (0.75 * np.cos(angle), 0.25 * np.sin(angle)), colour)
    sweep = np.linspace(first, second, 50)
    axes.plot(0.45 * np.cos(sweep), 0.15 * np.sin(sweep), color=RED, lw=1.8)
    arrow(
        axes, (0.45 * np.cos(sweep[-5]), 0.15 * np.sin(sweep[-5])), (0.45 * np.cos(second), 0.15 * np.sin(second)), RED
    )
    axes.text(0.42, -0.2, "θ", color=RED, fontweight="bold")
    formula = "[w, x, y, z]  =  [cos(θ/2),  n sin(θ/2)]"
    axes.text(1.25, 0.45, formula, family="DejaVu Sans Mono", va="center")
    lines = (
        "w first, length 1\nmaps body coordinates to world coordinates\n"
        "no turn: [1, 0, 0, 0]; half a turn about z: [0, 0, 0, 1]"
    )
    axes.text(1.25, -0.15, lines, va="center", linespacing=1.6)
    axes.set(xlim=(-0.9, 4.9), ylim=(-0.85, 1.15))
    write(drawn, "quaternion.svg")


def inertia() -> None:
    drawn, axes = sketch((7.2, 2.6))
    axes.add_patch(FancyBboxPatch((-0.2, -0.25), 2.4, 0.75, boxstyle="round,pad=0.1", fc=GREY, alpha=0.2, lw=0))
    axes_at(axes, (0, 0), 0, 0.5, ("x", "y"), DARK)
    axes_at(axes, (1.25, 0.2), 0, 0.5, ("x", "y"), BLUE)
    axes.plot(1.25, 0.2, "o", ms=9, mfc="white", mec=BLUE, mew=2)
    arrow(axes, (0, 0), (1.25, 0.2), RED, shrinkB=5)
    axes.text(0.55, 0.2, "center_of_mass", color=RED, ha="center", fontsize=9)
    axes.text(0, -0.22, "origin", ha="center", fontsize=9)
    text = "Ixx = ∫ (y² + z²) dm\nIxy = − ∫ x y dm\n\nabout the centre of mass,\nalong the body's axes"
    axes.text(2.7, 0.15, text, va="center", color=BLUE, linespacing=1.5)
    axes.set(xlim=(-0.5, 4.8), ylim=(-0.5, 1.0))
    write(drawn, "inertia.svg")


def polynomials() -> None:
    drawn, (left, right) = figure((7.2, 3.1), 2)
    x = np.linspace(-1.2, 1.2, 200)
    left.plot(x, -(20 * x + 5 * x**3))
    left.axhline(0, color=GREY, lw=0.8)
    left.axvline(0, color=GREY, lw=0.8)
    left.set(xlabel="x [m or rad]", ylabel="Q [N or N m]", title="one spring: Q = −(20 x + 5 x³)")
    left.text(-1.15, -32, "joint,\nconstant first:\n[0, 20, 0, 5]", color=BLUE, fontsize=9)
    left.text(0.08, 12, "restraint,\nhighest power first:\n[[5, 0, 20, 0]]", color=ORANGE, fontsize=9)
    right.plot([-0.02, 0, 0.01], [40, 0, 0], color=BLUE)
    right.axvline(0, color=RED, lw=1, ls="--")
    right.text(0.0005, 33, "knot at 0", color=RED, fontsize=9)
    right.text(-0.0195, 8, "left: [2000, 0]\npushes towards +x", color=BLUE, fontsize=9)
    right.text(0.0005, 4, "right: [0]", color=BLUE, fontsize=9)
    right.axhline(0, color=GREY, lw=0.8)
    right.set(xlabel="x [m]", ylabel="Q [N]", title="a stop: two pieces, one knot", ylim=(-5, 42))
    right.set_xticks((-0.02, -0.01, 0, 0.01))
    write(drawn, "polynomials.svg")


def restraints() -> None:
    drawn, (left, right) = sketch((7.2, 2.7), 2)
    for axes in (left, right):
        axes_at(axes, (0, 0), 20, 0.35, ("x", "z"), DARK)
        axes_at(axes, (1.5, 0.75), 0, 0.3, ("", ""), BLUE)
        axes.text(0, -0.2, "first frame", ha="center", fontsize=9)
        axes.text(1.68, 0.92, "second frame", ha="left", color=BLUE, fontsize=9)
        axes.set(xlim=(-0.5, 2.5), ylim=(-0.4, 1.25))
    left.plot([0, 1.5], [0, 0.75], color=RED, lw=1.2, ls="--")
    left.text(0.62, 0.5, "x", color=RED, fontweight="bold")
    for start, end in (((0, 0), (0.3, 0.15)), ((1.5, 0.75), (1.2, 0.6))):
        arrow(left, start, end, GREEN)
    left.set_title("no distance_type: their distance; f(x) > 0 pulls together", fontsize=9)
    direction = np.array([np.cos(np.radians(20)), np.sin(np.radians(20))])
    foot = direction * (direction @ [1.5, 0.75])
    right.plot([0, foot[0]], [0, foot[1]], color=RED, lw=1.6)
    right.plot([foot[0], 1.5], [foot[1], 0.75], color=GREY, lw=1, ls=":")
    right.text(0.85, 0.14, "x", color=RED, fontweight="bold")
    right.set_title('distance_type "Tx": along x of the first frame', fontsize=9)
    write(drawn, "restraint.svg")


def press() -> None:
    points = {
        "A": (0, 0), "B": (0.06, -0.08), "C": (0.30, -0.24), "D": (0.30, 0), "E": (0.45, -0.05), "F": (0.45, 0.30),
    }  # fmt: skip
    at = {name: (x, -z) for name, (x, z) in points.items()}  # z is down
    drawn, axes = sketch((5.6, 4.6))
    axes.fill(*zip(at["D"], at["C"], at["E"], strict=True), color=GREEN, alpha=0.3, lw=0)
    bars = {"AB": BLUE, "BC": ORANGE, "DC": GREEN, "DE": GREEN, "EF": RED}
    for (start, end), colour in bars.items():
        bar(axes, at[start], at[end], colour, 7)
    ground(axes, at["A"], 0.018)
    ground(axes, at["D"], 0.018)
    x, y = at["F"]
    axes.add_patch(Rectangle((x - 0.035, y - 0.055), 0.07, 0.07, fc=GREY, alpha=0.6))
    for side in (-0.045, 0.045):
        axes.plot([x + side] * 2, [y - 0.08, y + 0.1], color=GREY, lw=2)
    aside = {"A": (12, -6), "B": (-14, 4), "C": (0, 9), "D": (-14, 4), "E": (9, 2), "F": (9, 6)}
    for name, offset in aside.items():
        axes.annotate(name, at[name], offset, textcoords="offset points", fontweight="bold")
    for place, text, colour in (
        ((-0.06, 0.05), "crank", BLUE), ((0.12, 0.195), "coupler", ORANGE), ((0.36, 0.1), "rocker", GREEN),
        ((0.46, -0.11), "rod", RED), ((0.51, -0.32), "ram", DARK),
    ):  # fmt: skip
        axes.text(*place, text, color=colour)
    arrow(axes, (-0.06, -0.2), (0.02, -0.2), GREY, "")
    arrow(axes, (-0.06, -0.2), (-0.06, -0.28), GREY, "")
    axes.text(0.035, -0.205, "x", color=GREY)
    axes.text(-0.065, -0.315, "z", color=GREY)
    axes.set(xlim=(-0.12, 0.62), ylim=(-0.4, 0.29))
    write(drawn, "press.svg")


PICTURES = (gravity, turns, joints, frames, quaternions, inertia, polynomials, restraints, press)
