"""What many designs reach, in one answer. Host code, but for areas that JAX traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shiftjax.kinematics.workspaces.table import ReachableSpace
from shiftjax.markup import html_lines
from shiftjax.record import record
from shiftjax.run.results.plain_values import is_known

LISTED = 8  # designs that a summary shows


@record
class ReachableSpaces:
    """What B designs of a mechanism reach.

    Attributes:
        design: full path of a number -> (B,). members: of every design, None of one that cannot be assembled; empty
            where JAX traces numbers. area: (B,) of each, or volumes; NaN where there is none.
    """

    design: Mapping[str, Any]
    members: tuple[ReachableSpace | None, ...]
    area: Any

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, k: int) -> ReachableSpace | None:
        return self.members[k]

    def __iter__(self) -> Iterator[ReachableSpace | None]:
        return iter(self.members)

    def table(self) -> list[dict[str, Any]]:
        """A row a design: its numbers, area, whether its curves account for each other, sizes of what is inside."""
        rows = list[dict[str, Any]]()
        for k, one in enumerate(self.members):
            row: dict[str, Any] = {path: float(values[k]) for path, values in self.design.items()}
            row |= {"area": float(self.area[k]), "consistent": one is not None and one.consistent}
            row["radius"] = None if one is None or one.ball is None else one.ball[1]
            row["side"] = None if one is None or one.square is None else one.square[1]
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts; None of a design that cannot be assembled."""
        return {
            "design": {path: np.asarray(values).tolist() for path, values in self.design.items()},
            "members": [None if one is None else one.to_dict() for one in self.members],
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return html_lines(self._lines())

    def _lines(self) -> list[str]:
        if not is_known(self.area):
            return ["what designs reach, traced by JAX"]
        lines = [f"what {len(self)} designs reach"]
        for row in self.table()[:LISTED]:
            numbers = ", ".join(f"{path} {row[path]:.6g}" for path in self.design)
            lines.append(f"  {numbers}: {row['area']:.9g}")
        return [*lines, *([f"  ... {len(self) - LISTED} more"] if len(self) > LISTED else [])]
