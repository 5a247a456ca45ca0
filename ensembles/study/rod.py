"""A rod that keeps being one when its length is varied: what its mass, centre of mass and inertia follow from."""

from __future__ import annotations

import re

from shiftjax.errors import ModelError, need_number, shown

_COORDINATE = re.compile(r".*\.T\[([012])\]", re.DOTALL)
AXES = "xyz"


def rod(
    body: str,
    end: str,
    start: str | None = None,
    *,
    mass: float | None = None,
    mass_per_length: float | None = None,
    radius: float = 0.0,
) -> dict[str, str]:
    """What `simulate(derive=...)` needs for a uniform round rod along an axis of its body.

    With L the length and m the mass, its centre of mass lies in the middle, its inertia about it is
    m (L^2/12 + radius^2/4) across and m radius^2/2 along the rod (Meriam, Kraige, Dynamics, table D/4). Inertias of a
    model are about the centre of mass, so that no parallel axes come in.

    Args:
        body: path of the rod.
        end: number path of its end on the axis, as "coupler:tip.T[0]" for a rod along x. [m]
        start: the same of its other end; the body's origin where left out. [m]
        mass: [kg], or
        mass_per_length: [kg/m]; where both are left out, the mass stays what the model says.
        radius: [m]; 0 is a slender rod, whose inertia along itself stays what the model says.

    Returns:
        number path -> expression; of several rods together as `{**rod(...), **rod(...)}`.

    Raises:
        ModelError: an end that is no coordinate of a frame, both masses, a negative number.
    """
    for name, path in (("body", body), ("end", end), ("start", start)):
        if not isinstance(path, str) and not (name == "start" and path is None):
            raise ModelError(f"rod: {name}", shown(path), "a path", "Write it as `shiftjax info MODEL --paths` does.")
    for name, value in (("mass", mass), ("mass_per_length", mass_per_length), ("radius", radius)):
        if value is not None:
            need_number(f"rod: {name}", value, "a number of 0 or more", least=0.0)
    if mass is not None and mass_per_length is not None:
        raise ModelError("rod: mass, mass_per_length", "both of them", "one of them", "Leave one of them out.")
    axes = [_COORDINATE.fullmatch(path) for path in (end, start) if path is not None]
    if None in axes or len({match[1] for match in axes if match}) > 1:
        fault = " and ".join(repr(path) for path in (end, start) if path is not None)
        todo = "Give both ends along the same axis, as 'coupler:tip.T[0]'."
        raise ModelError("rod: end", fault, "a coordinate of a frame, FRAME.T[0], [1] or [2]", todo)
    along = int(axes[0][1]) if axes[0] else 0
    across = [k for k in range(3) if k != along]
    ends = [f"{{{path}}}" for path in (end, start) if path is not None]
    length = f"abs({' - '.join(ends)})"
    formulas = {f"{body}.center_of_mass[{along}]": f"({' + '.join(ends)}) / 2"}
    if mass is not None:
        formulas[f"{body}.mass"] = repr(float(mass))
    elif mass_per_length is not None:
        formulas[f"{body}.mass"] = f"{float(mass_per_length)!r} * {length}"
    m, thick = f"{{{body}.mass}}", f" + {float(radius)!r} ** 2 / 4" if radius else ""
    for k in across:
        formulas[f"{body}.inertia.I{AXES[k]}{AXES[k]}"] = f"{m} * ({length} ** 2 / 12{thick})"
    if radius:
        formulas[f"{body}.inertia.I{AXES[along]}{AXES[along]}"] = f"{m} * {float(radius)!r} ** 2 / 2"
    return formulas
