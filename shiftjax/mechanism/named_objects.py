"""What of a model has a name, and its path, in an order in which names do not count."""

from __future__ import annotations

from collections.abc import Iterator

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, ORIGIN, walk

LIST_OF = {  # what an element is -> its list of an assembly
    "body": "bodies", "joint": "joints", "restraint": "restraints", "force": "force_modules",
    "constraint": "constraints", "driver": "drivers",
}  # fmt: skip
SECTION_OF = {  # what else has a name -> where the model has it
    "parameter": "parameters", "point": "points", "event": "events", "light": "lights", "terrain": "terrain",
    "sublinkage": "sublinkages",
}  # fmt: skip
NAMEABLE = ("assembly", "frame", *LIST_OF, *SECTION_OF)


def named_objects(model: Model) -> Iterator[tuple[str, str]]:
    """What each named object of a model is, one of `NAMEABLE`, and its path, switched off or not. An event goes by
    `events.NAME`, as a parameter does by `parameters.NAME`.
    """
    yield from (("frame", child(FIXED, frame.name)) for frame in model.frames)
    for path, assembly, _ in walk(model.assemblies):
        yield "assembly", path
        for what, several in LIST_OF.items():
            yield from ((what, child(path, item.name)) for item in getattr(assembly, several))
        for body in assembly.bodies:
            names = (ORIGIN, *(frame.name for frame in body.frames))
            yield from (("frame", child(child(path, body.name), name)) for name in names)
    for what, section in SECTION_OF.items():
        items = getattr(model, section)
        yield from ((what, f"{section}.{name}") for name in (items if what == "event" else [one.name for one in items]))


def renamed_paths(before: Model, after: Model) -> dict[str, str]:
    """Path -> path now of what differs by its name alone; {} where two models do not have the same objects in the same
    order."""
    both = [*named_objects(before)], [*named_objects(after)]
    if [what for what, _ in both[0]] != [what for what, _ in both[1]]:
        return {}
    return {old: new for (_, old), (_, new) in zip(*both, strict=True) if old != new}
