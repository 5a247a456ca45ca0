"""The page of statuses, made from the enumeration and its remedies, so that it is always the program's own."""

from __future__ import annotations

from collections.abc import Iterable

from shiftjax.outcome import REMEDY, Outcome

INTRODUCTION = """# Statuses

Every member of an ensemble has one: in `result.status` as a number, in the store's `members/status`, in the tables that
`run` and `sweep` print as a word. `result.messages` says what is special about a member, and what to do.

* **0** is good.
* **Below 0** the member finished, with a warning. A member with several warnings has the lowest number, and its message
  names all of them. `event` is no warning: an [event](events.md) stopped the member, as it was asked to.
* **Above 0** it ended early: its channels are NaN from there on, the other members are not touched. `result.failed`
  lists such members, and the command line ends with exit code 3.
"""
COUNTING = """## In a program

```python
import numpy as np
import shiftjax

lengths = np.linspace(0.4, 1.2, 5)
result = shiftjax.simulate(
    "four_bar", span=0.1, vary={"coupler:tip.T[0]": lengths}
)
for outcome, members in result.outcomes():
    print(f"{outcome.name}: members {members.tolist()}")
for member in result.failed:
    print(f"{lengths[member]:.2f} m: {result.messages[member]}")
# too long for any pose
assert (
    shiftjax.Outcome(int(result.status[-1])) is shiftjax.Outcome.not_assembled
)
```
"""


def statuses() -> str:
    """The page: a table of warnings and one of ends, each status with its cause and remedy."""
    ended = sorted(outcome for outcome in Outcome if outcome > 0)
    warned = sorted((outcome for outcome in Outcome if outcome < 0), reverse=True)
    parts = [INTRODUCTION, "## Warnings\n", _table(warned), "## Early ends\n", _table(ended), COUNTING]
    return "\n".join(parts)


def _table(outcomes: Iterable[Outcome]) -> str:
    rows = ["| status | name | cause | what to do |", "| --- | --- | --- | --- |"]
    for outcome in outcomes:
        cause, _, todo = REMEDY[outcome].rpartition(": ")
        rows.append(f"| {int(outcome)} | `{outcome.name}` | {cause} | {todo} |")
    return "\n".join(rows) + "\n"
