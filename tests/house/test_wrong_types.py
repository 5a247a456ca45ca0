"""Arguments of a wrong kind give `ModelError` or a result, never another error, in every public function."""

from __future__ import annotations

import inspect
from collections import UserString
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError

MODEL = shiftjax.load("pendulum")
SPEED = "pendulum:pivot.initial_velocity"
RESULT = shiftjax.simulate(MODEL, 0.002, channels=["energy.total"])
VIEW = shiftjax.absolute(MODEL)
POSED = shiftjax.assemble(MODEL, keep="all")
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
WRONG: list[Any] = [
    None, 3, -1, 1.5, float("nan"), 10**400, "text", "", "\0", [], [1], ["text"], {}, {"text": 1}, {"text": None},
    {1: 2}, object(), b"x", True, lambda *a: None, np.zeros((2, 2)), np.array("x"), 1j, {1, 2}, iter("a"), int,
    Fraction(-1, 3), Decimal("nan"), np.int8(3), np.array(0.5), np.timedelta64(1, "s"), np.datetime64("2020-01-01"),
    datetime(2020, 1, 1), 10**5000, [10**400], {SPEED: 10**400}, {SPEED: [1.0, None]}, {SPEED: [10**5000]}, "\ud800",
    "long" * 200, Path("/dev/null"), range(10**12), [[1], [2, 3]], np.zeros((0, 3)), {SPEED: b"x"}, jnp.ones(2),
    np.ma.masked_array([1.0, 2.0], [False, True]), np.array([1, None], object), np.array([1j]), UserString("x"),
]  # fmt: skip


def built(method: str) -> Callable[..., Any]:
    """A method of the builder, and then `build`."""

    def call(**given: Any) -> Any:
        model = shiftjax.ModelBuilder()
        if hasattr(model, method) and method not in ("assembly", "include"):
            return getattr(model, method)(**given).build()
        part = model.assembly("a").body("b0", mass=1, inertia=(1, 1, 1), frames={"t": (1, 0, 0)})
        if method != "joint":
            part.joint("j0", "Rx", child="b0")
        getattr(part, method)(**given)
        return model.build()

    return call


def sampled(**given: Any) -> Any:
    return shiftjax.sample([shiftjax.Vary(**given)], 2)


@cache
def running() -> shiftjax.Live:
    return shiftjax.Live(MODEL, [SPEED])


def live(method: str) -> Callable[..., Any]:
    return lambda **given: getattr(running(), method)(**given)


@cache
def state() -> shiftjax.Configuration:
    return shiftjax.configuration(MODEL)


def asked(method: str) -> Callable[..., Any]:
    return lambda **given: getattr(state(), method)(**given)


ASKED: dict[str, dict[str, Any]] = {  # of a configuration
    "pose": {"frame": "link"},
    "jacobian": {"frame": "link", "relative_to": "world", "axes": None, "point": (0, 0, 0)},
    "joint_jacobian": {"joint": "pivot", "axes": "child"},
    "center_of_mass": {"of": "link", "relative_to": "world"},
    "momentum": {"of": None, "about": None, "axes": "world"},
    "augmented_mass_matrix": {"step": 1e-3},
    "applied_forces": {"of": []},
    "channel": {"path": "pivot.q"},
    "rate": {"name": "mass_matrix"},
    "derivative": {"name": "mass_matrix", "wrt": "q"},
    "function": {"name": "mass_matrix"},
    "changed": {"q": {"pivot": 0.1}, "time": 0.0},
}
POINTS = {"body": "pendulum:link", "point": np.zeros(3), "target": np.zeros(3)}
VARIED = {"path": "p", "low": 0.0, "high": 1.0}
ROD = {"body": "b", "end": "b:t.T[0]", "start": None, "mass": None, "mass_per_length": None, "radius": 0.0}
# name -> function, arguments that are right, further arguments; those of its signature are added
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "load": (shiftjax.load, {"source": "pendulum"}, ""),
    "save": (shiftjax.save, {"model": MODEL, "path": "x.json"}, ""),
    "solid": (shiftjax.solid, {"shape": {"type": "sphere", "radius": 1.0}, "density": 1.0}, ""),
    "solid_of_mesh": (shiftjax.solid_of_mesh, {"vertices": CORNERS, "triangles": TRIANGLES, "density": 1.0}, ""),
    "assemble": (shiftjax.assemble, {"model": MODEL}, ""),
    "configuration": (shiftjax.configuration, {"model": MODEL}, ""),
    **{name: (asked(name), given, "") for name, given in ASKED.items()},
    "FrameOn": (lambda **given: asked("pose")(frame=shiftjax.FrameOn(**given)), {"T": (0.0, 1.0, 0.0)}, "base R"),
    "MovingFrame": (
        lambda **given: asked("acceleration")(frame=shiftjax.MovingFrame(**given)),
        {"velocity": (1.0, 0.0, 0.0)},
        "base T R angular_velocity acceleration angular_acceleration",
    ),
    "fisher": (shiftjax.fisher, {"slopes": np.ones((2, 2)), "sigmas": np.ones(2), "scales": np.ones(2)}, ""),
    "Definition": (shiftjax.Definition, {"model": MODEL}, ""),
    "Study": (shiftjax.Study, {"path": "x.zarr"}, ""),
    "Optimum": (shiftjax.Optimum, {"path": "x.zarr"}, ""),
    "sweep": (shiftjax.sweep, {"study": "x.toml"}, ""),
    "optimize": (shiftjax.optimize, {"study": "x.toml"}, ""),
    "sensitivity": (shiftjax.sensitivity, {"study": "x.toml"}, ""),
    "Live.advance": (live("advance"), {"seconds": 1e-3}, ""),
    "Live.change": (live("change"), {"values": {}}, ""),
    "Live.restart": (live("restart"), {"values": None}, ""),
    "Live.set_back": (live("set_back"), {"instant": None}, ""),
    "Live.grab": (live("grab"), POINTS, ""),
    "info": (shiftjax.info, {"model": MODEL}, ""),
    "simulate": (shiftjax.simulate, {"model": MODEL, "span": 0.002}, ""),
    "absolute": (shiftjax.absolute, {"model": MODEL}, ""),
    "BodyCoordinates.jacobian": (VIEW.jacobian, {"x": VIEW.start}, ""),
    "BodyCoordinates.rank": (VIEW.rank, {"x": VIEW.start}, ""),
    "BodyCoordinates.placed": (VIEW.placed, {"q": [0.0]}, ""),
    "BodyCoordinates.moved": (VIEW.moved, {"x": VIEW.start, "change": np.zeros(6)}, ""),
    "BodyCoordinates.closed": (VIEW.closed, {"x": VIEW.start}, ""),
    "BodyCoordinates.of": (VIEW.of, {"result": POSED}, ""),
    "check_joint": (shiftjax.check_joint, {"name": "Rx"}, ""),
    "Live": (shiftjax.Live, {"model": MODEL}, ""),
    "compile": (shiftjax.compile, {"model": MODEL}, ""),
    "CoordinateFunction": (shiftjax.CoordinateFunction, {"joints": ("j",), "function": lambda q, t: q[0]}, ""),
    "ConstantSpeed": (shiftjax.ConstantSpeed, {"speed": 1.0}, ""),
    "Harmonic": (shiftjax.Harmonic, {"amplitude": 1.0}, ""),
    "Polynomial": (shiftjax.Polynomial, {"coefficients": [0.0, 1.0]}, ""),
    "Table": (shiftjax.Table, {"times": [0.0, 1.0], "values": [0.0, 1.0]}, ""),
    "AccelerationTable": (shiftjax.AccelerationTable, {"times": [0.0, 1.0], "accelerations": [0.0, 1.0]}, ""),
    "Vary": (sampled, VARIED, "points distribution unit"),
    "sample": (shiftjax.sample, {"study": [shiftjax.Vary("p", 0.0, 1.0)], "samples": 2}, ""),
    "rod": (shiftjax.rod, ROD, ""),
    "store.write": (shiftjax.store.write, {"result": RESULT, "path": "r.json", "force": True}, ""),
    "store.read": (shiftjax.store.read, {"path": "r.json"}, ""),
    "store.check_target": (shiftjax.store.check_target, {"path": "q.json", "force": True, "batched": False}, ""),
    "Model.replace": (MODEL.replace, {"values": {}}, ""),
    "Model.resolve": (MODEL.resolve, {"path": "pendulum:pivot"}, ""),
    "Result.to_xarray": (RESULT.to_xarray, {}, ""),
    "ModelBuilder": (lambda **given: shiftjax.ModelBuilder(**given).build(), {}, "gravity comment units"),
    "frame": (built("frame"), {"name": "f"}, "T R rotation"),
    "light": (built("light"), {"name": "l"}, "type parent Ka"),
    "terrain": (built("terrain"), {"name": "t"}, "parent scale"),
    "settings": (built("settings"), {"span": 1.0}, "output_step infinity_norm_multiplier integrator"),
    "body": (built("body"), {"name": "x"}, "mass center_of_mass inertia frames geometry active comment"),
    "joint": (
        built("joint"),
        {"name": "x", "type": "Rx", "child": "b0"},
        "parent initial_displacement initial_velocity stiffness damping axis active",
    ),
    "restraint": (
        built("restraint"),
        {"name": "x", "type": "spring", "joint": "j0", "coefficients": [[1.0, 0.0]]},
        "frames knot_points distance_type",
    ),
    "force": (built("force"), {"name": "x", "type": "tire", "tire_type": "fiala", "wheel_body": "b0"}, ""),
    "constraint": (built("constraint"), {"name": "x", "type": "gear"}, ""),
    "include": (built("include"), {"name": "x", "file": "r.json"}, "parent active"),
    "assembly": (built("assembly"), {"name": "x"}, "active comment"),
}


NOT_THERE = (
    "store.read",
    "include",
    "constraint",
    "Study",
    "Optimum",
    "sweep",
    "optimize",
    "sensitivity",
    "Live.set_back",
    "check_joint",  # it is, and takes seconds: `tests/extending/test_joint_contract.py`
)


def arguments(name: str) -> Iterator[str]:
    """What is given, and what the signature and the list say, each once."""
    function, right, further = CALLS[name]
    places = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    signature = [p.name for p in inspect.signature(function).parameters.values() if p.kind in places]
    yield from dict.fromkeys([*right, *further.split(), *signature])


@pytest.mark.parametrize("name", CALLS)
def test_wrong_kinds_are_refused_by_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, right, _ = CALLS[name]
    function(**right) if name not in NOT_THERE else None
    refused = 0
    for argument in arguments(name):
        for value in WRONG:
            try:
                function(**{**right, argument: value})
            except ModelError as error:
                assert "found" in str(error) and len(str(error)) < 2000
                refused += 1
            except Exception as error:
                pytest.fail(f"{name}({argument}={value!r}) gives {type(error).__name__}: {error}")
    assert refused, "nothing was wrong"


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)  # 10**5000 has no text
def test_a_plot_of_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ModelError, match=r"plot: found"):
        RESULT.plot(value)
