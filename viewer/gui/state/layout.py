"""The rectangles of the panes. Plain numbers."""

from __future__ import annotations

from shiftjax.record import record
from shiftjax.viewer.side_by_side import BAR

LEFT, RIGHT = 330.0, 320.0  # largest default width of the side panes [points]
SHARE = 0.27  # of the window's width, in a narrow one
STACKED, UPRIGHT = 760.0, 220.0  # width below and height above which both are one column [points]
COLUMN, OVER = 0.42, 0.4  # share of this column in the width, of the tree in its height
TIMELINE, STATUS = 66.0, 28.0
SMALLEST = 16.0  # smallest side of the view
LEAST = 40.0  # smallest size of a pane by dragging
ROOMY = (900.0, 540.0)  # least width and height of a window that begins with panes at both sides
STUDY_SHARE = 0.45  # of the study pane in the height over the time line
STUDY, STUDY_MOST = 270.0, 0.7  # height of it in a low window [points], largest share there
AXIS_LENGTH, AXIS_DISC = 34.0, 8.0  # of the axes in the corner: length of one, radius of the disc at its end [points]
VIEW_SHARE = 0.2  # smallest share of the view in the window's width and height


@record
class Box:
    """A rectangle, in points from the window's upper left."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, x: float, y: float) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height

    def overlaps(self, other: Box) -> bool:
        beside = self.x + self.width <= other.x or other.x + other.width <= self.x
        return not (beside or self.y + self.height <= other.y or other.y + other.height <= self.y)


@record
class Sizes:
    """Sizes of panes set by dragging their borders [points]; None for the default size."""

    tree: float | None = None
    properties: float | None = None
    study: float | None = None
    timeline: float | None = None


@record
class PaneLayout:
    """Every pane's rectangle."""

    tree: Box
    properties: Box
    study: Box
    timeline: Box
    status: Box
    view: Box


def halves(view: Box) -> tuple[Box, Box]:
    """The view in two, a bar between them."""
    width = max(float(int((view.width - BAR) / 2)), 1.0)
    right = view.x + width + BAR
    return Box(view.x, view.y, width, view.height), Box(
        right, view.y, max(view.x + view.width - right, 1.0), view.height
    )


def layout(width: float, height: float, menu: float, sizes: Sizes | None = None, *, panes: bool,
           sides: bool = True, zoom: float = 1.0, study: bool = False, rows: float = 0.0) -> PaneLayout:  # fmt: skip
    """The panes of a window of that size below a menu bar; without panes the view takes their place.

    In a window that is narrow, and high enough, the properties are below the tree.

    Args:
        sides: whether the panes at both sides are shown, too.
        zoom: scale of text.
        study: whether there is a study pane over the time line.
        rows: height of what is in the pane of the time line [points].
    """
    sizes = sizes or Sizes()
    bar = zoom * STATUS
    room, tall = (1 - VIEW_SHARE) * width, (1 - VIEW_SHARE) * (height - menu - bar)
    below = _within(sizes.timeline, max(zoom * TIMELINE, rows), tall) if panes else 0.0
    above = max(height - menu - bar - below, SMALLEST)
    lower = max(STUDY_SHARE * above, min(zoom * STUDY, STUDY_MOST * above))
    table = _within(sizes.study, lower, max(tall - below, 0.0)) if study else 0.0
    top, high = menu, max(above - table, SMALLEST)
    stacked = width < zoom * STACKED and high > zoom * UPRIGHT
    if stacked:
        left, right = _within(sizes.tree, min(zoom * LEFT, COLUMN * width), room), 0.0
    else:
        wanted = min(zoom * RIGHT, SHARE * width)
        least = wanted if sizes.properties is None else LEAST
        left = _within(sizes.tree, min(zoom * LEFT, SHARE * width), room - least)
        right = _within(sizes.properties, wanted, room - left)
    side = (left, right) if panes and sides else (0.0, 0.0)
    middle = max(width - sum(side), SMALLEST)
    tree = float(int(OVER * high)) if stacked else high
    return PaneLayout(
        tree=Box(0.0, top, side[0], tree),
        properties=Box(0.0, top + tree, side[0], high - tree) if stacked else Box(side[0] + middle, top, side[1], high),
        study=Box(0.0, top + high, width, table),
        timeline=Box(0.0, top + high + table, width, below),
        status=Box(0.0, top + high + table + below, width, bar),
        view=Box(side[0], top, middle, high),
    )


def roomy(width: float, height: float) -> bool:
    """Whether a window of that size begins with panes at both sides."""
    return width >= ROOMY[0] and height >= ROOMY[1]


def _within(wanted: float | None, otherwise: float, most: float) -> float:
    """A size set by the user, within bounds; else the default."""
    return otherwise if wanted is None else max(min(wanted, most), min(LEAST, otherwise))


def axes_side(view: Box, zoom: float) -> float:
    """How wide and high the axes are at the lower left of the view [points]; 0 where it has no room for them."""
    side = zoom * 2 * (AXIS_LENGTH + AXIS_DISC)
    return side if view.width >= 4 * side and view.height >= 3 * side else 0.0
