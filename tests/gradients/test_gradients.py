"""Gradients with respect to every numeric key of the format, in one mechanism with a loop that has them all.

Each key: reverse mode against central differences of plain runs, and against forward mode.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.field import Role
from shiftjax.mechanism.fields import element
from tests.support.models.every_number import HELD, every_number

ROOT = Path(__file__).resolve().parents[2]
DIFFERENCES = 1e-8  # of the derivative: of order 6
MODES = 1e-11  # of the derivative, or of 1e-2, below which sums over channels cancel: forward and reverse mode
ORDER_6 = np.array([-3, -2, -1, 1, 2, 3]), np.array([-1, 9, -45, 45, -9, 1]) / 60
NOISE = 1e-11  # of differences of what nothing depends on: rounding of the same sum, over the step
STEPS = (  # how paths begin -> a step near the best: between rounding and what higher derivatives leave
    (("a:pulse.times", "a:gust.times", "a:cam.times"), 7e-5),  # no knot passes a stage of a step
    (("a:rocker:", "a:coupler.inertia", "a:coupler.center", "a:crank_pivot", "a:lead", "a:weld", "a:cam.values"), 2e-4),
    (("a:rise.origin",), 1e-2),
    (("a:rope", "a:brake", "a:rub", "a:push", "a:shake", "a:rise", "a:pulse", "a:pull", "a:gust"), 3e-2),
    (("",), 3e-3),
)  # fmt: skip
STILL = {
    "a:rub.knot_points[0]",
    "a:rope.coefficients[0][0]",
    "a:rope.coefficients[0][1]",
}  # pieces that are not entered
CHANNELS = (
    "crank_pivot.q", "free.v", "coupler:tip.position", "energy.potential", "stage1.drive_load", "stage0.drive_load",
    "lead.q",
)  # fmt: skip
RUN: dict[str, Any] = {"span": 0.1, "step": 1e-3, "output_step": 0.05, "channels": CHANNELS, "hold": HELD}

CASES: dict[str, tuple[str, ...]] = {  # label of an element and field -> how the paths of its numbers begin
    "model_parameters.gravity": ("model_parameters.gravity",),
    "a body.mass": ("a:coupler.mass",),
    **{f"a body.inertia.I{e}": (f"a:coupler.inertia.I{e}",) for e in ("xx", "yy", "zz", "xy", "yz", "zx")},
    "a body.gravity_scale": ("a:coupler.gravity_scale",),
    "a body.center_of_mass": ("a:coupler.center_of_mass",),
    "a frame.T": ("a:rocker:tip.T", "fixed:hook.T[2]"),
    "a frame.rotation": ("a:rocker:tip.rotation", "fixed:hook.rotation[0]"),
    "a placement.T": ("a:weld.initial_displacement.T", "a:free.initial_displacement.T"),
    "a placement.rotation": ("a:weld.initial_displacement.rotation", "a:free.initial_displacement.rotation"),
    "a joint.initial_displacement": ("a:crank_pivot.initial_displacement",),
    "a joint.initial_velocity": ("a:crank_pivot.initial_velocity", "a:free.initial_velocity"),
    "a joint.stiffness": ("a:crank_pivot.stiffness",),
    "a joint.damping": ("a:crank_pivot.damping",),
    "a joint.axis": ("a:crank_pivot.axis", "a:lead.axis"),
    "a joint of type my_screw.pitch": ("a:lead.pitch",),
    "a restraint.coefficients": ("a:rope.coefficients", "a:brake.coefficients", "a:rub.coefficients[1]"),
    "a restraint.knot_points": ("a:rope.knot_points", "a:rub.knot_points"),
    "a force module of type constant_load.load": ("a:push.load",),
    **{f"a force module of type harmonic_load.{name}": (f"a:shake.{name}",)
       for name in ("amplitude", "frequency", "phase", "offset", "rate")},
    "a force module of type polynomial_load.coefficients": ("a:rise.coefficients",),
    "a force module of type polynomial_load.origin": ("a:rise.origin",),
    **{f"a force module of type table_load.{name}": (f"a:pulse.{name}",)
       for name in ("times", "values", "first_rate", "last_rate")},
    **{f"a force module of type constant_wrench.{name}": (f"a:pull.{name}",) for name in ("force", "moment")},
    **{f"a force module of type harmonic_wrench.{name}": (f"a:shaker.{name}",)
       for name in ("frequency", "phase", "force_amplitude", "force_offset", "moment_amplitude", "moment_offset")},
    "a force module of type table_wrench.times": ("a:gust.times",),
    "a force module of type table_wrench.forces": ("a:gust.forces[1]",),
    "a force module of type table_wrench.moments": ("a:gust.moments[2]",),
    **{f"a force module of type maxwell.{name}": (f"a:creep.{name}",) for name in ("k", "c", "initial_stretch")},
    "a driver of type constant_speed.speed": ("a:motor.speed",),
    "a driver of type constant_speed.offset": ("a:motor.offset",),
    **{f"a driver of type harmonic.{name}": (f"a:swing.{name}",)
       for name in ("amplitude", "frequency", "phase", "offset", "rate")},
    "a driver of type polynomial.coefficients": ("a:ramp.coefficients",),
    "a driver of type polynomial.origin": ("a:ramp.origin",),
    **{f"a driver of type table.{name}": (f"a:cam.{name}",) for name in ("times", "values", "first_rate", "last_rate")},
    **{f"a constraint of type my_gear.{name}": (f"a:teeth.{name}",) for name in ("ratio", "offset")},
}  # fmt: skip
OF_THE_CATALOGUE = {  # whose numbers are all in test_gradient_catalogue.py, which holds that none is left out
    "a joint of type screw",
    *(f"a {what} of type {name}" for what, names in (
        ("force module", "joint_spring bushing stop coulomb_friction lugre_friction servo dc_motor torque_curve"),
        ("force module", "bearing_friction bearing_bristles slide_friction slide_bristles sleeve_friction"),
        ("force module", "plate_friction ball_friction"),
        ("force module", "joint_position_pid joint_speed_pid frame_position_pid frame_speed_pid"),
        ("force module", "fiala_tyre transient_fiala_tyre pacejka_tyre transient_pacejka_tyre"),
        ("force module", "ball_on_plane ball_on_terrain capsule_on_plane ellipsoid_on_plane ball_on_ball pin_in_slot"),
        ("constraint", "gear belt rack screw_coupling planetary mimic geneva"),
        ("constraint", "distance cam point_on_curve point_on_surface"),
        ("driver", "frame_harmonic frame_polynomial frame_table"),
        ("driver", "frame_angle_harmonic frame_angle_polynomial frame_angle_table acceleration_table"),
        ("driver", "pose_uniform pose_harmonic pose_table"),
        ("driver", "orientation_uniform orientation_harmonic orientation_table"),
    ) for name in names.split()),
}  # fmt: skip
OTHERS = ("a geometry", "a point")  # drawn only; numbers of which others are expressions: test_parameter_runs.py
DRAWN = "drawn only, nothing of a run depends on it"
RUN_ONLY = "what a run is asked for: an argument of `simulate`, not a number of the mechanism"
UNUSED = "kept as it is, not used"
WITHOUT = {  # numbers of a file that are no numbers of the model
    "events": "expressions, of parameters that are varied: test_gradient_events.py",
    "capacity": "how many instants are noted",
    "values": "what numbers become, not what they are",
    "R": "nine numbers of three freedoms: `rotation`, which follows it, is varied",
    **dict.fromkeys(("colour", "size", "radius", "radii", "length", "spheres", "points"), DRAWN),
    **dict.fromkeys(("Ka", "Kd", "Ks", "cone", "scale", "x_scale", "y_scale"), DRAWN),
    **dict.fromkeys(("time_span", "time_step", "infinity_norm_multiplier"), RUN_ONLY),
    **dict.fromkeys(("relative_error", "absolute_error"), RUN_ONLY),
    **dict.fromkeys(("omega_n", "integral_gain", "omega_n_max"), UNUSED),
    **dict.fromkeys(("p", "i", "d"), UNUSED),
    **dict.fromkeys(("minimum", "maximum"), "bounds of a parameter"),
}
WORDS = {  # shapes of fields that are no numbers: names, switches, what is inside
    "name", "text", "comment", "flag", "choice", "texts", "reference", "references", "joint", "joints", "object",
    "list", "anything", "data", "lock", "sublinkages",
    "parameters", "named points", "expression",  # numbers of which others are expressions: test_parameter_runs.py
}  # fmt: skip


def begins(path: str, starts: tuple[str, ...]) -> bool:
    """Whether a path is one of those, an entry of one, or inside of one."""
    return any(path == start or path.startswith((f"{start}[", f"{start}.")) for start in starts)


def test_every_key_of_the_format_has_a_case() -> None:
    """A number without one fails here; what has no derivative is listed with the reason."""
    script = "import json, tests.support.models.every_number; from shiftjax.mechanism import fields"
    script += "; print(json.dumps(fields.labels()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    found = set()
    for label in json.loads(done.stdout):  # without the kinds from outside that other files of tests have entered
        if label == "a wanted value":
            continue  # of a pose, as what has the role: no run reads it, and none has slopes by it
        for field in element(label):
            if field.role is Role.POSING:
                continue
            if field.numeric and not label.startswith(OTHERS):
                found.add(f"{label}.{field.name}")
            else:
                assert field.numeric or field.shape in WORDS or field.name in WITHOUT, (label, field.name)
    # the fields of a joint, and of a restraint's element, stand in each of their kinds, too
    joint = {key.partition(".")[2] for key in CASES if key.startswith("a joint.")}
    inherited = {key for key in found if key.startswith("a joint of type ") and key.partition(".")[2] in joint}
    others = {key for key in found if key.rpartition(".")[0] in OF_THE_CATALOGUE}
    assert found - inherited - others == set(CASES)


def test_every_case_has_numbers_in_the_mechanism() -> None:
    for key, starts in CASES.items():
        for start in starts:
            assert any(begins(path, (start,)) for path in every_number().numbers()), (key, start)


class Derived(NamedTuple):
    """Of every path: the slope of a weighted sum of all that is recorded, in both modes and by differences."""

    reverse: dict[str, float]
    forward: dict[str, float]
    differences: dict[str, float]


@cache
def derived() -> Derived:
    model = every_number()
    numbers = {path: x for path, x in model.numbers().items() if begins(path, sum(CASES.values(), ()))}
    paths, count = list(numbers), len(numbers)

    def total(vary: dict[str, Any]) -> Any:
        channels = shiftjax.simulate(model, vary=vary, **RUN).channels.values()
        y = jnp.concatenate([values.reshape(values.shape[0], -1) for values in channels], 1)
        return y @ jnp.sin(jnp.arange(float(y.shape[1])))

    gradient = jax.grad(lambda vary: total(vary).sum())({path: jnp.array([x]) for path, x in numbers.items()})
    every = {path: jnp.full(count, x) for path, x in numbers.items()}
    along = {path: jnp.zeros(count).at[k].set(1.0) for k, path in enumerate(paths)}
    tangents = jax.jvp(total, (every,), (along,))[1]
    offsets, weights = ORDER_6
    steps = np.array([next(h for starts, h in STEPS if path.startswith(starts)) for path in paths])
    x = np.tile([*numbers.values()], (count, len(offsets), 1))
    for k in range(count):
        x[k, :, k] += steps[k] * offsets
    y = np.asarray(total(dict(zip(paths, x.reshape(-1, count).T, strict=True)))).reshape(count, -1)
    columns = (np.asarray([gradient[path][0] for path in paths]), np.asarray(tangents), y @ weights / steps)
    return Derived(*(dict(zip(paths, column.tolist(), strict=True)) for column in columns))


@pytest.mark.parametrize("key", CASES)
def test_every_numeric_key(key: str) -> None:
    """Reverse mode is forward mode, and what differences of plain runs say."""
    found, seen = derived(), 0
    for path, slope in found.reverse.items():
        if not begins(path, CASES[key]):
            continue
        seen += 1
        assert abs(slope - found.forward[path]) <= MODES * max(abs(slope), 1e-2), path
        off = abs(found.differences[path] - slope)
        assert off <= (NOISE if path in STILL else DIFFERENCES * abs(slope)), (path, off, slope)
        assert (slope == 0.0) == (path in STILL), path
    assert seen
