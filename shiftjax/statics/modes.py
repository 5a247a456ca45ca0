"""`modes`: small motions about an equilibrium, or about a stated pose, of one design or of many. Host code.

What they are is put together by `small_motions`; where JAX traces numbers, it takes frequencies and shapes of matrices
that have slopes (`differentiable`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.statics.differentiable import TracedRest, any_traced
from shiftjax.statics.search import Search
from shiftjax.statics.settling import NEUTRAL
from shiftjax.statics.small_motions import Modes, modes_of


def modes(
    model: Model | str,
    *,
    settle: bool = True,
    unstable: bool = False,
    independent: Sequence[str] = (),
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> Modes:
    """Small motions of a mechanism about its equilibrium or a stated pose, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        settle: True goes to the equilibrium first, as `equilibrium` does; False takes the stated pose, as it is
            assembled: there M, C and K say how accelerations change, and the forces that are left are no part of them.
        unstable: as that of `equilibrium`.
        independent: as many coordinates as freedoms, on which M, C and K are given; chosen at the drawn pose where left
            out. Frequencies do not depend on them.
        vary, assign, derive, drive, tie: as those of `equilibrium`.

    Returns:
        natural frequencies, damping ratios, shapes, and the matrices. Friction counts with its slope at rest, that
        of `bearing_friction` and its like, which grow with what they bear, not at all. NaN where there is no pose.
        Where JAX traces numbers of `vary`, arrays of JAX with first derivatives in both modes, of frequencies that
        differ; `stability` and messages, which are texts, are empty.

    Raises:
        ModelError: as of `equilibrium`; other numbers of independent coordinates than of freedoms.
    """
    given = options_of(vary=vary, assign=assign, derive=derive, drive=drive, tie=tie)
    if any_traced(given):
        if not settle:
            raise ModelError("settle", "numbers that JAX traces, about a stated pose", "equilibria", "Leave it out.")
        return _traced(model if isinstance(model, Model) else load(model), given, independent, unstable=unstable)
    search = Search(unstable=unstable, settle=settle)
    return modes_of(search, search.result(model, given), independent)


def _traced(model: Model, given: Options, independent: Sequence[str], *, unstable: bool) -> Modes:
    """The small motions of numbers that JAX traces."""
    rest = TracedRest.of(model, given, unstable=unstable, named=independent)
    names = rest.host.file.prepared.plan.speed_names()
    units = np.asarray(rest.host.file.prepared.file_lane().units)
    M, C, K = rest.condensed
    squares, modal = rest.natural()
    size = jnp.abs(squares).max(1, keepdims=True)
    swings = squares > NEUTRAL * size
    omega = jnp.sqrt(jnp.where(swings, squares, 1.0))  # where a motion does not swing there is no slope
    still = jnp.where(squares < -NEUTRAL * size, jnp.nan, 0.0)
    shapes = rest.y["motions"] @ modal
    largest = jnp.take_along_axis(shapes, jnp.abs(jax.lax.stop_gradient(shapes)).argmax(1)[:, None], 1)
    shapes = shapes / largest * units[None, :, None]
    damping = (modal * (C @ modal)).sum(1)
    return Modes(
        frequencies=jnp.where(swings, omega / (2.0 * np.pi), still),
        damping_ratios=jnp.where(swings, damping / (2.0 * omega), jnp.nan),
        eigenvalues=_traced_eigenvalues(M, rest.y["first_order"]),
        shapes={name: shapes[:, row] for row, name in enumerate(names)},
        independent=tuple(names[speed] for speed in rest.host.speeds),
        M=M, C=C, K=K, stability=np.zeros(0, "<U8"), status=rest.status, messages=(),
    )  # fmt: skip


def _traced_eigenvalues(M: Any, whole: Any) -> Any:
    """(B, 2 k + ns) as `_damped` has them."""
    k, n = M.shape[1], whole.shape[2]
    rows = jnp.linalg.solve(M, whole[:, :k])
    speeds = jnp.broadcast_to(jnp.eye(n)[k : 2 * k], (len(M), k, n))
    values = jnp.linalg.eigvals(jnp.concatenate([speeds, rows, whole[:, k:]], axis=1))
    known = jax.lax.stop_gradient(values)
    order = jnp.lexsort((known.real, known.imag, jnp.abs(known).round(9)), axis=1)
    return jnp.take_along_axis(values, order, 1)
