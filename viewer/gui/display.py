"""Which classes of things are drawn and can be picked: settings inherited from class to class. Plain Python.

A class without a setting of its own takes its parent's. Drawing is "visible", "hidden" or "masked" (see-through).
"""

from __future__ import annotations

from shiftjax.errors import one_of

PARENT = {
    "entity": "",
    "link": "entity",
    "ground": "link",
    "joint": "entity",
    "tree joint": "joint",
    "closure joint": "joint",
    "root closure": "closure joint",
    "frame": "entity",
    "centre": "entity",
    "widget": "entity",
    "shape": "widget",
    "route": "widget",
    "glyph": "widget",
    "force": "widget",
    "name": "widget",
}
DRAWN = ("visible", "hidden", "masked")
OFF = ("frame", "centre", "route", "glyph", "force", "name")  # until they are asked for


class Display:
    """Settings of every class."""

    def __init__(self) -> None:
        self._draw: dict[str, str] = {"entity": "visible"} | dict.fromkeys(OFF, "hidden")
        self._pick: dict[str, bool] = {"entity": True, "widget": False}

    def drawn(self, name: str) -> str:
        """How a class is drawn: its own setting or the nearest one above."""
        return self._draw[self._holder(name, self._draw)]

    def own(self, name: str) -> str:
        """How a class is drawn by a setting of its own; "" where it inherits."""
        return self._draw.get(name, "")

    def pickable(self, name: str) -> bool:
        """Whether things of a class can be picked; what is hidden cannot."""
        return self.drawn(name) != "hidden" and self.picks(name)

    def picks(self, name: str) -> bool:
        """Whether things of a class can be picked while they are drawn."""
        return self._pick[self._holder(name, self._pick)]

    def set(self, name: str, *, draw: str | None = None, pick: bool | None = None) -> None:
        """Gives a class settings of its own; ModelError for a class or word that is none."""
        one_of("class of things", name, PARENT)
        if draw is not None:
            one_of(f"drawing of {name}", draw, DRAWN)
            self._draw[name] = draw
        if pick is not None:
            self._pick[name] = pick

    def inherit(self, name: str) -> None:
        """Takes a class's own settings away; the root keeps its own."""
        one_of("class of things", name, PARENT)
        if PARENT[name]:
            self._draw.pop(name, None)
            self._pick.pop(name, None)

    def dump(self) -> str:
        """All classes with their settings, inherited ones in brackets, as text."""
        lines = []
        for name in PARENT:
            depth, above = 0, PARENT[name]
            while above:
                depth, above = depth + 1, PARENT[above]
            drawn = self.drawn(name) if name in self._draw else f"({self.drawn(name)})"
            picked = "pickable" if self.picks(name) else "not pickable"
            lines.append(f"{'  ' * depth + name:<18} {drawn:<10} {picked if name in self._pick else f'({picked})'}")
        return "\n".join(lines)

    def _holder(self, name: str, settings: dict[str, str] | dict[str, bool]) -> str:
        one_of("class of things", name, PARENT)
        while name not in settings:
            name = PARENT[name]
        return name
