"""What stays where it is while a mechanism is posed, by names: coordinates, joints that turn any way, bodies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shiftjax.editing.elements import changed_lists
from shiftjax.editing.path_moves import PathMoves
from shiftjax.errors import ModelError, need
from shiftjax.joints import KINDS
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child, listed, matching
from shiftjax.mechanism.posing import locked_coordinates, pair_of, path_of
from shiftjax.mechanism.records import ORIGIN


class LockNames:
    """What of a model can be locked.

    A coordinate of one number goes by its path, a ball or a free joint by that of the joint, a body by its path, or by
    that of its origin where a joint has the same path.

    Attributes:
        names: of all that can be locked. stated: those that the model locks.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._joints = dict(model.joints())
        whole = {path: joint for path, joint in self._joints.items() if KINDS[joint.type].placed}
        self._turning = {path: pair_of(joint) for path, joint in whole.items() if KINDS[joint.type].primitives}
        self._several = {
            path: KINDS[joint.type].paths(path) for path, joint in self._joints.items() if path not in whole
        }
        coordinates = {one for paths in self._several.values() for one in paths}
        taken = coordinates | self._joints.keys()
        self._bodies = {path: child(path, ORIGIN) if path in taken else path for path, _ in model.bodies()}
        self.names = frozenset((*coordinates, *self._turning, *self._bodies.values()))
        stated = [
            path if path in self._turning else path_of(path, joint, name)
            for path, joint in self._joints.items()
            for name in locked_coordinates(joint)
        ]
        stated += [self._bodies[path] for path, body in model.bodies() if body.lock]
        self.stated = frozenset(stated)

    def named(self, given: str, where: str) -> tuple[str, ...]:
        """The names of what a path, or the end of one, means: of a joint of several coordinates all of them.

        Raises:
            ModelError: nothing that can be locked, or several elements.
        """
        need(where, given, str, "the path of a coordinate, a joint or a body")
        known = {**{name: (name,) for name in self.names}, **self._several}
        matches = matching(known, given)
        if len(matches) > 1:
            fault = f"{given}, of which there are {len(matches)}"
            raise ModelError(where, fault, listed(sorted(matches)), "Write the path in full.")
        return known[matches[0]] if matches else (plain_coordinate(self._model, given, where),)

    def after(self, names: Collection[str], moves: Sequence[PathMoves], now: LockNames) -> frozenset[str]:
        """Names in the model that this one became, also of what is not there any more.

        Args:
            now: what of that model can be locked.
        """
        bodies = {name: path for path, name in self._bodies.items()}
        out = set[str]()
        for name in names:
            path = bodies.get(name, name)
            for one in moves:
                path = one.carried_to(path)[0] if name in bodies else one.coordinate(path)
            out.add(now._bodies.get(path, path) if name in bodies else path)
        return frozenset(out)

    def pairs(self, names: Collection[str]) -> dict[str, tuple[str, str]]:
        """Name -> frame that stays, and the one in which it does; of those that are no coordinates."""
        every = {**self._turning, **{name: (path, "world") for path, name in self._bodies.items()}}
        return {name: every[name] for name in sorted(names) if name in every}

    def written(self, model: Model, names: Collection[str]) -> Model:
        """A model of the same bodies and joints that states these locks and no others."""

        def of(kind: str, path: str, item: object) -> object:
            if kind == "bodies" and path in self._bodies:
                return replace(item, lock=self._bodies[path] in names)  # type: ignore[type-var]
            if kind == "joints" and (path in self._turning or self._several.get(path)):
                return replace(item, lock=self._lock_of(path, names))  # type: ignore[type-var]
            return item

        return model if names == self.stated else changed_lists(model, of)

    def _lock_of(self, path: str, names: Collection[str]) -> bool | tuple[str, ...]:
        """What a joint says of its lock."""
        if path in self._turning:
            return path in names
        coordinates = [one.name for one in KINDS[self._joints[path].type].coordinates]
        locked = tuple(name for name, one in zip(coordinates, self._several[path], strict=True) if one in names)
        return len(locked) == len(coordinates) or locked or False
