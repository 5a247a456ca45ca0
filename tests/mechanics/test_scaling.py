"""Large mechanisms: trees without a mass matrix, separate mechanisms as separate problems, work in proportion (D31)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax.run.closing.host_evaluation as host
from shiftjax import ModelBuilder, info, simulate
from shiftjax.dynamics.equations import null_space
from shiftjax.dynamics.reduced import ARTICULATED, Reduced
from shiftjax.dynamics.tree import composite_mass_matrix, tree_terms
from shiftjax.mechanism.model import Model
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.result import Result
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition
from tests.extensions import numpy_backend  # noqa: F401
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, four_bars, rod

RESIDUAL = 1e-12  # of H a = f, relative to the forces; met 1e-13 for 300 joints in a row
KINDS = ("Rx", "Ry", "Rz", "Tz", "spherical", "float", "rigid")


def chain(count: int) -> Model:
    """Rods in a row on pins about changing axes."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    rows = builder.assembly("chain")
    for k in range(count):
        inertia = (1e-4, 1e-3, 1e-3)
        rows.body(f"b{k}", mass=1.0, center_of_mass=(0.05, 0, 0), inertia=inertia, frames={"tip": (0.1, 0, 0)})
        parent = (f"b{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", ("Ry", "Rz", "Rx")[k % 3], parent=parent, child=f"b{k}", initial_displacement=0.1)
    return builder.build()


def tree(seed: int) -> Model:
    """A branching tree of joints of all kinds, written either way round, one body massless, beside a second tree."""
    random = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    parts = builder.assembly("tree")
    for k in range(14):
        number: dict[str, Any] = {"mass": 0.0, "inertia": (0, 0, 0)} if k == 2 else {
            "mass": random.uniform(0.5, 2), "inertia": tuple(random.uniform(0.5, 0.6, 3)),
            "center_of_mass": tuple(random.normal(size=3)),
        }  # fmt: skip
        parts.body(f"b{k}", **number, frames={"tip": tuple(random.normal(size=3))})
        kind = "Rx" if k in (2, 3) else str(random.choice(KINDS))
        parent = (f"b{int(random.integers(max(0, k - 3), k))}", "tip") if k not in (0, 7) else "fixed"
        parent = ("b2", "tip") if k == 3 else parent
        ends = {"parent": parent, "child": f"b{k}"}
        if random.random() < 0.3:
            ends = {"parent": ends["child"], "child": ends["parent"]}
        parts.joint(f"j{k}", kind, **ends)
    return builder.build()


@pytest.mark.parametrize("model", [tree(seed) for seed in range(6)] + [chain(40)])
def test_a_tree_needs_no_mass_matrix(model: Model) -> None:
    """Articulated bodies solve H a = f as well as LDL^T of H does, and see the same loss of mass (D24)."""
    prepared = prepare(model, {})
    plan, lane, random = prepared.plan, prepared.file_lane(), np.random.default_rng(1)
    q = host.retract(plan, prepared.file_start.q.repeat(3, 1), random.uniform(-0.5, 0.5, (plan.nv, 3)))
    motion = lane.motion(list(q), list(random.uniform(-1, 1, (plan.nv, 3))))
    force = tree_terms(motion, lane.gravity(), ()).force
    Z = null_space([], range(plan.nv))
    articulated, dense = Reduced(motion, Z, large=1), Reduced(motion, Z, large=plan.nv + 1)
    assert articulated.trees and not articulated.parts and not dense.trees
    a, b = (host.per_member(solver.acceleration(force, {}), 3) for solver in (articulated, dense))
    entries = [[row.get(k, 0.0) for k in range(plan.nv)] for row in composite_mass_matrix(motion)]
    H, f = host.matrices_per_member(entries, 3), host.per_member(force, 3)
    residual = np.abs(np.einsum("bij,jb->ib", H, a) - f).max() / np.abs(f).max()
    assert residual < RESIDUAL * max(1.0, np.abs(H).max() * np.abs(a).max() / np.abs(f).max())
    worst = [host.per_member([solver.worst_pivot], 3) for solver in (articulated, dense)]
    np.testing.assert_allclose(*worst, rtol=1e-6)
    conditions = np.linalg.cond(H)
    assert np.abs(a - b).max() < 1e-15 * conditions.max() * np.abs(b).max() + 1e-12


def pendulums(angles: dict[str, float]) -> Model:
    """Pendulums that have nothing to do with each other, each an assembly."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    for name, angle in angles.items():
        part = builder.assembly(name)
        part.body("bob", mass=1.0, center_of_mass=(0, 0, -0.4), inertia=(0.1, 0.1, 0.1))
        part.joint("swing", "Rx", parent="fixed", child="bob", initial_displacement=angle)
    return builder.build()


def many_pendulums(count: int) -> Model:
    return pendulums({f"p{k}": 0.01 * k for k in range(count)})


def test_separate_mechanisms_are_separate_problems() -> None:
    """In one file or each alone: the same motion to the last bit."""
    prepared = prepare(many_pendulums(5), {})
    motion = prepared.file_lane().motion(list(prepared.file_start.q), None)
    assert len(Reduced(motion, null_space([], range(prepared.plan.nv))).parts) == 5
    angles = {"a": 0.3, "b": 0.7}
    together = simulate(pendulums(angles), 1.0, 1e-3, channels=["a:swing.q", "b:swing.q"])
    for name, angle in angles.items():
        alone = simulate(pendulums({name: angle}), 1.0, 1e-3, channels=[f"{name}:swing.q"])
        assert np.array_equal(alone.channels[f"{name}:swing.q"], together.channels[f"{name}:swing.q"])


def several(names: str, speed: float = 1.0) -> Model:
    """Assemblies that nothing ties to each other: b four-bars, p damped pendulums, f free bodies, c chains of pins.

    Where one stands and how it starts follows from its place in the alphabet, so that each can be had alone, too.
    """
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    for name in names.split():
        part, y = builder.assembly(name), float(name[1:])
        for corner, x in (("left", 0.0), ("right", GROUND)):
            builder.frame(f"{name}_{corner}", T=(x, y, 0.0))
        shaft = ("fixed", f"{name}_left")
        if name[0] == "b":
            for bar, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
                part.body(bar, **rod(length))
            part.joint(
                "pivot", "Ry", parent=shaft, child="crank", initial_displacement=-1.0, initial_velocity=speed * y
            )
            part.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5)
            ground = ("fixed", f"{name}_right")
            part.joint("hinge", "Ry", parent=ground, child="rocker", initial_displacement=-1.5)
            part.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-1.0)
        elif name[0] == "f":
            part.body("stone", mass=2.0, inertia=(0.1, 0.2, 0.3))
            part.joint("pivot", "float", parent="fixed", child="stone", initial_velocity=(1, 2, y, 3, 4, 5))
        else:
            more = {"damping": [0.0, 0.05]} if name[0] == "p" else {}
            for k in range(1 if name[0] == "p" else ARTICULATED):
                parent = (f"bar{k - 1}", "tip") if k else shaft
                own = "pivot" if k == 0 else f"pin{k}"
                part.body(f"bar{k}", **rod(0.3))
                part.joint(own, "Ry", parent=parent, child=f"bar{k}", initial_displacement=0.2 * y, **more)
    return builder.build()


def run_of(names: str, span: float = 0.2, **more: Any) -> Result:
    channels = [f"{name}:pivot.{what}" for name in names.split() for what in "qva"]
    return simulate(several(names), span, 1e-3, output_step=1e-2, channels=channels, **more)


def test_islands_run_as_if_alone() -> None:
    """To the last bit, those of equal code too; the energies of all are in the balance."""
    names = "b1 f5 p1 b2 c1 p2 b3 f2"
    together = run_of(names)
    assert together.status == 0
    for name in names.split():
        alone = run_of(name)
        for path, values in alone.channels.items():
            assert np.array_equal(values, together.channels[path]), path
        assert alone.certificate["gap"] <= together.certificate["gap"]
        assert alone.certificate["pivot_ratio"] >= together.certificate["pivot_ratio"]
    assert together.certificate["energy_error"] < 1e-9 and together.certificate["gap"] < 1e-12


@pytest.mark.parametrize("backend", ["xla", "numpy"])
@pytest.mark.usefixtures("quick_xla")
def test_other_backends_run_equal_islands_too(backend: str) -> None:
    names = "b1 p1 b2 p2"
    found, expected = (run_of(names, 0.05, backend=machine) for machine in (backend, "cpu"))
    for path, values in expected.channels.items():
        np.testing.assert_allclose(found.channels[path], values, rtol=0, atol=1e-10)


def test_equal_islands_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they stand and however they start; a varied number of one makes it another."""
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    vary = {"b1:crank.mass": [1.0, 1.1]}
    keys = []
    for names, varied in (("b1", None), ("b1 b2 b3", None), ("b1 b2 b3", vary), ("b1 b2 b3 p1 p4", vary)):
        prepared = prepare(several(names), varied or {})
        blocks = tuple(block[0] for block in partitions(prepared, prepared.file_start, 2.0))
        program = Programs(prepared.setup).of(Partition(blocks))
        keys.append([piece.key for piece in program.accelerate])
        runs = sum(1 + len(piece.repeats) for piece in program.accelerate)
        assert runs == (len(names.split()) + 1 if len(names.split()) > 1 else 1)
    assert [len(own) for own in keys] == [1, 2, 3, 4]


def operations(model: Model) -> int:
    """Of the accelerations of one state."""
    program = Programs(prepare(model, {}).setup).of(Partition(()))
    return sum(len(piece.graph.nodes) for piece in program.accelerate)


@pytest.mark.parametrize("kind", [chain, many_pendulums])
def test_operations_grow_linearly(kind: Any) -> None:
    few, many = operations(kind(2 * ARTICULATED)), operations(kind(4 * ARTICULATED))
    assert many < 2.1 * few


def test_idle_motions_are_small_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decomposition a body at most, of the joints at it; none where no loop is near."""
    sizes: list[int] = []
    svd = np.linalg.svd

    def counted(matrix: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        sizes.append(matrix.size)
        return svd(matrix, *args, **kwargs)

    monkeypatch.setattr(np.linalg, "svd", counted)
    info(many_pendulums(50))
    assert not sizes
    prepared: Prepared = prepare(four_bars(20), {})
    sizes.clear()
    info(prepared.model)
    assert sizes and max(sizes) < 6 * 20 * 6 * 6
