"""Box-constrained linear complementarity by block principal pivoting. Run-time, JAX.

Of a matrix M (n, n), whose principal minors are positive, a vector q and bounds low < high, the one w for which each
    low < w < high and (M w + q) = 0,  or  w = low and (M w + q) >= 0,  or  w = high and (M w + q) <= 0.
With a positive definite M it is the minimum of w'Mw/2 + q'w in the box; with M = [[B, A'], [-A, e]] it is the step and
the multipliers of a quadratic program whose constraints may be violated at a price, which bounds their multipliers.

All that violates its condition changes sides at once as long as violations become fewer; after a few rounds in which
they do not, only the last of them does, which ends (Júdice, Pires, A block principal pivoting algorithm for large-scale
strictly monotone linear complementarity problems, Computers & Operations Research 21, 1994). That may take very many
pivots: with 6 or 9 numbers and 3 constraints, 39 of 400 random programs had not ended after 12 for each unknown. Those
are solved from inside of the bounds, and pivots from the sides that this leads to make the solution exact.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = Any  # of JAX, traced
ROUNDS = 10  # in which violations need not become fewer
ROUNDING = 1e-12  # by which a condition may be off, of the size of what it is made of
STEPS, SMALL = 60, 1e-14  # from inside: at most, and products of gaps and forces at the end
INSIDE = 0.99  # of the way to a bound, at most
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

    def ended(side: Array) -> tuple[Array, Array, Array]:
        """w and sides that pivots from some sides come to, and whether no condition is violated."""
        w, wanted = solved(side)
        state = (w, side, wanted, jnp.asarray(count + 1), jnp.asarray(ROUNDS), jnp.asarray(0))
        w, side, wanted, *_ = jax.lax.while_loop(goes_on, pivoted, state)
        return jnp.clip(w, low, high), side, jnp.all(side == wanted)

    def again() -> tuple[Array, Array, Array]:
        inner, near = _interior(matrix, vector, low, high)
        w, side, met = ended(near)
        return jnp.where(met, w, jnp.clip(inner, low, high)), jnp.where(met, side, near), met

    w, side, met = ended(jnp.zeros(count, int))
    w, side, _ = jax.lax.cond(met, lambda: (w, side, met), again)
    return w, side


def _interior(matrix: Array, vector: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The solution from inside of the bounds, to rounding, and which of them are near: -1 low, 1 high, 0 neither.

    With the forces z >= 0 of the bounds, M w + q = z_low - z_high, Newton steps on z_low (w - low) = z_high (high - w)
    = s make s small (Wright, Primal-dual interior-point methods, 1997, chapters 1 and 10; s is Mehrotra's).
    """
    of_low, of_high = jnp.isfinite(low), jnp.isfinite(high)
    limits = jnp.maximum(1.0, jnp.sum(of_low, dtype=float) + jnp.sum(of_high, dtype=float))
    width = jnp.minimum(jnp.where(of_low & of_high, high - low, 2.0), 2.0)
    inner = jnp.clip(jnp.clip(0.0, low, high), low + width / 4, high - width / 4)
    force = 1.0 + jnp.max(jnp.abs(vector))

    def gap(w: Array, below: Array, above: Array) -> Array:
        products = jnp.where(of_low, below * (w - low), 0.0) + jnp.where(of_high, above * (high - w), 0.0)
        return jnp.sum(products) / limits

    def way(w: Array, below: Array, above: Array, target: Array) -> tuple[tuple[Array, Array, Array], Array]:
        """The Newton step to products of `target`, and the longest share of it that stays inside."""
        under, over = jnp.where(of_low, w - low, jnp.inf), jnp.where(of_high, high - w, jnp.inf)
        pull, push = target / under, target / over
        system = matrix + jnp.diag(below / under + above / over)
        step = jnp.linalg.solve(system, pull - push - matrix @ w - vector)
        of_below, of_above = pull - below - below / under * step, push - above + above / over * step
        pairs = (under, step), (over, -step), (below, of_below), (above, of_above)
        share = jnp.min(jnp.stack([_longest(value, change) for value, change in pairs]))
        return (step, of_below, of_above), share

    def goes_on(state: tuple[Array, ...]) -> Array:
        return (gap(*state[:3]) > SMALL) & (state[-1] < STEPS)

    def stepped(state: tuple[Array, ...]) -> tuple[Array, ...]:
        w, below, above, steps = state
        before = w, below, above
        now = gap(*before)
        changes, share = way(*before, jnp.zeros(()))
        ahead = gap(*(value + jnp.minimum(1.0, share) * by for value, by in zip(before, changes, strict=True)))
        changes, share = way(*before, now * (ahead / now) ** 3 + SMALL / 10)
        share = jnp.minimum(1.0, INSIDE * share)
        after = [value + share * by for value, by in zip(before, changes, strict=True)]
        finite = jnp.all(jnp.isfinite(jnp.stack(after)))
        chosen = (jnp.where(finite, value, last) for value, last in zip(after, before, strict=True))
        return *chosen, jnp.where(finite, steps + 1, STEPS)

    begun = inner, jnp.where(of_low, force, 0.0), jnp.where(of_high, force, 0.0), jnp.asarray(0)
    w, below, above, _ = jax.lax.while_loop(goes_on, stepped, begun)
    return w, jnp.where(of_low & (below > w - low), -1, jnp.where(of_high & (above > high - w), 1, 0))


def _longest(value: Array, change: Array) -> Array:
    """The share of a change of values that brings the first of them to 0."""
    return jnp.min(jnp.where(change < 0, -value / jnp.where(change < 0, change, -1.0), jnp.inf), initial=jnp.inf)
