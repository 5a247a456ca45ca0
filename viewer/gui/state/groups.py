"""Bodies and joints grouped by loop, substructure or assembly, with a colour for each group.

An item has the colour of the first group it belongs to. The base body of a loop belongs to its group only if no other
loop contains it: else all loops on a chassis would have one colour.
"""

from __future__ import annotations

from shiftjax.mechanism.records import FIXED
from shiftjax.record import record
from shiftjax.viewer.gui.state.values import Mechanism
from shiftjax.viewer.scene.palette import CATEGORIES, GREY
from shiftjax.viewer.scene.scene import Colour

BY = ("", "loop", "substructure", "assembly")  # "" for every body's own colour


@record
class ColourGroup:
    """Things of one colour."""

    name: str
    colour: Colour
    paths: tuple[str, ...]  # of bodies and joints


def groups(mechanism: Mechanism, by: str) -> tuple[ColourGroup, ...]:
    """The groups of a mechanism, disjoint; items of no group are in the last one, grey."""
    parts_of_groups = {"loop": _loops, "substructure": _substructures, "assembly": _assemblies}[by](mechanism)
    taken: set[str] = set()
    out: list[ColourGroup] = []
    for k, (name, paths) in enumerate(parts_of_groups.items()):
        ungrouped = tuple(path for path in dict.fromkeys(paths) if path not in taken and path != FIXED)
        taken |= set(ungrouped)
        out.append(ColourGroup(name, CATEGORIES[k % len(CATEGORIES)], ungrouped))
    rest = [*(path for path, _ in mechanism.model.bodies()), *mechanism.joints]
    out.append(ColourGroup(f"in no {by}", GREY, tuple(path for path in rest if path not in taken)))
    return tuple(group for group in out if group.paths)


def colours(mechanism: Mechanism, by: str) -> dict[str, Colour]:
    """Path -> colour; empty where bodies keep their own."""
    return {path: group.colour for group in groups(mechanism, by) for path in group.paths} if by else {}


def _loops(mechanism: Mechanism) -> dict[str, list[str]]:
    """Loop -> its joints and the bodies they carry, then its base."""
    plan = mechanism.plan
    loops = [(f"loop {group.name}", group.loop) for group in plan.constraints if group.loop is not None]
    paths_of_loop = {name: _carried(mechanism, loop.joints) for name, loop in loops}
    bases = {name: plan.nodes[loop.base].path for name, loop in loops}
    carried = {path for paths in paths_of_loop.values() for path in paths}
    return {name: [*paths, *([] if bases[name] in carried else [bases[name]])] for name, paths in paths_of_loop.items()}


def _substructures(mechanism: Mechanism) -> dict[str, list[str]]:
    """Substructure -> the joints of its loops and the bodies they carry."""
    plan = mechanism.plan
    return {
        f"substructure {k}": [path for g in block.groups for path in _carried(mechanism, plan.constraints[g].coupled)]
        for k, block in enumerate(plan.substructures)
    }


def _carried(mechanism: Mechanism, joints: tuple[int, ...]) -> list[str]:
    """Paths of joints and of the bodies on their far sides; a chord's far side is its real body."""
    plan = mechanism.plan
    return [path for k in joints for path in (plan.joints[k].path, plan.nodes[plan.joints[k].far].path)]


def _assemblies(mechanism: Mechanism) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for path in (*(path for path, _ in mechanism.model.bodies()), *mechanism.joints):
        out.setdefault(path.rpartition(":")[0], []).append(path)
    return out
