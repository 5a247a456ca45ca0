"""What the study pane shows: columns, axes, an order, an expression, the members selected. No GL, no GUI library.

All members an expression chooses are *shown*; those brushed in a plot or clicked in the table are *selected*, in all
tabs at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.outcome import Outcome
from shiftjax.viewer.gui.state.study.brush_boxes import Drag
from shiftjax.viewer.gui.state.study.front import Front
from shiftjax.viewer.members import completing
from shiftjax.viewer.members.brush import Brush, alike, brushes_of, name_of, text_of, within
from shiftjax.viewer.members.distributions import spread
from shiftjax.viewer.members.ghost_choice import MOST_GHOSTS
from shiftjax.viewer.members.member_numbers import MemberNumbers
from shiftjax.viewer.members.member_sets import SHOWN, MemberSet
from shiftjax.viewer.members.member_table import MEMBER, STATUS, MemberTable
from shiftjax.viewer.members.query import FRONT

TABS = ("table", "scatter", "parallel", "histogram", "why", "designs")
COMBINATIONS = ("replace", "add", "within")  # of what is brushed with what was selected before
OF_DESIGN, OF_METRICS, OF_CERTIFICATE = 4, 4, 2  # columns shown at first
CACHED = 48  # results of the tabs


class Explorer:
    """State of the study pane.

    Attributes:
        table: the columns of the study; shown_on: whether the pane is open; tab: one of TABS.
        columns: of the table; sort, falling: by which it is ordered, and in which sense; first: row in sight.
        x, y, colour: of the scatter plot, `colour` "" for one colour; bars: of the histogram; axes: parallel ones.
        expression: of the members shown; typed: in its text box; wrong: why what was typed cannot be read.
        shown, selected: (members,) bool; change them by `filter`, `select` and `set_brushes`.
        brushes: what is selected by them, clicked: (members,) bool, what is selected otherwise; both together are
            `selected`, of those shown. brush_typed, brush_wrong: as `typed` and `wrong`, of the brushes.
        revision: grows with every change of these two.
        note: how many of the selected members are ghosts.
        sets: members kept under names, which expressions may use; change them by `put_sets`. set_typed: in the box
            of a name.
        front: what of the members shown no other one beats, in which metrics.
        cells: members of the grid in the view, empty while there is one view; hovered: the one under the cursor.
        file: typed name of a view's file.
    """

    def __init__(self, study: MemberNumbers) -> None:
        self.study, self.table = study, MemberTable(study)
        self.shown_on, self.tab = False, TABS[0]
        design, metrics = list(study.design), list(study.metrics)
        self.columns = [MEMBER, STATUS, *design[:OF_DESIGN], *metrics[: OF_METRICS + OF_CERTIFICATE]]
        self.sort, self.falling, self.first = MEMBER, False, 0
        first = (*design, *metrics, MEMBER)[0]
        self.x, self.y, self.colour = first, (*metrics, STATUS)[0], ""
        self.bars, self.axes = self.y, [*design[:OF_DESIGN], *metrics[:2]] or [MEMBER, STATUS]
        self.expression, self.typed, self.wrong, self.note, self.file = "", "", "", "", ""
        self.shown, self.selected = np.ones(self.table.rows, bool), np.zeros(self.table.rows, bool)
        self.brushes: tuple[Brush, ...] = ()
        self.clicked = np.zeros(self.table.rows, bool)
        self.brush_typed, self.brush_wrong = "", ""
        self.sets: tuple[MemberSet, ...] = ()
        self.set_typed = ""
        self.revision = 0
        self.drag: Drag | None = None
        self.limits: dict[str, tuple[float, float, float, float]] = {}  # plot -> x from, to, y from, to
        self.fit = True  # whether the axes of all plots fit what is shown, in the next frame
        self.switch_to = TABS[0]  # the tab to open, once
        self.front = Front()
        self.cells: tuple[int, ...] = ()
        self.hovered: int | None = None
        self._known: dict[str, tuple[Any, Any]] = {}
        self._short = short_names(self.table.names)
        self.name_of = functools.cache(lambda column: name_of(column, self.table, self.short(column)))

    def short(self, name: str) -> str:
        """The end of a column's name that no other column has."""
        return self._short[name]

    def names(self) -> list[str]:
        """What an expression may name: sets of members, and columns."""
        return [*(one.name for one in self.sets), *self.table.names]

    @functools.cached_property
    def examples(self) -> list[tuple[str, int]]:
        """Choices that work in this study, with how many members they mean."""
        return completing.examples(self.table)

    # -- what is shown -----------------------------------------------------------------------------------------------

    def open_tab(self, name: str) -> None:
        """Opens a tab, in the next frame."""
        one_of("tab", name, TABS)
        self.tab = self.switch_to = name

    def filter(self, text: str) -> bool:
        """Shows the members an expression chooses; False with a reason in `wrong` where it cannot be read."""
        try:
            self.shown = self.table.mask(text)
        except ModelError as error:
            self.wrong = str(error)
            return False
        self.expression, self.typed, self.wrong, self.first = text.strip(), text, "", 0
        self.set_brushes(self.brushes)
        return True

    def sort_by(self, name: str, *, falling: bool | None = None) -> None:
        """Orders the table by a column; the same column again turns the order round."""
        one_of("column", name, self.table.names)
        self.falling = (name == self.sort and not self.falling) if falling is None else falling
        self.sort, self.first = name, 0

    def rows(self) -> np.ndarray:
        """(k,) the members shown, in the order of the table."""

        def made() -> np.ndarray:
            order = self.table.order(self.sort, falling=self.falling)
            return order[self.shown[order]]

        return self.cached("rows", (self.sort, self.falling, self.revision), made)

    def counts(self) -> tuple[int, int]:
        """How many members are shown, and how many selected."""
        return self.cached("counts", self.revision, lambda: (int(self.shown.sum()), int(self.selected.sum())))

    def cached(self, name: str, key: Any, make: Callable[[], Any]) -> Any:
        """A result of a tab, made again when its key changes."""
        if name not in self._known or self._known[name][0] != key:
            self._known.pop(name, None)
            self._known[name] = (key, make())
            while len(self._known) > CACHED:
                self._known.pop(next(iter(self._known)))
        return self._known[name][1]

    # -- what is selected --------------------------------------------------------------------------------------------

    def select(self, mask: np.ndarray, how: str = COMBINATIONS[0]) -> None:
        """Selects members (members,) bool of those shown: these alone, these too, or those of the selection in it."""
        one_of("selection", how, COMBINATIONS)
        brushes = self.brushes if how == "add" else ()
        self.clicked = (mask & self.shown) | self.clicked if how == "add" else mask & self.shown
        if how == "within":
            self.clicked = self.clicked & self.selected
        self.set_brushes(brushes)

    def brush(self, new: Brush, how: str = COMBINATIONS[0]) -> None:
        """Selects what a brush means: this alone, this too, or what of the selection is in it."""
        one_of("selection", how, COMBINATIONS)
        if how == "replace":
            self.clicked = np.zeros(self.table.rows, bool)
        elif how == "within":
            self.clicked = self.clicked & new.mask(self.table)
            inner = [within(brush, new) for brush in self.brushes]
            self.set_brushes([brush for brush in inner if brush is not None])
            return
        self.set_brushes([*self.brushes, new] if how == "add" else [new])

    def set_brushes(self, brushes: Sequence[Brush]) -> None:
        """Selects what was clicked and what these brushes mean, of those shown. ModelError for a query that cannot be
        read."""
        mask = self.clicked.copy()
        for brush in brushes:
            mask |= brush.mask(self.table)
        if not alike(brushes, self.brushes):
            self.brush_typed, self.brush_wrong = text_of(brushes, self.name_of), ""
        self.brushes, self.selected = tuple(brushes), mask & self.shown
        self.revision += 1

    def type_brushes(self, text: str) -> bool:
        """Selects what an expression means; False with a reason in `brush_wrong` where it cannot be read."""
        try:
            brushes = brushes_of(text, self.table)
        except ModelError as error:
            self.brush_wrong = str(error)
            return False
        self.clicked, self.brush_wrong = np.zeros(self.table.rows, bool), ""
        self.set_brushes(brushes)
        return True

    def ghosts(self) -> tuple[np.ndarray, str]:
        """(k,) members of the selection to draw, at most `MOST_GHOSTS`, and a note on how many they are.

        Those with trajectories, spread over what the scatter plot shows.
        """
        chosen = np.flatnonzero(self.selected)
        have = np.union1d(self.study.kept, self.study.simulated)
        with_poses = have[self.selected[have]]
        few = self.few_of(with_poses)
        if not len(chosen):
            return few, ""
        stored = f"{len(with_poses):,} of {len(chosen):,} selected have trajectories"
        if not len(with_poses):
            return few, f"none of {len(chosen):,} selected has a trajectory"
        return few, stored + (f"; {len(few)}, spread over them, are drawn" if len(few) < len(with_poses) else "")

    def few_of(self, members: np.ndarray) -> np.ndarray:
        """(<= MOST_GHOSTS,) of (k,) members, spread over what the scatter plot shows."""
        if not len(members):
            return members
        points = np.stack([self.table.column(name)[members].astype(float) for name in self.plotted()], axis=1)
        return members[spread(points, MOST_GHOSTS)]

    def plotted(self) -> list[str]:
        """The columns of the scatter plot."""
        return list(dict.fromkeys([self.x, self.y, *([self.colour] if self.colour else [])]))

    def numbers(self, name: str) -> np.ndarray:
        """(k,) numbers of the members shown."""
        return self.cached(f"numbers:{name}", self.revision, lambda: self.table.column(name)[self.shown].astype(float))

    def mark(self) -> np.ndarray:
        """(k,) bool, which of the members shown are selected."""
        return self.cached("mark", self.revision, lambda: self.selected[self.shown])

    def members(self) -> np.ndarray:
        """(k,) the members shown, rising."""
        return self.cached("members", self.revision, lambda: np.flatnonzero(self.shown))

    def left_out(self, names: Sequence[str]) -> str:
        """How many of the members shown have no number in one of some columns, and how they ended; "" for none.

        Args:
            names: of the columns that a plot shows.
        """

        def made() -> str:
            numbers = {name: np.isfinite(self.numbers(name)) for name in dict.fromkeys(names)}
            without = ~np.logical_and.reduce(list(numbers.values()))
            if not without.any():
                return ""
            where = ", ".join(self.short(name) for name, finite in numbers.items() if not finite.all())
            ended = np.unique(np.asarray(self.study.status)[self.shown][without], return_counts=True)
            causes = sorted(zip(*(a.tolist() for a in ended), strict=True), key=lambda pair: -pair[1])
            words = ", ".join(f"{count:,} {Outcome(status).name}" for status, count in causes)
            return f"{int(without.sum()):,} of {len(without):,} left out, no number in {where}: {words}"

        return self.cached(f"left out {tuple(names)}", self.revision, made)

    def set_axes(self, names: Sequence[str]) -> None:
        """The parallel axes, two at least."""
        self.axes = list(names) if len(names) > 1 else self.axes

    # -- sets and the front --------------------------------------------------------------------------------------------

    def put_sets(self, sets: Sequence[MemberSet]) -> str:
        """These sets and no others; what was lost with those that are gone, "" for nothing."""
        self.sets, self.table.sets = tuple(sets), {one.name: one.mask for one in sets}
        lost, before = [], self.selected
        try:
            self.shown = self.table.mask(self.expression)
        except ModelError:
            self.shown, self.expression, self.typed = np.ones(self.table.rows, bool), "", ""
            lost.append("all members are shown")
        try:
            self.set_brushes(self.brushes)
        except ModelError:
            self.clicked = before
            self.set_brushes(())
            lost.append("what was selected is so without its expression")
        if self.front.text and not self.type_front(self.front.text):
            self.type_front("")
            lost.append("the front is that of both axes")
        return ", ".join(lost)

    def selection_in_words(self) -> str:
        """What the selected members were selected by, "" where that has no words."""
        if self.clicked.any() or not self.brush_typed:
            return ""
        return f"({self.brush_typed}) and ({self.expression})" if self.expression else self.brush_typed

    def objectives(self) -> str:
        """What the front is of, in words: what was typed, else both axes of the scatter plot."""
        return self.front.text or ", ".join(self.name_of(name) for name in dict.fromkeys((self.x, self.y)))

    def type_front(self, text: str) -> bool:
        """Marks the front of these metrics, separated by commas; False with a reason in `front.wrong` where they cannot
        be read."""
        front = self.front
        try:
            if text.strip():
                self.table.mask(f"{FRONT}({text})")
        except ModelError as error:
            front.wrong = str(error)
            return False
        front.text, front.typed, front.wrong = text.strip(), text.strip(), ""
        return True

    def front_mask(self) -> np.ndarray:
        """(members,) bool, those shown that no other one shown beats."""
        text = f"{FRONT}({self.objectives()})"
        return self.cached(
            "front", (text, self.revision), lambda: self.table.mask(f"{text} of {SHOWN}", {SHOWN: self.shown})
        )


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Paths -> their shortest ends, of whole parts between colons, that belong to one of them alone."""
    short_of = {}
    for name in names:
        parts = name.split(":")
        ends = (":".join(parts[k:]) for k in range(len(parts) - 1, -1, -1))
        short_of[name] = next((end for end in ends if sum(n == end or n.endswith(f":{end}") for n in names) == 1), name)
    return short_of
