"""A reader of .loops files, a small dialect of URDF with closed loops.

Links with inertials, joints that turn, slide or are fixed. The root link is
ground. The package reads URDF itself (`shiftjax.formats.robots.urdf`).

URDF is a tree; a loop is closed by an element of this reader's own beside the
joints, with a place in either link:
`<loop name="knee" type="revolute"><parent link="a" xyz="1 0 0"/>
<child link="b"/><axis xyz="0 1 0"/></loop>`.
Limits, shapes and transmissions are left out, with a warning.
"""

import math
from xml.etree import ElementTree

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats import READERS

TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "rigid",
}
READ = {
    "link",
    "joint",
    "loop",
    "inertial",
    "origin",
    "parent",
    "child",
    "axis",
    "mass",
    "inertia",
    "robot",
}


def numbers(element, key, default="0 0 0"):
    return [
        float(x)
        for x in (
            default if element is None else element.get(key, default)
        ).split()
    ]


def placed(element):
    """T and R of an `origin`: roll, pitch, yaw about the fixed axes x, y, z."""
    (cr, cp, cy), (sr, sp, sy) = (
        [f(x) for x in numbers(element, "rpy")] for f in (math.cos, math.sin)
    )
    R = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return {"T": numbers(element, "xyz"), "R": R}


def body(link):
    out = {
        "name": link.get("name"),
        "inertia": {},
        "center_of_mass": [0.0, 0.0, 0.0],
        "frames": [],
    }
    if (inertial := link.find("inertial")) is not None:
        place, entries = (
            placed(inertial.find("origin")),
            inertial.find("inertia").attrib,
        )
        xx, xy, xz, yy, yz, zz = (
            float(entries[k])
            for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        R = np.array(place["R"])
        I = R @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ R.T  # noqa: E741
        places = {
            "Ixx": (0, 0),
            "Iyy": (1, 1),
            "Izz": (2, 2),
            "Ixy": (0, 1),
            "Iyz": (1, 2),
            "Izx": (2, 0),
        }
        out["inertia"] = {
            "mass": float(inertial.findall("mass")[0].get("value"))
        } | {k: float(I[at]) for k, at in places.items()}
        out["center_of_mass"] = place["T"]
    return out


def read(text, name):
    """The document of such a text, and what it leaves out."""
    try:
        robot = ElementTree.fromstring(text)
        bodies, ground, joints = (
            {link.get("name"): body(link) for link in robot.iter("link")},
            [],
            [],
        )
        root = (
            set(bodies)
            - {child.get("link") for child in robot.iterfind("joint/child")}
        ).pop()
        del bodies[root]
        for joint in (*robot.iter("joint"), *robot.iter("loop")):
            entry, loop = (
                {
                    "name": joint.get("name"),
                    "type": TYPES[joint.get("type", "")],
                },
                joint.tag == "loop",
            )
            for end in ("parent", "child"):
                (at,) = joint.findall(end)
                of, link = at if loop else joint.find("origin"), at.get("link")
                frame = {
                    "name": joint.get("name"),
                    **placed(of if loop or end == "parent" else None),
                }
                (ground if link == root else bodies[link]["frames"]).append(
                    frame
                )
                entry[end] = [
                    ["fixed" if link == root else link],
                    frame["name"],
                ]
            entry |= (
                {"axis": numbers(joint.find("axis"), "xyz", "1 0 0")}
                if entry["type"] != "rigid"
                else {}
            )
            joints.append(entry)
    except (
        ElementTree.ParseError,
        KeyError,
        IndexError,
        AttributeError,
        ValueError,
    ) as error:
        raise ModelError(
            name,
            f"{type(error).__name__}: {error}",
            "links, joints and loops of URDF",
            "Correct it.",
        ) from error
    left_out = sorted({element.tag for element in robot.iter()} - READ)
    parameters = {"version": "2.0", "gravity": [0.0, 0.0, -9.81]}
    assembly = {
        "name": robot.get("name", "robot"),
        "bodies": [*bodies.values()],
        "joints": joints,
    }
    return (
        {
            "model_parameters": parameters,
            "frames": ground,
            "assemblies": [assembly],
        },
        [f"{name}: left out: {', '.join(left_out)}"] * bool(left_out),
    )


READERS[".loops"] = read
