"""What `branches` answers: a table of assemblies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.markup import html_lines
from shiftjax.record import record

LISTED = 20  # assemblies that a summary shows


@record
class Branches:
    """The outcome of `branches`: all assemblies of designs, with names, certificates and margins.

    A real assemblies of B designs, those of one design next to each other.

    Attributes:
        names: (A,) of each, a word a substructure: the signs of the determinants of its groups, with a number where
            these do not tell all apart. `branch=` of runs takes them. Signs do not change along a motion before a
            singular pose; numbers are those of the file's own design, from where they are led.
        member: (A,) the design of each. q: coordinate path -> (A,) [rad or m]; of balls (A, 4) quaternions or (A, 3)
            rotation vectors. Angles are from -pi to pi, but for those that are given.
        h: (A,) of the certificate: there is one root near, and only one, where it is at most 0.5; NaN where it cannot
            be had. radius: (A,) within which it is, alone: (A,) within which it is the only one, dimensionless.
        margin: (A,) smallest singular value of the dimensionless Jacobian of what is not given: 0 at singular poses.
        residual: (A,) largest residual of the closures, dimensionless.
        complex: (B,) poses that are not real. lost: (B,) paths that ended at infinity or at no regular pose.
        complete: "proven" or "not proven": whether these are all assemblies; reason: why.
        units: coordinate path -> unit.
    """

    names: tuple[str, ...]
    member: np.ndarray
    q: Mapping[str, np.ndarray]
    h: np.ndarray
    radius: np.ndarray
    alone: np.ndarray
    margin: np.ndarray
    residual: np.ndarray
    complex: np.ndarray
    lost: np.ndarray
    complete: str
    reason: str
    units: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, coordinate: str) -> np.ndarray:
        """(A, ...) places of a coordinate, by its path or as much of its end as names it alone."""
        named = [path for path in self.q if path == coordinate or path.endswith(f":{coordinate}")]
        if len(named) != 1:
            fault = f"{len(named)} coordinates of that name" if named else "no such coordinate"
            raise ModelError(coordinate, fault, "the path of one", nearest(coordinate, self.q) or "Look at `q`.")
        return self.q[named[0]]

    @property
    def certified(self) -> np.ndarray:
        """(A,) whether the certificate proves that there is one assembly near."""
        return self.h <= 0.5

    @property
    def real(self) -> np.ndarray:
        """(B,) assemblies of each design."""
        return np.bincount(self.member, minlength=len(self.complex))

    def of(self, member: int) -> dict[str, dict[str, np.ndarray]]:
        """Name of an assembly of one design -> coordinate path -> its value."""
        rows = np.flatnonzero(self.member == member)
        return {self.names[k]: {path: values[k] for path, values in self.q.items()} for k in rows}

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return html_lines(self._lines())

    def _lines(self) -> list[str]:
        of = f" of {len(self.complex)} designs" if len(self.complex) > 1 else ""
        lines = [f"{len(self)} assemblies{of}, {int(self.complex.sum())} complex poses; {self.complete}: {self.reason}"]
        for k, name in enumerate(self.names[:LISTED]):
            values = ", ".join(f"{path} {np.array2string(x[k], precision=6)}" for path, x in self.q.items())
            design = f"{self.member[k]} " if of else ""
            lines.append(f"  {design}{name}: {values}; h {self.h[k]:.1g}, margin {self.margin[k]:.3g}")
        return lines + ([f"  ... {len(self) - LISTED} more"] if len(self) > LISTED else [])
