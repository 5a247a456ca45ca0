"""SDFormat texts for tests, written from the format's documentation."""

from __future__ import annotations

from shiftjax.formats.builder import Numbers
from tests.support.models.urdf_text import words

REST = "0 0 0 0 0 0"


def sdf(*elements: str, version: str = "1.11") -> str:
    return f'<?xml version="1.0"?>\n<sdf version="{version}">\n' + "\n".join(elements) + "\n</sdf>\n"


def model(*elements: str, name: str = "m", more: str = "", attributes: str = "") -> str:
    return f'<model name="{name}"{attributes}>{more}\n' + "\n".join(elements) + "\n</model>"


def world(*elements: str, gravity: str = "<gravity>0 0 -9.81</gravity>") -> str:
    return f'<world name="w">{gravity}\n' + "\n".join(elements) + "\n</world>"


def pose(numbers: Numbers | str, relative_to: str = "", attributes: str = "") -> str:
    text = numbers if isinstance(numbers, str) else words(numbers)
    frame = f' relative_to="{relative_to}"' if relative_to else ""
    return f"<pose{frame}{attributes}>{text}</pose>"


def link(name: str, place: str = "", mass: float | None = None, at: Numbers = (0,) * 6, inertia: Numbers = (1, 1, 1),
         inside: str = "") -> str:  # fmt: skip
    """`place` is a pose; `inertia` is xx, yy, zz and perhaps xy, yz, xz."""
    inertial = ""
    if mass is not None:
        keys = ("ixx", "iyy", "izz", "ixy", "iyz", "ixz")
        entries = "".join(f"<{key}>{float(x)!r}</{key}>" for key, x in zip(keys, inertia, strict=False))
        inertial = f"<inertial>{pose(at)}<mass>{mass!r}</mass><inertia>{entries}</inertia></inertial>"
    return f'<link name="{name}">{place}{inertial}{inside}</link>'


def axis(xyz: Numbers = (0, 0, 1), inside: str = "", tag: str = "axis", expressed_in: str = "") -> str:
    frame = f' expressed_in="{expressed_in}"' if expressed_in else ""
    return f"<{tag}><xyz{frame}>{words(xyz)}</xyz>{inside}</{tag}>"


def joint(
    name: str, parent: str, child: str, type: str = "revolute", inside: str | None = None, place: str = ""
) -> str:
    inside = axis() if inside is None else inside
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{type}">{place}{ends}{inside}</joint>'
