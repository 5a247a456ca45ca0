"""Load paths of numbers that JAX traces: critical loads, equilibria and channels with first derivatives. M8b, M19."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from tests.statics.test_equilibrium import ARCH, STIFF
from tests.statics.test_load_path import COLUMN, LENGTH, MOST, SNAP, TORSION
from tests.statics.test_load_slopes import SAME

CRITICAL = 1e-9  # relative: critical poses are good to 1e-11
STIFFNESS = "left.coefficients[0][0]"
PUSHED: dict[str, Any] = {"load": {"load.load": (0.0, -1.2 * MOST)}, "poses": 40, "distance": 0.1, "derive": SAME}


def buckling(k: jax.Array) -> Any:
    """(B,) loads at which columns of stiffness (B,) buckle."""
    path: Any = shiftjax.load_path(COLUMN, {"load.load": (0.0, -240.0)}, poses=20, branches=0, vary={"spring.k": k})
    return path.critical[0].loads["column:load.load"]


def test_buckling_goes_with_the_stiffness() -> None:
    """P = 2 k / L, of each member by its own number alone; both ways, and inside of jit."""
    k = jnp.array([TORSION, 0.8 * TORSION])
    exact = -2.0 / LENGTH * np.eye(2)
    assert np.asarray(jax.jit(buckling)(k)) == pytest.approx(-2.0 / LENGTH * np.asarray(k), rel=CRITICAL)
    for slopes in (jax.jacfwd(buckling)(k), jax.jit(jax.jacrev(buckling))(k)):
        assert np.asarray(slopes) == pytest.approx(exact, rel=CRITICAL)


def test_poses_of_an_arch_go_under_the_same_load() -> None:
    """As `slopes` of the path of known numbers has them, through both snaps, springs of one stiffness; P = k f(y)."""
    known = shiftjax.load_path(ARCH, channels=["way.q"], branches=0, slopes=[STIFFNESS], **PUSHED)

    def path(k: jax.Array) -> tuple[Any, ...]:
        traced: Any = shiftjax.load_path(ARCH, channels=["way.q"], vary={STIFFNESS: k[None]}, **PUSHED)
        assert "traces" in repr(traced) and traced.result is None and not traced.events
        snaps = [pose.loads["arch:load.load"][0] for pose in traced.critical]
        places = [pose.q["arch:way"][0] for pose in traced.critical]
        return traced.q["arch:way"][0], traced.channels["way.q"][0], jnp.stack(snaps), jnp.stack(places), traced.factor

    values, changes = jax.jvp(path, (jnp.array(STIFF),), (jnp.array(1.0),))
    way, channel, snaps, places, factor = map(np.asarray, values)
    here = np.isfinite(known.factor[0])
    assert np.array_equal(np.isfinite(factor[0]), here)
    assert way[here] == pytest.approx(known.q["arch:way"][0][here], abs=1e-12) and np.array_equal(
        channel, way, equal_nan=True
    )
    assert snaps[:2] == pytest.approx([-MOST, MOST], rel=CRITICAL) and np.isnan(snaps[2:]).all()
    assert np.abs(places[:2]) == pytest.approx(SNAP, rel=CRITICAL)
    slopes = [np.asarray(one) for one in changes]
    exact = known.design_slopes["arch:" + STIFFNESS]
    for one, name in zip(slopes, ("arch:way", "way.q"), strict=False):
        assert one[here] == pytest.approx(exact[name][0][here], rel=1e-9)
    assert slopes[2][:2] == pytest.approx([-MOST / STIFF, MOST / STIFF], rel=CRITICAL)
    assert np.abs(slopes[3][:2]).max() < CRITICAL * SNAP
    assert not slopes[4][0][here].any()  # poses are those of known loads


def test_numbers_that_follow_go_with_what_they_follow() -> None:
    """x = F / (2 c) of a spring of stiffness 2 c, an expression of the model: dx/dc = -x / c at every pose."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0)).parameter("c", 50.0, unit="N/m")
    cart = builder.assembly("cart")
    cart.body("block", mass=1.0)
    cart.joint("slide", "Tx", child="block", stiffness=[0.0, "2 * c"])
    cart.force("push", "constant_load", joint="slide", load=0.0)
    model = builder.build()

    def place(c: jax.Array) -> Any:
        path: Any = shiftjax.load_path(model, {"push.load": (0.0, 30.0)}, poses=8, vary={"parameters.c": c[None]})
        return path.q["cart:slide"][0], path.loads["cart:push.load"][0]

    (x, load), (by_c, none) = jax.jvp(jax.jit(place), (jnp.array(40.0),), (jnp.array(1.0),))
    here = np.isfinite(np.asarray(x))
    assert here.sum() > 3 and np.asarray(x)[here] == pytest.approx(np.asarray(load)[here] / 80.0, abs=1e-12)
    assert np.asarray(by_c)[here] == pytest.approx(-np.asarray(x)[here] / 40.0, abs=1e-12)
    assert not np.asarray(none)[here].any()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"slopes": True}, "slopes: found with numbers that JAX traces"),
        ({"keep": "all"}, "keep: found with numbers that JAX traces"),
        ({"events": {"far": "way.q - 1"}}, "events: found with numbers that JAX traces"),
        (
            {"derive": {"block.mass": "1 + {load.load} / 1000"}},
            "load arch:load.load: found a load that arch:block.mass",
        ),
    ],
)
def test_what_a_traced_path_refuses(more: dict[str, Any], message: str) -> None:
    def path(k: jax.Array) -> Any:
        return shiftjax.load_path(ARCH, vary={STIFFNESS: k[None]}, **{**PUSHED, **more}).factor

    with pytest.raises(ModelError, match=message):
        jax.jvp(path, (jnp.array(STIFF),), (jnp.array(1.0),))
