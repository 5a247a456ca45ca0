"""With JAX's double precision switched off: f64 says what to do, f32 runs, and no global setting is changed.

All of it in one fresh process: importing jax takes longer than anything that is asked there.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import json
import jax, jax.numpy as jnp, numpy as np, shiftjax
from shiftjax.gradients.transforms import differentiable

def refusal(call):
    try:
        call()
    except shiftjax.ModelError as error:
        return str(error)

def last(m, precision):
    given = dict(span=0.02, step=2e-3, channels=["rocker_pivot.q"], precision=precision)
    run = shiftjax.simulate("four_bar", vary={"coupler.mass": m}, **given)
    return run.channels["rocker_pivot.q"][:, -1].sum()

class Square:
    outputs = 1
    def run(self, x): return np.square(x).sum(1, keepdims=True)
    def tangent(self, x, dx): return (2 * x * dx).sum(1, keepdims=True)
    def adjoint(self, x, y_bar): return 2 * x * y_bar

double, single = shiftjax.compile("pendulum"), shiftjax.compile("pendulum", precision="f32")
x, f = jnp.ones((2, 3)), differentiable(Square(), precision="f32")
refused = {
    "start": refusal(lambda: double.start({})),
    "step": refusal(lambda: double.step({}, {})),
    "grad": refusal(lambda: jax.grad(last)(jnp.ones(2), "f64")),
    "differentiable": refusal(lambda: differentiable(Square())(x)),
}
params, state = single.start({})
state, info = jax.jit(jax.vmap(single.step))(params, state)
slope = jax.jit(jax.grad(last), static_argnums=1)(jnp.ones(2), "f32")
square = jax.jit(jax.grad(lambda x: f(x).sum()))(x)
final = shiftjax.simulate("pendulum", span=0.1, vary={"model_parameters.gravity[1]": [-9.0]}).final
print(json.dumps({
    "refused": refused,
    "step": [str(state["q"].dtype), float(state["clock"][0, 0])],
    "grad": [str(slope.dtype), bool(jnp.isfinite(slope).all() & (slope != 0.0).all())],
    "differentiable": [str(square.dtype), square.tolist()],
    "simulate": str(final["q"].dtype),
    "x64": bool(jax.config.jax_enable_x64),
}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What the script prints."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("call", ["start", "step", "grad", "differentiable"])
def test_f64_says_what_to_do(call: str, seen: dict[str, Any]) -> None:
    """The simulator's two functions, a gradient of `simulate`, and any host function that JAX differentiates."""
    assert 'jax.config.update("jax_enable_x64", True), or precision="f32"' in seen["refused"][call]


def test_f32_runs(seen: dict[str, Any]) -> None:
    assert seen["step"] == ["float32", 1.0]
    assert seen["grad"] == ["float32", True]
    assert seen["differentiable"] == ["float32", [[2.0] * 3] * 2]


def test_a_plain_run_is_double_and_no_setting_is_changed(seen: dict[str, Any]) -> None:
    assert seen["simulate"] == "float64"
    assert not seen["x64"]
