"""Display classes: what is drawn and pickable, with inheritance of settings. Plain Python.

A class without a setting inherits that of its parent. Drawing is "visible", "hidden" or "translucent".
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
    "spring": "entity",
    "light": "entity",
    "frame": "entity",
    "centre": "entity",
    "widget": "entity",
    "shape": "widget",
    "route": "widget",
    "glyph": "widget",
    "force": "widget",
    "name": "widget",
    "screw": "widget",
    "ellipsoid": "widget",
}
DRAWN = ("visible", "hidden", "translucent")
OFF = ("frame", "centre", "route", "glyph", "force", "name", "screw", "ellipsoid")  # by default


class Display:
    """Settings of every class."""

    def __init__(self) -> None:
        self._draw: dict[str, str] = {"entity": "visible"} | dict.fromkeys(OFF, "hidden")
        self._pick: dict[str, bool] = {"entity": True, "widget": False}

    def drawn(self, name: str) -> str:
        """How a class is drawn: its setting or that of the nearest ancestor."""
        return self._draw[self._source(name, self._draw)]

    def setting(self, name: str) -> str:
        """The setting of a class itself; "" if it inherits."""
        return self._draw.get(name, "")

    def pickable(self, name: str) -> bool:
        """Whether items of a class can be picked; hidden ones cannot."""
        return self.drawn(name) != "hidden" and self.picks(name)

    def picks(self, name: str) -> bool:
        """Whether items of a class can be picked while they are visible."""
        return self._pick[self._source(name, self._pick)]

    def set(self, name: str, *, draw: str | None = None, pick: bool | None = None) -> None:
        """Changes the settings of a class; ModelError for an unknown class or setting."""
        one_of("display class", name, PARENT)
        if draw is not None:
            one_of(f"drawing of {name}", draw, DRAWN)
            self._draw[name] = draw
        if pick is not None:
            self._pick[name] = pick

    def toggle(self, name: str) -> None:
        """Shows a class where it is hidden, else hides it."""
        self.set(name, draw="visible" if self.drawn(name) == "hidden" else "hidden")

    def inherit(self, name: str) -> None:
        """Removes the settings of a class, except of the root."""
        one_of("display class", name, PARENT)
        if PARENT[name]:
            self._draw.pop(name, None)
            self._pick.pop(name, None)

    def settings(self) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, bool]]]:
        """All settings, as `restore` takes them."""
        return frozenset(self._draw.items()), frozenset(self._pick.items())

    def restore(self, settings: tuple[frozenset[tuple[str, str]], frozenset[tuple[str, bool]]]) -> None:
        """All settings as they were."""
        self._draw, self._pick = dict(settings[0]), dict(settings[1])

    def dump(self) -> str:
        """All classes with their settings, inherited ones in brackets, as text."""
        lines = []
        for name in PARENT:
            depth, above = 0, PARENT[name]
            while above:
                depth, above = depth + 1, PARENT[above]
            drawn = self.drawn(name) if name in self._draw else f"({self.drawn(name)})"
            picked = "pickable" if self.picks(name) else "not pickable"
            lines.append(f"{'  ' * depth + name:<18} {drawn:<12} {picked if name in self._pick else f'({picked})'}")
        return "\n".join(lines)

    def _source(self, name: str, settings: dict[str, str] | dict[str, bool]) -> str:
        one_of("display class", name, PARENT)
        while name not in settings:
            name = PARENT[name]
        return name
