"""Members whose run ended early: when, and why."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.scene import Colour, Scene

GREY: Colour = (0.55, 0.55, 0.55, 1.0)  # of what stands still since its run has ended


@record
class Ended:
    """Where a member's run ended before its time."""

    member: int
    time: float  # [s]; the last stored instant is not after it
    message: str  # cause and remedy, "" where none is stored

    def title(self) -> str:
        return f"member {self.member} ended at {self.time:.4g} s"


def ended(study: StudyLike, member: int) -> Ended | None:
    """How a member's run ended early; None where it lasted as long as it should, or still runs."""
    last, end = float(study.time[-1]), study.end(member)
    if not end < last:
        return None
    steps, step = study.metrics.get("steps"), study.settings.get("step")
    chosen = study.settings.get("tolerance") is not None  # steps of any size
    if steps is not None and isinstance(step, float) and not chosen and np.isfinite(steps[member]):
        end = min(max(end, float(study.time[0]) + float(steps[member]) * step), last)
    return Ended(member, end, study.message(member))


def greyed(scene: Scene) -> dict[str, Colour]:
    """Path -> colour, of the bodies and joints of a member that stands still since its run has ended."""
    return {part.path: GREY for part in scene.parts if part.kind in ("body", "joint")}
