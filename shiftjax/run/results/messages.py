"""What is said of the members of a run: cause and remedy of what is not good, and what was stated and not kept.

Host code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.measures.channel import Channel
from shiftjax.mechanism.paths import listed
from shiftjax.outcome import REMEDY, Outcome, WithRemedy
from shiftjax.run.advance.accuracy import inaccuracies
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.driven_starts import moved_by_drivers
from shiftjax.run.start.driven.overdriven import far_away, immovable, overdriven
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.rounded import notes_of_rounding
from shiftjax.run.start.singular_starts import RESTING
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import complete_pivoting, rank_tolerance

SHOWN = 8  # members named in a note
WITH_CAUSES = (
    Outcome.unphysical, Outcome.locked, Outcome.no_mass, Outcome.stuck, Outcome.too_small, Outcome.singular_pose,
    Outcome.loop_open,
)  # fmt: skip
REST_ON_POSE = (
    "it starts at rest on a singular pose, where branches meet, and nothing says along which it goes: state a speed, "
    "or begin beside the pose"
)
NO_WAY = (
    "it starts on a singular pose, where branches meet, and no branch was found along its speeds: state those of one "
    "branch, or begin beside the pose"
)
JAMMED = (
    "or the friction {} has no solution there, where it presses its joint as much as it holds it back (Painleve): "
    "lessen its coefficient, or lengthen its span"
)
FEW_DIGITS = 1e-3  # m or rad, or of a length above 1 m: what numbers of three digits may leave open
UNCERTAIN = 1e-6  # of the squared speeds, above which recorded accelerations are told to be


def messages(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    before: Result | None = None,
    fast: Mapping[int, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """Cause and remedy of every member that is not good: why it ended early, then its warnings, gravest first.

    Args:
        before: the run that this one goes on from; what had ended there keeps its message.
        fast: member -> what of its inputs the steps do not see, as of `fast_inputs`.
    """
    out = [""] * len(lanes.status)
    ended_before = np.zeros(len(out), bool) if before is None else np.atleast_1d(before.status) > 0
    moved = _Moved(prepared, began, np.flatnonzero(began.changed))
    times = (lanes.settings.t0 + lanes.clock_of().astype(float) * lanes.settings.h).tolist()
    status, warnings = lanes.status.tolist(), lanes.warnings.tolist()
    flagged = np.flatnonzero(lanes.warnings & 1 << -int(Outcome.inaccurate))
    inaccurate = inaccuracies(lanes, flagged.tolist()) if len(flagged) else {}
    for k in np.flatnonzero((lanes.status != 0) | (lanes.warnings != 0)).tolist():
        if before is not None and ended_before[k]:
            out[k] = before.messages[k]
            continue
        if status[k] == Outcome.interrupted and not warnings[k]:  # perhaps many, while somebody waits
            out[k] = f"at {times[k]:.6g} s: {REMEDY[Outcome.interrupted]}"
            continue
        ended = [Outcome(status[k])] if status[k] > 0 else []
        warned = [o for o in Outcome if o < 0 and warnings[k] & 1 << -int(o)] if warnings[k] else []
        if (on_pose := lanes.end_poses.get(k)) is not None:  # all else follows from it
            ended, warned = [], [o for o in warned if o not in (Outcome.inaccurate, Outcome.near_singular)]
        sentences = [
            inaccurate[k] if outcome is Outcome.inaccurate else _message(prepared, lanes, began, moved, k, outcome)
            for outcome in [*ended, *warned]
        ]
        out[k] = "; ".join(filter(None, [on_pose, *sentences, *(fast or {}).get(k, ())]))
    return tuple(out)


def _message(prepared: Prepared, lanes: Ensemble, began: Start, moved: _Moved, k: int, outcome: Outcome) -> str:
    """One outcome of member k."""
    text = REMEDY[outcome]
    if outcome is Outcome.not_assembled and k in began.lacking:
        return began.lacking[k]
    if outcome is Outcome.not_assembled and not began.closed[k] and prepared.plan.constraints and began.gap[k] > 0:
        group = prepared.plan.constraints[int(began.worst[k])]
        what = f"loop closed by {group.name}" if group.loop else f"constraint {group.name}"
        todo = _too_many_drives(prepared, began, k) or immovable(prepared, k, began.q[:, [k]])
        todo = todo or far_away(prepared, int(began.worst[k])) or text
        if began.gap[k] <= FEW_DIGITS * max(1.0, lanes.setup.length):
            todo += "; if its numbers are rounded, write more digits of them"
        return f"{what} stays open by {began.gap[k]:.3g} (m or rad): {todo}"
    if outcome is Outcome.start_changed or (outcome is Outcome.not_assembled and began.changed[k]):
        return f"{moved.text(k)}: {REMEDY[Outcome.start_changed]}"
    if outcome is Outcome.event:
        time = lanes.settings.t0 + lanes.clock_of()[k] * lanes.settings.h
        return f"at {time:.6g} s: the event {lanes.guarded_events[lanes.stopped[k]].name} has stopped it"
    if outcome is Outcome.near_singular and began.without_way(k):
        return NO_WAY if _moves_on_pose(prepared, began, k) else REST_ON_POSE
    if outcome is Outcome.branch_unsure and began.at_pose is not None and began.at_pose[k] >= 0:
        return (
            "it starts on a singular pose, where branches meet, and the speeds stated do not say which one it takes: "
            "the nearest was taken; state the speed of one more joint, as the branch that is meant has it"
        )
    if outcome is Outcome.branch_unsure:
        return f"assembly branch {began.branch[k]!r}: {text}" if began.branch[k] else text
    if k in lanes.causes and outcome in WITH_CAUSES:
        cause = lanes.causes[k]
        return cause if isinstance(cause, WithRemedy) else f"{cause}: {text}"
    if outcome is Outcome.loop_open and _gained_rank(prepared, lanes, k):
        text = (
            "the run began at a singular pose, where the loops lose rank and the motion is not determined: "
            "begin beside it"
        )
    if outcome is Outcome.loop_open:
        text = immovable(prepared, k, lanes.table.rows("q", np.array([k])).astype(float)) or text
    if outcome is Outcome.impossible_inertia and k in lanes.odd_inertias:
        return f"{lanes.odd_inertias[k]}: {text}"
    if outcome is Outcome.non_finite and prepared.plan.bears:
        paths = [element.path for element in prepared.plan.forces if element.bears]
        text = f"{text}; {JAMMED.format(listed(paths))}"
    if outcome > 0:
        return f"at {lanes.settings.t0 + lanes.clock_of()[k] * lanes.settings.h:.6g} s: {text}"
    return text


def _moves_on_pose(prepared: Prepared, began: Start, k: int) -> bool:
    """Whether the loops of member k that are on a singular pose move there."""
    assert began.at_pose is not None
    columns = prepared.plan.substructures[int(began.at_pose[k])].columns
    return bool(np.abs(began.v[list(columns), k]).max() > RESTING)


def _too_many_drives(prepared: Prepared, began: Start, k: int) -> str:
    """The drives of the loop that stays open the most, where they are more than its freedoms."""
    blocks = prepared.plan.substructures
    index = next((i for i, block in enumerate(blocks) if int(began.worst[k]) in block.groups), None)
    return "" if index is None else overdriven(prepared, index)


class _Moved:
    """What was stated of the start of some members, and where they start instead.

    Args:
        members: (M,) those whose start was changed, rising.
    """

    def __init__(self, prepared: Prepared, began: Start, members: np.ndarray) -> None:
        self._plan, self._began, self._members = prepared.plan, began, members
        if len(members):  # all at once: one lane a member costs 0.1 ms
            lane = prepared.lane_of(members, 1.0)
            self._q = host.stated_coordinates(lane, len(members))
            self._v = host.per_member(lane.speeds(), len(members))

    def text(self, k: int) -> str:
        """Of member k."""
        row, out = int(np.searchsorted(self._members, k)), []
        for which, wanted, start, what in (
            (int(self._began.moved[k]), self._q, self._began.q, ""),
            (int(self._began.speed_moved[k]), self._v, self._began.v, "/s"),
        ):
            if which >= 0:
                coordinate = self._plan.coordinates[which]
                first, count = (coordinate.v, coordinate.nv) if what else (coordinate.q, coordinate.nq)
                unit = f"{coordinate.unit}{what}" if coordinate.nq == coordinate.nv else ""
                there, asked = _list(start[first : first + count, k]), _list(wanted[first : first + count, row])
                out.append(f"{coordinate.path} starts at {there} {unit} instead of {asked}".replace("  ", " "))
        return "; ".join(out)


def _list(values: np.ndarray) -> str:
    texts = [f"{value:.9g}" for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _gained_rank(prepared: Prepared, lanes: Ensemble, k: int) -> bool:
    """Whether a substructure of member k has more rank where it stands now than its partition."""
    p, q = (lanes.table.rows(name, np.array([k])).astype(float) for name in ("p", "q"))
    lane = prepared.lane_with(np.array([k]), p)
    for s, known in enumerate(lanes.known):
        _, J = host.closure(lane, q, s)
        rank = complete_pivoting(J, rank_tolerance(prepared.plan.substructures[s], prepared.setup.precision)).rank[0]
        if rank > len(known[lanes.choice[s, k]].dependent):
            return True
    return False


def recorded_near_singular(lanes: Ensemble, observed: Sequence[Channel]) -> tuple[str, ...]:
    """A note where accelerations or reactions are recorded of runs that come near a singular pose.

    Rounding moves coordinates by eps / sigma there, and so a = J^-1 gamma by eps / sigma^3 of the squared speeds.
    """
    sensitive = [c.path for c in observed if c.path.rpartition(".")[2] in ("a", "reaction_force", "reaction_moment")]
    if not sensitive or not lanes.setup.blocks:
        return ()
    condition = lanes.table.rows("acc", within=ACCUMULATORS.index("squared_condition")).astype(float)
    eps = float(np.finfo(lanes.table.dtype).eps)
    uncertain = eps * condition**1.5
    near = np.flatnonzero((lanes.status <= 0) & (uncertain > UNCERTAIN))
    if not len(near):
        return ()
    named = ", ".join(sensitive[:3]) + (" ..." if len(sensitive) > 3 else "")
    return (
        f"{named}: {len(near)} members pass a singular pose, where accelerations are certain to "
        f"{uncertain[near].max():.1g} of the squared speeds only",
    )


def notes(prepared: Prepared, began: Start) -> tuple[str, ...]:
    """What was stated of the start and is not kept, because the loops do not allow it: by joint, with the members."""
    if prepared.instants is not None:  # members are moments of a motion, whose states are all stated
        return (*prepared.model.ignored(), *notes_of_rounding(prepared))
    out: list[str] = []
    if not prepared.statements.alone and max(prepared.file_start.change[0], prepared.file_start.speed_change[0]) > 0:
        moves = _Moved(prepared.of_the_file(), prepared.file_start, np.zeros(1, int)).text(0)
        out.append(f"the file's own start does not close: {moves}")
    out += (*prepared.model.ignored(), *notes_of_rounding(prepared))
    for what, change, moved in (
        ("displacement", began.change, began.moved), ("speed", began.speed_change, began.speed_moved)
    ):  # fmt: skip
        for which in np.unique(moved[(moved >= 0) & began.closed]):
            members = np.flatnonzero((moved == which) & began.closed)
            shown = ", ".join(map(str, members[:SHOWN])) + (" ..." if len(members) > SHOWN else "")
            many = "1 member" if len(members) == 1 else f"{len(members)} members"
            where = f" in {many} ({shown})" if prepared.vary else ""
            path, far = prepared.plan.coordinates[which].path, change[members].max()
            by_branch = prepared.branch and what == "displacement"
            text = "is not kept on the branch that was asked for" if by_branch else "could not be kept"
            out.append(f"the stated {what} of {path} {text}{where}: changed by up to {far:.3g}")
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    return (*out, *moved_by_drivers(lane, began.q, began.closed, prepared.model))
