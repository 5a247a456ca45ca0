"""What `shiftjax sweep STUDY.toml` prints of the members of a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftjax.cli import common
from shiftjax.cli.rows import DIGITS, METRIC_HEAD, certificate_head, certificate_rows, metric_row, metric_summary
from shiftjax.ensembles.store.members import Members
from shiftjax.run.results.plain_values import digits_to_tell, plain, worst


def warn(members: Members) -> None:
    """What did not end well, on stderr: which members, what happened, what to do."""
    for outcome, count in members.counts().items():
        first = np.flatnonzero(members.status == int(outcome))[: common.LISTED]
        messages = [(f"member {members.numbers[k]}", str(members.messages[k])) for k in first]
        common.report_outcome(outcome, count, messages)


def show(name: Path, members: Members) -> None:
    """The study as tables a person reads."""
    counts = ", ".join(f"{count} {outcome.name}" for outcome, count in members.counts().items())
    common.put(f"{name}: {len(members.status)} members: {counts}")
    common.put()
    ends = [(c, digits_to_tell(c.values, DIGITS)) for c in members.design]
    rows = [(c.name, f"{np.nanmin(c.values):.{n}g}", f"{np.nanmax(c.values):.{n}g}", c.unit) for c, n in ends]
    common.table(("varied", "smallest", "largest", "unit"), rows)
    common.put()
    certificate = {c.name: c.values for c in members.certificate}
    common.table(certificate_head(members.status), certificate_rows(certificate, members.status))
    if members.metrics:
        common.put()
        common.table(METRIC_HEAD, [metric_row(c.name, c.values, c.unit) for c in members.metrics])


def summary(store: Path, members: Members) -> dict[str, object]:
    """The study in one JSON object."""
    return {
        "members": len(members.status),
        "status": {outcome.name: count for outcome, count in members.counts().items()},
        "failed": np.flatnonzero(members.status > 0).tolist(),
        "metrics": {c.name: metric_summary(c.values) for c in members.metrics},
        "certificate": {c.name: plain(worst(c.name, c.values, members.status)[0]) for c in members.certificate},
        "store": str(store),
    }
