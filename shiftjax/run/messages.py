"""What is said of the members of a run: cause and remedy of what is not good, and what was stated and not kept.

Host code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.constraints import scales
from shiftjax.dynamics.channel import Channel
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.accuracy import said_of
from shiftjax.run.ensemble import Ensemble
from shiftjax.run.prepare import Prepared
from shiftjax.run.result import Result
from shiftjax.run.setup import ACCUMULATORS
from shiftjax.run.start import Start
from shiftjax.topology.partition import RANK_TOLERANCE, complete_pivoting

REPORTED = 1e-6  # a start that differs this much from what the user said is reported [rad or lengths of the model]

UNCERTAIN = 1e-6  # of the squared speeds, above which recorded accelerations are told to be


def messages(prepared: Prepared, lanes: Ensemble, began: Start, before: Result | None = None) -> tuple[str, ...]:
    """Cause and remedy of every member that is not good: why it ended early, then its warnings, gravest first.

    Args:
        before: the run that this one goes on from; what had ended there keeps its message.
    """
    out = [""] * len(lanes.status)
    ended_before = np.zeros(len(out), bool) if before is None else np.atleast_1d(before.status) > 0
    for k in np.flatnonzero((lanes.status != 0) | (lanes.warnings != 0)):
        if before is not None and ended_before[k]:
            out[k] = before.messages[k]
            continue
        ended = [Outcome(int(lanes.status[k]))] if lanes.status[k] > 0 else []
        warned = [o for o in Outcome if o < 0 and lanes.warnings[k] & 1 << -int(o)]
        out[k] = "; ".join(_message(prepared, lanes, began, int(k), outcome) for outcome in [*ended, *warned])
    return tuple(out)


def _message(prepared: Prepared, lanes: Ensemble, began: Start, k: int, outcome: Outcome) -> str:
    """One outcome of member k."""
    text = REMEDY[outcome]
    if outcome is Outcome.not_assembled and prepared.plan.constraints and began.gap[k] > 0:
        group = prepared.plan.constraints[int(began.worst[k])]
        what = f"loop closed by {group.name}" if group.loop else f"constraint {group.name}"
        return f"{what} stays open by {began.gap[k]:.3g} (m or rad): {text}"
    if outcome is Outcome.loop_open and _gained_rank(prepared, lanes, k):
        text = (
            "the run began at a singular pose, where the loops lose rank and the motion is not determined: "
            "begin beside it"
        )
    if outcome is Outcome.inaccurate:
        return said_of(lanes, k)
    if outcome > 0:
        return f"at {lanes.settings.t0 + lanes.row('clock')[k] * lanes.settings.h:.6g} s: {text}"
    return text


def _gained_rank(prepared: Prepared, lanes: Ensemble, k: int) -> bool:
    """Whether a substructure of member k has more rank where it stands now than its partition."""
    lane, q = prepared.lane_of(np.array([k]), 1.0), lanes.rows("q")[:, [k]].astype(float)
    for s, known in enumerate(lanes.known):
        _, J = host.closure(lane, q, s)
        rank = complete_pivoting(J, RANK_TOLERANCE[prepared.setup.precision]).rank[0]
        if rank > len(known[lanes.choice[s, k]].dependent):
            return True
    return False


def recorded_near_singular(lanes: Ensemble, observed: Sequence[Channel]) -> tuple[str, ...]:
    """A note where accelerations or reactions are recorded of runs that come near a singular pose.

    Rounding moves coordinates by eps / sigma there, and so a = J^-1 gamma by eps / sigma^3 of the squared speeds.
    """
    told = [c.path for c in observed if c.path.rpartition(".")[2] in ("a", "reaction_force", "reaction_moment")]
    if not told or not lanes.setup.blocks:
        return ()
    condition = lanes.rows("acc")[ACCUMULATORS.index("squared_condition")].astype(float)
    eps = float(np.finfo(lanes.table.dtype).eps)
    uncertain = eps * condition**1.5
    near = np.flatnonzero((lanes.status <= 0) & (uncertain > UNCERTAIN))
    if not len(near):
        return ()
    named = ", ".join(told[:3]) + (" ..." if len(told) > 3 else "")
    return (
        f"{named}: {len(near)} members pass a singular pose, where accelerations are certain to "
        f"{uncertain[near].max():.1g} of the squared speeds only",
    )


def notes(prepared: Prepared, began: Start) -> tuple[str, ...]:
    """What the user said of the start and did not get, because the loops do not allow it."""
    out: list[str] = []
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    wanted = host.per_member(lane.coordinates(), prepared.members)
    for k in prepared.named:
        joint = prepared.plan.joints[k]
        if joint.nq == 1:
            reach = scales(joint.kind.units, prepared.setup.length)[0]
            missed = (np.abs(began.q[joint.q] - wanted[joint.q]) > REPORTED * reach) & began.closed
            if missed.any():
                far = float(np.abs(began.q[joint.q] - wanted[joint.q])[missed].max())
                out.append(f"{joint.path} could not be held in {missed.sum()} members: moved by up to {far:.3g}")
    conflicts = (began.conflict > REPORTED) & began.closed
    if conflicts.any():
        far = float(began.conflict[conflicts].max())
        out.append(f"initial speeds contradict the loops in {conflicts.sum()} members: changed by up to {far:.3g}")
    return tuple(out)
