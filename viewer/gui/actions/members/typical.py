"""Members that stand for all shown, as ghosts: those nearest to the 5 %, 50 % and 95 % of a metric, or of a curve.

No GL, no GUI library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.viewer.gui.actions.members.grid import metric_of
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.typical import Typical, nearest_to_quantiles, share_words


def of_metric(state: WindowState) -> None:
    """Of the metric that colours ghosts, or that of the scatter plot: the median member is shown, the others are its
    ghosts. They are of those selected, else of those shown, without those that failed."""
    explorer = state.explorer
    name = metric_of(state)
    which = "selected" if explorer.counts()[1] else "shown"
    group = explorer.selected if which == "selected" else explorer.shown
    members = np.flatnonzero(group & (np.asarray(state.study.status) <= 0))
    typical = nearest_to_quantiles(explorer.table.column(name), members)
    if not typical:
        state.say(f"Nobody of those {which} finished with a number in {name}.")
        return
    unit = explorer.table.unit(name)
    words = ", ".join(
        f"{share_words(one.share)} member {one.member} ({one.value:.5g}, the quantile is {one.quantile:.5g})"
        for one in typical
    )
    show(state, typical, f"{explorer.short(name)}{f' [{unit}]' if unit else ''} of {len(members):,} {which}: {words}")


def of_curve(state: WindowState, typical: Sequence[Typical], name: str, unit: str) -> None:
    """Of a curve: those nearest to the edges and the middle of its band."""
    words = [f"{share_words(one.share)} member {one.member} (off by {one.value:.3g} {unit})" for one in typical]
    show(state, typical, f"{name}: {', '.join(words)}")


def show(state: WindowState, typical: Sequence[Typical], words: str) -> None:
    """Shows the median, or who is nearest to it, with the others as ghosts, when they have come."""
    shown = sorted(typical, key=lambda one: abs(one.share - 0.5))
    drawable = state.study.drawable(list(dict.fromkeys(one.member for one in shown)))
    if not len(drawable.ids):
        state.say(f"{words}; {drawable.reason}")
        return

    def come(members: np.ndarray) -> None:
        state.choice.chosen, state.choice.ghosts_on, state.choice.text = members, True, ""
        state.show_member(int(members[0]))
        state.say(words)

    state.awaited.wish("left", state.study, drawable, come)
    if len(drawable.again):
        state.say(f"{words}; {drawable.reason}")
