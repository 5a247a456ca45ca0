"""Mechanisms of every kind that lane programs differ in, a random state of one, and its pieces on slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

import shiftjax
from shiftjax.constraints import CoordinateFunction
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kernels.adjoint import AdjointLayout
from shiftjax.kernels.lane_program import Piece
from shiftjax.lanes.graph import Graph
from shiftjax.mechanism.model import Model
from shiftjax.run.options import options_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition
from tests.extensions import maxwell  # noqa: F401
from tests.extensions.mechanisms import four_bar, geared
from tests.support.graphs import evaluate
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, four_bars, nominal_blocks, rod, walked
from tests.support.states import own_blocks

STEP = 1e-30  # of complex numbers: its square is below the rounding of one
OFF = 1e-3  # rad or m, by which unprojected states miss: terms of the order of Phi count
NOT_COUNTED = ("in", "const", "true", "false")


def varied(model: Any, *ends: str, **options: Any) -> Prepared:
    """A model with all numbers of its equations varied whose paths end so; with no end given, with all of them."""
    model = shiftjax.load(model) if isinstance(model, str) else model
    numbers = {k: x for k, x in model.numbers().items() if k.endswith(ends or "") and ".initial_" not in k}
    return prepare(model, {path: np.full(1, x) for path, x in numbers.items()}, options_of(**options))


def sprung() -> Model:
    """A four-bar with a force of every kind that depends on the motion, one with a state of its own."""
    builder, bar = four_bar()
    bar.entry["joints"][0] |= {"stiffness": [0.3, 2.0, 1.0], "damping": [0.1, 0.2, 0.05]}
    bar.force("creep", "maxwell", joint="hinge", k=3.0, c=0.7, initial_stretch=0.2)
    bar.force("shake", "harmonic_load", joint="pin", amplitude=2.0, frequency=9.0, phase=0.5)
    bar.force("shaker", "harmonic_wrench", frame=("coupler", "tip"), frequency=12.0, force_amplitude=(1.0, 0.5, 5.0))
    ends: dict[str, Any] = {"frames": (("fixed", "shaft"), ("coupler", "tip"))}
    bar.restraint("stop", "spring", **ends, knot_points=[0.1], coefficients=[[20.0, 3.0], [10.0, 2.0]])
    bar.restraint("brake", "damper", **ends, coefficients=[[3.0, 1.0, 0.2]])
    bar.restraint("rub", "friction", joint="joint", knot_points=[0.0], coefficients=[[-1.0, 0.1], [1.0, 0.3]])
    return builder.build()


def balls(*, floating: bool = False) -> Model:
    """A four-bar whose coupler hangs in two balls and spins; or one on a base that floats."""
    builder = ModelBuilder(gravity=(0.3, -0.2, -9.81))
    a = builder.assembly("a")
    ground: Any = "fixed"
    if floating:
        ground = "base"
        a.body("base", mass=2.0, inertia=(0.3, 0.4, 0.5), center_of_mass=(0.1, 0.2, 0.3),
               frames={"rocker": (GROUND, 0.0, 0.0)})  # fmt: skip
        a.joint("free", "float", child="base", initial_displacement={"T": (0.1, 0.2, 0.3), "rotation": (0.3, 0.2, 0.1)})
    else:
        builder.frame("rocker", T=(GROUND, 0.0, 0.0))
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        a.body(name, **rod(length))
    ball, turn = ("Ry", 0.526088824933593) if floating else ("spherical", {"rotation": (0.0, 0.526088824933593, 0.0)})
    a.joint("pivot", "Ry", parent=ground, child="crank", initial_displacement=-1.0)
    a.joint("pin", ball, parent=("crank", "tip"), child="coupler", initial_displacement=turn)
    a.joint("hinge", "Ry", parent=(ground, "rocker"), child="rocker", initial_displacement=-1.4380176710407746)
    a.joint("joint", ball, parent=("coupler", "tip"), child=("rocker", "tip"))
    return builder.build()


def flying() -> Model:
    """A body that flies, with a rod on a ball: quaternions without loops, which the projection makes unit ones."""
    builder = ModelBuilder(gravity=(0.3, -0.2, -9.81))
    a = builder.assembly("a").body("hull", mass=2.0, inertia=(0.3, 0.4, 0.5), center_of_mass=(0.1, 0.2, 0.3))
    a.joint("free", "float", child="hull", initial_displacement={"T": (0.1, 0.2, 0.3), "rotation": (0.3, 0.2, 0.1)})
    a.body("rod", **rod(0.5)).joint("ball", "spherical", parent="hull", child="rod")
    return builder.build()


def chain(count: int) -> Model:
    """Rods on hinges about two axes in turn; from 14 on solved without a mass matrix."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    for k in range(count):
        parent: Any = (f"rod{k - 1}", "tip") if k else "fixed"
        a.body(f"rod{k}", **rod(0.2 + 0.01 * k))
        a.joint(f"hinge{k}", ("Ry", "Rz")[k % 2], parent=parent, child=f"rod{k}", initial_displacement=0.2 + 0.1 * k)
    return builder.build()


def driven() -> Prepared:
    """A four-bar without freedom, the drive with numbers."""
    builder, bar = four_bar()
    bar.driver("motor", "harmonic", joint="pivot", amplitude=0.3, frequency=5.0, phase=0.4, offset=-1.1, rate=0.5)
    return varied(builder.build())


def tied() -> Prepared:
    """A four-bar and a disc that a user's function of time ties to each other."""
    tie = CoordinateFunction(("a:spin", "a:pivot"), lambda q, t: q[0] - 0.3 * jnp.sin(q[1]) * q[1] - 0.2 * t * q[0])
    return varied(geared(constraint=False), ".mass", ".T[0]", tie={"cam": tie})


MASS, LENGTH = ".mass", ":tip.T[0]"
CASES: dict[str, Callable[[], Prepared]] = {
    "four_bar": lambda: varied("four_bar"),
    "bricard": lambda: varied("bricard", MASS, LENGTH),
    "n_four_bar_5": lambda: varied("n_four_bar_5", MASS, LENGTH),
    "slider_crank": lambda: varied("slider_crank"),
    "excavator, by block": lambda: varied("excavator", MASS),
    "balls": lambda: varied(balls(), MASS, LENGTH),
    "floating": lambda: varied(balls(floating=True), MASS, LENGTH),
    "forces with states": lambda: varied(sprung()),
    "driven, without freedom": driven,
    "driven by a function": lambda: varied(four_bar()[0].build(), MASS, drive={"pivot": lambda t: jnp.sin(3 * t) - 1}),
    "tied by a function": tied,
    "tree": lambda: varied("double_pendulum"),
    "flying": lambda: varied(flying()),
    "long tree": lambda: varied(chain(15), MASS),
    "islands": lambda: varied(four_bars(2), MASS),
}


class Workspace:
    """The slots of a random state of a mechanism, with random cotangents."""

    def __init__(self, prepared: Prepared, seed: int = 5) -> None:
        plan, rng = prepared.plan, np.random.default_rng(seed)
        q, v = walked(prepared, 1, seed, steps=3, reach=0.1)
        self.partition = Partition(tuple(own_blocks(prepared, q)[0]))
        self.programs = Programs(prepared.setup)
        self.program, self.layout = self.programs.of(self.partition), self.programs.layout
        self.setup, self.plan, self.rng = prepared.setup, plan, rng
        self.moving = plan.nv + plan.ns
        self.mirrored = AdjointLayout(self.layout, len(ACCUMULATORS))
        self.slots = np.zeros(self.mirrored.slot_count)
        x = [*v[:, 0], *rng.uniform(0.1, 0.3, plan.ns)]
        for region, values in (("q", q[:, 0]), ("x", x), ("p", prepared.parameters()[:, 0]), ("t", [0.2])):
            self.slots[self.places(region, len(values))] = values

    def places(self, region: str, count: int | None = None) -> list[int]:
        return list(self.layout.slots(region))[:count]

    def seed(self, *regions: str) -> None:
        """Random cotangents, none of quadratures."""
        for region in regions:
            count = self.moving if region in ("x", "dx") else None
            at = self.mirrored.bar(np.array(self.places(region, count), int))
            self.slots[at] = self.rng.standard_normal(len(at))

    def open(self) -> None:
        """Moves the state off its loops."""
        state = [*self.places("q"), *self.places("x", self.plan.nv)]
        self.slots[state] += OFF * self.rng.standard_normal(len(state))

    @property
    def read(self) -> list[int]:
        """Slots of what is differentiated."""
        return [*self.places("q"), *self.places("x", self.moving), *self.places("p")]


def forward(pieces: Sequence[Piece], slots: np.ndarray) -> list[tuple[Graph, Any, Any, np.ndarray]]:
    """Runs pieces on slots; what plain reverse mode needs of every run."""
    runs = []
    for piece in pieces:
        graph = piece.graph
        for inputs, outputs in piece.runs():
            x = slots[list(inputs)]
            slots[list(outputs)] = evaluate(graph, list(x))
            runs.append((graph, inputs, outputs, x))
    return runs


def complex_slope(pieces: Sequence[Piece], slots: np.ndarray, read: Sequence[int], direction: np.ndarray) -> np.ndarray:
    """The derivative of all slots along a direction."""
    moved = slots.astype(complex)
    moved[list(read)] += 1j * STEP * direction
    forward(pieces, moved)
    return np.imag(moved) / STEP


def operations(graph: Graph) -> int:
    return sum(node[0] not in NOT_COUNTED for node in graph.nodes)


def two_varied(name: str) -> tuple[Programs, Partition]:
    """The programs of a model of the library with a mass and a length varied, in which operations are counted."""
    numbers = shiftjax.load(name).numbers()
    mass = next(path for path in numbers if path.endswith(MASS) and numbers[path])
    prepared = varied(name, mass, *[path for path in numbers if path.endswith(LENGTH)][:1])
    return Programs(prepared.setup), Partition(tuple(nominal_blocks(prepared)))


def counted(pieces: Sequence[Piece]) -> int:
    """Scalar operations of pieces."""
    return sum(operations(piece.graph) for piece in pieces for _ in piece.runs())
