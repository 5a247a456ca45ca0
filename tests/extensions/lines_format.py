"""A reader of .lines files, one element a line.

`body NAME MASS x y z`: its centre of mass is at x, y, z [m], its inertia that
of a rod from its origin through it. `joint NAME TYPE PARENT x y z CHILD ANGLE`:
it stands at x, y, z [m] of its parent and starts at ANGLE [rad].
"""

from __future__ import annotations

from typing import Any

from shiftjax.errors import ModelError
from shiftjax.formats import READERS


def read(text: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """The document of such a text."""
    bodies: dict[str, Any] = {}
    joints: list[dict[str, Any]] = []
    ground: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            match line.split():
                case ["body", body, mass, *xyz]:
                    center, m = [float(x) for x in xyz], float(mass)
                    spread = m * sum(x * x for x in center) / 3.0
                    inertia = {
                        "mass": m,
                        **dict.fromkeys(("Ixx", "Iyy", "Izz"), spread),
                    }
                    bodies[body] = {
                        "name": body,
                        "inertia": inertia,
                        "center_of_mass": center,
                        "frames": [],
                    }
                case ["joint", joint, kind, parent, x, y, z, child, angle]:
                    frame = {"name": joint, "T": [float(x), float(y), float(z)]}
                    fixed = parent == "fixed"
                    place = ground if fixed else bodies[parent]["frames"]
                    place.append(frame)
                    ends = {
                        "parent": [[parent], joint],
                        "child": [[child], "origin"],
                    }
                    joints.append(
                        {
                            "name": joint,
                            "type": kind,
                            **ends,
                            "initial_displacement": float(angle),
                        }
                    )
                case [word, *_]:
                    raise ValueError(word)
        except (ValueError, KeyError) as error:
            raise ModelError(
                f"{name}, line {number}",
                repr(line),
                "a body or a joint",
                "Correct it.",
            ) from error
    parameters = {"version": "2.0", "gravity": [0.0, 0.0, -9.81]}
    assembly = {
        "name": "main",
        "bodies": list(bodies.values()),
        "joints": joints,
    }
    return {
        "model_parameters": parameters,
        "frames": ground,
        "assemblies": [assembly],
    }, []


READERS[".lines"] = read
