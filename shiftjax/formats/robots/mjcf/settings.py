"""What `compiler` and `option` of an MJCF say of the whole file: angles, masses, gravity, what is switched off."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.robots.mjcf.compiler import AUTO, FALSE, GRAVITY, TRUE, Compiler, choice, flag
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement

HARMLESS = (  # of `compiler`: they change files, pictures, which names the same motion has, or when a file is refused
    "texturedir", "strippath", "fitaabb", "fusestatic", "discardvisual", "usethread", "convexhull", "alignfree",
    "conflict", "saveinertial", "savecanonical", "savecompiled", "exactmeshinertia", "passthrough",
)  # fmt: skip
OF_RUNS = (  # of `option`: steps and solvers, contacts, sensors
    "timestep", "integrator", "apirate", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance",
    "sleep_tolerance", "mpr_tolerance", "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations",
    "mpr_iterations", "sdf_iterations", "sdf_initpoints", "solver", "cone", "jacobian", "collision", "magnetic", "wind",
    "o_margin", "o_solref", "o_solimp", "o_friction", "actuatorgroupdisable",
)  # fmt: skip
OTHER_FLAGS = (
    "clampctrl", "warmstart", "filterparent", "refsafe", "sensor", "midphase", "eulerdamp", "autoreset", "nativeccd",
    "island", "override", "energy", "fwdinv", "invdiscrete", "multiccd", "sleep", "diagexact", "ipc", "speculative",
    "sensornoise",
)  # fmt: skip
FLUID = "Set it to 0, or remove it and add the force to the model."
SWITCHES = (
    "constraint", "equality", "frictionloss", "limit", "contact", "passive", "spring", "damper", "gravity", "actuation",
)  # fmt: skip
IMPLIED = {  # a flag -> others that it switches off, too
    "constraint": ("equality", "frictionloss", "limit", "contact"),
    "passive": ("spring", "damper"),
}


def settings(root: XmlElement, notes: ReaderNotes) -> Compiler:
    """What all `compiler` and `option` elements state; later ones come before earlier ones.

    Raises:
        ModelError: a setting that changes the motion and is not read.
    """
    compiler = _merged(root, "compiler")
    option = _merged(root, "option")
    return Compiler(**_compiler(compiler, notes), **_option(option, notes))


def _merged(root: XmlElement, tag: str) -> XmlElement | None:
    every = [*root.every(tag)]
    if not every:
        return None
    attributes = {name: value for element in every for name, value in element.attributes.items()}
    out = XmlElement(tag, attributes, every[-1].line, root, every[-1].file)
    out.children = [inner for element in every for inner in element.children]
    return out


def _compiler(element: XmlElement | None, notes: ReaderNotes) -> dict[str, Any]:
    if element is None:
        return {}
    read = ("angle", "eulerseq", "meshdir", "assetdir", "autolimits", "inertiafromgeom", "inertiagrouprange",
            "boundmass", "boundinertia", "balanceinertia", "settotalmass", "coordinate")  # fmt: skip
    element.only((*read, *HARMLESS), ("lengthrange",))
    notes.leave_others(element, read, ())
    if element.word("coordinate", "local") != "local":
        element.refuse(
            "coordinate='global'", "local", "Save the model by an older MuJoCo (2.3.3), which makes it local."
        )
    sequence = element.word("eulerseq", "xyz")
    if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
        element.refuse(f"eulerseq={sequence[:LONGEST]!r}", "three of x, y, z, X, Y, Z", "Correct it.")
    low, high = element.numbers("inertiagrouprange", 2, (-1e9, 1e9))
    return {
        "degrees": choice(element, "angle", ("degree", "radian"), "degree") == "degree",
        "eulerseq": sequence,
        "meshdir": element.word("meshdir", element.word("assetdir", "")).replace("\\", "/"),
        "autolimits": flag(element, "autolimits", default=True),
        "from_geoms": choice(element, "inertiafromgeom", (FALSE, TRUE, AUTO), AUTO),
        "groups": (low, high),
        "boundmass": element.number("boundmass", 0.0),
        "boundinertia": element.number("boundinertia", 0.0),
        "balance": flag(element, "balanceinertia"),
        "settotalmass": element.number("settotalmass", 0.0),
    }


def _option(element: XmlElement | None, notes: ReaderNotes) -> dict[str, Any]:
    if element is None:
        return {}
    if element.word("actuatorgroupdisable", ""):
        element.refuse("actuatorgroupdisable", "actuators that act or are not there", "Remove it, and its actuators.")
    element.only(("gravity", "density", "viscosity", *OF_RUNS), ("flag",), once=False)
    for name in ("density", "viscosity"):
        if element.number(name, 0.0):
            element.refuse(f"{name}={element.word(name)!r}, of a fluid", f"{name} 0: bodies move in a vacuum", FLUID)
    off: set[str] = set()
    for inner in element.every("flag"):
        inner.only((*SWITCHES, *OTHER_FLAGS))
        for name, word in inner.attributes.items():
            if word not in ("enable", "disable"):
                inner.refuse(f"{name[:LONGEST]}={word[:LONGEST]!r}", "enable or disable", "Correct it.")
            if word == "disable":
                off |= {name, *IMPLIED.get(name, ())}
        notes.leave_others(inner, SWITCHES, ())
    notes.leave_others(element, ("gravity", "density", "viscosity"), ("flag",))
    gravity = element.numbers("gravity", 3, GRAVITY)
    return {"gravity": (0.0, 0.0, 0.0) if "gravity" in off else gravity, "off": frozenset(off)}
