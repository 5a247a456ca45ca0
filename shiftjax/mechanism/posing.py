"""What a model states of posing: limits, locks, targets and postures. No run reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from shiftjax.joints import KINDS
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.records import Body, Joint, Limits, Placement, WantedValue
from shiftjax.record import record

OF_COORDINATES = ("limits", "target", "posture")  # fields of a joint
OF_JOINTS = ("limits", "lock", "target", "posture")


class PosedContents(Protocol):
    """What of a model is posed: its active bodies and joints by path."""

    def bodies(self) -> Iterator[tuple[str, Body]]: ...

    def joints(self) -> Iterator[tuple[str, Joint]]: ...


def of_coordinates(joint: Joint, key: str) -> dict[str, Any]:
    """Name of a coordinate -> what a joint states of it under a key of `OF_COORDINATES`."""
    stated = getattr(joint, key)
    if isinstance(stated, FrozenJson):
        return dict(stated)
    return {KINDS[joint.type].coordinates[0].name: stated} if stated is not None else {}


def with_coordinate(joint: Joint, key: str, name: str, value: Any) -> Any:
    """The value of such a key of the joint in which one coordinate has another; None takes its own away."""
    kind = KINDS[joint.type]
    if kind.sole:
        return value
    stated = {**of_coordinates(joint, key), name: value}
    order = [one.name for one in kind.coordinates]
    return FrozenJson({one: stated[one] for one in order if stated.get(one) is not None}) or None


def locked_coordinates(joint: Joint) -> tuple[str, ...]:
    """Names of the coordinates that a joint locks."""
    if isinstance(joint.lock, tuple):
        return joint.lock
    return tuple(one.name for one in KINDS[joint.type].coordinates) if joint.lock else ()


def pair_of(joint: Joint) -> tuple[str, str]:
    """The two frames of a joint, its child's first."""
    return joint.child.path, joint.parent.path


def limits_in(model: PosedContents) -> Iterator[tuple[str, str, Limits]]:
    """Path of a coordinate, that of the numbers of its ends without their index, and its ends."""
    for path, joint in model.joints():
        for name, ends in of_coordinates(joint, "limits").items():
            yield path_of(path, joint, name), _path_of_numbers(path, joint, "limits", name), ends


def wanted_in(model: PosedContents) -> Iterator[tuple[str, str, str, WantedValue]]:
    """Path of a coordinate, "target" or "posture", the path of its number, and what is wanted of it."""
    for path, joint in model.joints():
        for key in ("target", "posture"):
            for name, wanted in of_coordinates(joint, key).items():
                number = f"{_path_of_numbers(path, joint, key, name)}.value"
                yield path_of(path, joint, name), key, number, wanted


def path_of(path: str, joint: Joint, name: str) -> str:
    """The path of a coordinate of a joint."""
    kind = KINDS[joint.type]
    return kind.path_of(path, [one.name for one in kind.coordinates].index(name))


def _path_of_numbers(path: str, joint: Joint, key: str, name: str) -> str:
    return f"{path}.{key}" if KINDS[joint.type].sole else f"{path}.{key}.{name}"


def starts_beyond(joint: Joint) -> str:
    """Which coordinates state a start beyond their limits, a sentence; "" where none does."""
    start, out = joint.initial_displacement, []
    for name, (low, high) in of_coordinates(joint, "limits").items():
        assert not isinstance(start, Placement)
        at = start[name] if isinstance(start, FrozenJson) else start
        least, most = (-float("inf") if low is None else low), (float("inf") if high is None else high)
        if joint.states("initial_displacement", name) and not least <= at <= most:
            unit = next(one.unit for one in KINDS[joint.type].coordinates if one.name == name)
            out.append(f"{name if isinstance(start, FrozenJson) else 'it'} starts at {at:.6g} {unit}")
    return f"{' and '.join(out)}, beyond its limits; runs begin there, posing leads it back" if out else ""


def unread_by_runs(model: PosedContents) -> tuple[str, ...]:
    """What a file states of posing alone, a sentence; none where it states nothing."""
    keys, paths = dict[str, None](), list[str]()
    for path, joint in model.joints():
        stated = [key for key in OF_JOINTS if getattr(joint, key)]
        keys |= dict.fromkeys(stated)
        paths += [path] if stated else []
    locked = [path for path, body in model.bodies() if body.lock]
    keys |= dict.fromkeys(["lock"] if locked else [])
    if not keys:
        return ()
    words = " and ".join([", ".join([*keys][:-1]), [*keys][-1]]) if len(keys) > 1 else next(iter(keys))
    force = "; the force of a run is a stop" if "limits" in keys else ""
    return (f"{words} of {listed([*paths, *locked])}: for posing, no run reads them{force}",)


@record
class PosedElement:
    """What a model states of posing of a coordinate, a joint that turns any way, or a body.

    Attributes:
        limits: of a coordinate [rad or m], None where there is no end. target, posture: None where there is none.
    """

    path: str
    lock: bool
    unit: str = ""
    limits: Limits = (None, None)
    target: WantedValue | None = None
    posture: WantedValue | None = None


def posed_in(model: PosedContents) -> Iterator[PosedElement]:
    """All of which a model states something of posing, bodies last."""
    for path, joint in model.joints():
        if KINDS[joint.type].placed and joint.lock:
            yield PosedElement(path, True)
            continue
        locked, (limits, target, posture) = (
            locked_coordinates(joint),
            (of_coordinates(joint, k) for k in OF_COORDINATES),
        )
        for one in KINDS[joint.type].coordinates:
            if one.name in {*locked, *limits, *target, *posture}:
                yield PosedElement(
                    path_of(path, joint, one.name), one.name in locked, one.unit, limits.get(one.name, (None, None)),
                    target.get(one.name), posture.get(one.name),
                )  # fmt: skip
    yield from (PosedElement(path, True) for path, body in model.bodies() if body.lock)


def virtual_in(model: PosedContents) -> tuple[str, ...]:
    """Paths of bodies and joints that are virtual."""
    return tuple(path for items in (model.bodies(), model.joints()) for path, item in items if item.virtual)
