"""Box-constrained linear complementarity by block principal pivoting. Run-time, JAX.

Of a matrix M (n, n), whose principal minors are positive, a vector q and bounds low < high, the one w for which each
    low < w < high and (M w + q) = 0,  or  w = low and (M w + q) >= 0,  or  w = high and (M w + q) <= 0.
With a positive definite M it is the minimum of w'Mw/2 + q'w in the box; with M = [[B, A'], [-A, e]] it is the step and
the multipliers of a quadratic program whose constraints may be violated at a price, which bounds their multipliers.

All that violates its condition changes sides at once as long as violations become fewer; after a few rounds in which
they do not, only the last of them does, which ends (Júdice, Pires, A block principal pivoting algorithm for large-scale
strictly monotone linear complementarity problems, Computers & Operations Research 21, 1994).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = Any  # of JAX, traced
ROUNDS = 10  # in which violations need not become fewer
ROUNDING = 1e-12  # by which a condition may be off, of the size of what it is made of
MOST = 12  # pivots for each unknown, at most: usually it takes five in all


def complementary(matrix: Array, vector: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The solution (n,), and where each of it is: -1 at its lower bound, 1 at its upper one, 0 between.

    Args:
        matrix: (n, n). vector: (n,). low, high: (n,), infinite where there is none. Where rounding keeps the pivots
            from ending, what they came to is moved into the box.
    """
    count = len(vector)
    places = jnp.arange(count)

    def solved(side: Array) -> tuple[Array, Array]:
        """w of given sides, and which sides violate their conditions, as the sides that they change to."""
        free = side == 0
        fixed = jnp.where(side < 0, low, jnp.where(side > 0, high, 0.0))
        among = free[:, None] & free[None, :]
        system = jnp.where(among, matrix, jnp.eye(count))
        w = jnp.linalg.solve(system, jnp.where(free, -(vector + matrix @ fixed), fixed))
        force = matrix @ w + vector
        size = jnp.abs(matrix) @ jnp.abs(w) + jnp.abs(vector)
        below = free & (w < low - ROUNDING * (1.0 + jnp.abs(low)))
        above = free & (w > high + ROUNDING * (1.0 + jnp.abs(high)))
        released = ((side < 0) & (force < -ROUNDING * size)) | ((side > 0) & (force > ROUNDING * size))
        wanted = jnp.where(below, -1, jnp.where(above, 1, jnp.where(released, 0, side)))
        return w, wanted

    def goes_on(state: tuple[Array, ...]) -> Array:
        return (state[-1] < MOST * count) & jnp.any(state[1] != state[2])

    def pivoted(state: tuple[Array, ...]) -> tuple[Array, ...]:
        _, side, wanted, fewest, rounds, pivots = state
        wrong = wanted != side
        number = jnp.sum(wrong)
        fewer = number < fewest
        rounds = jnp.where(fewer, ROUNDS, rounds - 1)
        last = jnp.max(jnp.where(wrong, places, -1))
        side = jnp.where(wrong & ((rounds >= 0) | (places == last)), wanted, side)
        w, wanted = solved(side)
        return w, side, wanted, jnp.minimum(number, fewest), rounds, pivots + 1

    side = jnp.zeros(count, int)
    w, wanted = solved(side)
    state = (w, side, wanted, jnp.asarray(count + 1), jnp.asarray(ROUNDS), jnp.asarray(0))
    w, side, *_ = jax.lax.while_loop(goes_on, pivoted, state)
    return jnp.clip(w, low, high), side
