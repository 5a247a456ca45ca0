"""What a mechanism on the workbench can do from where it stands: its motions to first order while somebody looks at
them, and singular poses along the travels of its joints, which are sought while the hand rests. NumPy only."""

from __future__ import annotations

import functools

import numpy as np

from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.viewer.motion.by_hand import BenchEngine, SingularPose
from shiftjax.viewer.motion.goal_session import GoalSession

ROUND = 2.0 * np.pi - 1e-9  # rad, of a joint that turns round
LEADERS = 4  # joints at most along whose travels singular poses are sought, 0.2 to 0.9 s each
SAME = 1e-6  # of a range: two marks are one


class VelocitySession(GoalSession):
    """Motions of a workbench by a thread; attributes as of `GoalSession`.

    Attributes:
        free_motions: from the last pose that was seen, while they are watched; else None. motions_problem: why they are
            not known, "" where they are, or are not watched.
        singular_places: coordinate -> where it stands within its range at singular poses, and what these are.
        dead_points: coordinate -> where it stands at dead points of others, and of which.
    """

    def __init__(self, engine: BenchEngine) -> None:
        self.free_motions: FreeMotions | None = None
        self.motions_problem = ""
        self.singular_places: dict[str, list[tuple[float, str]]] = {}
        self.dead_points: dict[str, list[tuple[float, str]]] = {}
        self._watched = False
        self._singular: tuple[Model | None, tuple[SingularPose, ...]] = None, ()
        super().__init__(engine)

    # -- called by the window ------------------------------------------------------------------------------------------

    def watch_motions(self, *, on: bool) -> None:
        """Whether the motions of each pose are to be known; a call that changes nothing costs nothing."""
        if on != self._watched:
            self._watched = on
            self._command("motions", self._find_motions)

    # -- run by the thread ---------------------------------------------------------------------------------------------

    def _find_motions(self) -> None:
        """Those of the present pose, where they are watched."""
        motions, problem = None, ""
        if self._watched and self.posing:
            try:
                motions = self._bench.free_motions()
            except ModelError as error:
                problem = str(error)
        self.free_motions, self.motions_problem = motions, problem

    def _publish_goals(self) -> None:
        super()._publish_goals()
        if self._singular[0] is not self._bench.drawn_model:
            self.singular_places = {}  # of the mechanism before; those of this one are sought next
        self._find_motions()

    def _find_singular(
        self, leading: tuple[str, ...], seen: tuple[SingularPose, ...] = (), begun: Model | None = None
    ) -> None:  # fmt: skip
        """Singular poses of a mechanism of one freedom, along the travel of one joint after the other; what is done by
        hand meanwhile comes first.

        Args:
            seen: along those before. begun: the model that these are of; of another one it is begun anew elsewhere.
        """
        model, rest = self._bench.drawn_model, leading[1:]
        if not self.posing or self._bench.held or (begun is not None and begun is not model):
            return
        try:
            seen = (*seen, *self._bench.singular_poses_of(leading[0])) if leading else seen
        except ModelError:  # none is led through from a pose that is singular itself: those that were known stay
            seen = (*seen, *(self._singular[1] if self._singular[0] is model else ()))
        if rest:
            self._command("singular", functools.partial(self._find_singular, rest, seen, model))
            return
        self._singular = model, seen
        self.singular_places = self._within_ranges(
            [(one.text, path, place) for one in seen for path, place in one.places.items()]
        )

    def _leading(self, dead: dict[str, bool]) -> tuple[str, ...]:
        """Coordinates along whose travels singular poses are sought: one that turns round meets all of them; else some.

        Args:
            dead: coordinate -> whether its travel ends at a dead point.
        """
        if self._bench.freedoms != 1:
            return ()
        units = self._bench.drawn_model.coordinate_units()
        for path, ends in dead.items():
            low, high = self.ranges.get(path, (0.0, 0.0))
            if units.get(path) == "rad" and not ends and high - low >= ROUND:
                return (path,)
        return tuple(dead)[:LEADERS]

    def _within_ranges(self, marks: list[tuple[str, str, float]]) -> dict[str, list[tuple[float, str]]]:
        """Coordinate -> places within its range, each once, and what they are; of (what, coordinate, place)."""
        units, out = self._bench.drawn_model.coordinate_units(), dict[str, list[tuple[float, str]]]()
        for what, path, place in marks:
            low, high = self.ranges.get(path, (np.inf, -np.inf))
            if units.get(path) == "rad" and np.isfinite([place, low]).all():
                place = low + np.remainder(place - low, 2.0 * np.pi)
            if low <= place <= high and not any(
                what == text and abs(place - other) <= SAME * (high - low) for other, text in out.get(path, ())
            ):
                out.setdefault(path, []).append((float(place), what))
        return out
