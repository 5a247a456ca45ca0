"""Topology: counts, clusters, orders, tables and the report, against hand-derived answers and the dense oracle."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import shiftjax.run.start.prepare as prepared_module
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.models import names
from shiftjax.models.n_four_bar import n_four_bar
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.info import dot, info, tables, text
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.simulate import simulate
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.analysis import analyze
from shiftjax.topology.partition import Partition
from shiftjax.topology.plan import Plan, row_names
from tests.mechanics.test_library_models import COUNTS
from tests.reference.oracle import Oracle
from tests.support.models.mechanisms import four_bars, rod
from tests.support.models.variants import library, nested, permuted

ALGEBRA = 1e-12  # dense linear algebra on dimensionless Jacobians in double precision
DIFFERENCE = 1e-8  # central differences of Phi with steps of 1e-5
SMALL = tuple(name for name in names() if name != "n_four_bar_40")


def counts(report: dict[str, Any]) -> tuple[Any, ...]:
    """What `COUNTS` holds of a model."""
    parts = [(s["loops"], s["rows"], s["columns"], s["rank"]) for s in report["substructures"]]
    head = tuple(report[key] for key in ("bodies", "joints", "coordinates", "loops", "rank", "dof"))
    return (*head, parts)


# -- counts and clusters -------------------------------------------------------------------------------------------


def blocks(edges: dict[str, tuple[str, str]]) -> set[frozenset[str]]:
    """Biconnected components of more than one edge, by their definition: no vertex separates two edges of one."""
    near = {end for ends in edges.values() for end in ends}

    def parts(without: str) -> dict[str, str]:
        """Vertex -> one that stands for all that it reaches without another one."""
        of = {vertex: vertex for vertex in near}
        for _ in near:
            for a, b in edges.values():
                if without not in (a, b):
                    of[a] = of[b] = min(of[a], of[b])
        return of

    reached = {vertex: parts(vertex) for vertex in near}

    def together(one: str, other: str) -> bool:
        seen = (
            [{of[end] for end in edges[name] if end != vertex} for name in (one, other)]
            for vertex, of in reached.items()
        )
        return all(a & b for a, b in seen)

    components = {frozenset(other for other in edges if together(one, other)) for one in edges}
    return {component for component in components if len(component) > 1}


@pytest.mark.parametrize("name", ["double_wishbone", "excavator", "klann", "n_four_bar_5", "scissor_lift", "stewart"])
def test_m21_groups_of_loops_are_the_biconnected_components(name: str) -> None:
    """Paths of loops to their lowest common ancestors, merged where they overlap, are blocks of the graph of bodies."""
    report = info(load(name))
    assert not any(part["constraints"] for part in report["substructures"])
    edges = {row["joint"]: (row["from"], row["to"]) for row in report["tree"]}
    assert {frozenset(part["joints"]) for part in report["substructures"]} == blocks(edges)


@pytest.mark.parametrize("name", names())
def test_s3_s7_s10_counts_of_the_library(name: str) -> None:
    """S1, S3, S7, S10, F6: table 1.7 of the format's facts; rank and redundant rows of every substructure add up."""
    report = info(load(name))
    assert counts(report) == COUNTS[name]
    assert report["assembled"] and report["gap"] < 1e-9 and not report["dangling"]
    assert report["loops"] == report["joints"] - report["bodies"]
    for part in report["substructures"]:
        assert len(part["dependent"]) == part["rank"] and len(part["independent"]) == part["columns"] - part["rank"]
        assert len(part["redundant_rows"]) == part["rows"] - part["rank"] and not part["doubtful"]
        assert len(part["chords"]) == part["loops"] == part["rows"] // 6


def test_s7_base_body_is_no_part_of_a_cluster() -> None:
    """S7: two loops that hang on one moving body share only their base, and stay two substructures."""
    found = info(four_bars(2))
    assert [s["loops"] for s in found["substructures"]] == [1, 1]
    assert info(load("slider_crank_turntable"))["substructures"][0]["base"] == ["slider_crank_turntable:table"]
    bases = [part["base"] for part in info(load("excavator"))["substructures"]]
    assert bases == [["excavator:cab"], ["excavator:boom"], ["excavator:stick"]]


@pytest.mark.parametrize("last", [0, 1, 2])
def test_s7_a_bridging_loop_merges_clusters(last: int) -> None:
    """S7: windows 0 and 2 share no joint; window 1 bridges them into one cluster whenever it is found."""
    plan = analyze(load(n_four_bar(3)), cut=[f"pin_{last}"])
    assert plan.constraints[-1].name == f"n_four_bar:pin_{last}"
    joints = {group.name[-1]: set(group.coupled) for group in plan.constraints}
    assert not joints["0"] & joints["2"] and joints["0"] & joints["1"] and joints["1"] & joints["2"]
    assert [len(s.groups) for s in plan.substructures] == [3]


def test_f5_clusters_off_is_one_block() -> None:
    """F5: without clustering all loops are one substructure of the same rank and the same freedoms."""
    model = load("excavator")
    whole, parts = info(model, cluster=False), info(model)
    (block,) = whole["substructures"]
    assert (block["rows"], block["rank"]) == (30, 15) and whole["dof"] == parts["dof"] == 4


# -- independence of how it is written -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_s2_permuted_lists_give_the_same_plan(name: str) -> None:
    """S2: the order of the file's lists changes nothing."""
    document = library(name)
    plan = analyze(load(document))
    for seed in (1, 2):
        assert analyze(load(permuted(document, seed))) == plan


@pytest.mark.parametrize("name", ["two_slider_cranks", "bricard", "andrews", "excavator", "delta"])
def test_s55_nested_five_deep_gives_the_same_plan_and_program(name: str) -> None:
    """S55: the same model flat and nested five deep: same plan and lane program, names aside; addressable by path."""
    flat, deep = load(library(name)), load(nested(library(name)))
    if name == "delta":  # tracing it takes seconds
        assert anonymous(analyze(deep)) == anonymous(analyze(flat))
        return
    one, other = prepare(flat, {}), prepare(deep, {})
    assert anonymous(other.plan) == anonymous(one.plan)
    assert program_text(other) == program_text(one)
    joint = next(path for path in deep.numbers() if path.startswith("level0:level1:level2:level3:level4:"))
    assert deep.resolve(joint) == joint


def anonymous(plan: Plan) -> str:
    """A plan without the assemblies in its paths."""
    return re.sub(
        r"'[^']*'", lambda m: "'" + ":".join(m[0].strip("'").split(":")[-2:]).split(":")[-1] + "'", repr(plan)
    )


def program_text(prepared: Prepared) -> str:
    blocks = partitions(prepared, prepared.file_start, 2.0)
    program = Programs(prepared.setup).of(Partition(tuple(block[0] for block in blocks)))
    return "\n".join(str(piece.graph.nodes) for piece in program.accelerate)


def two_floating_chains(order: int = 1) -> ModelBuilder:
    """Two components without a joint to ground, and a grounded pendulum."""
    builder = ModelBuilder()
    part = builder.assembly("part")
    bodies = [("a", 1.0), ("b", 3.0), ("c", 2.0), ("d", 2.0), ("alone", 0.5), ("hung", 1.0)]
    for name, mass in bodies[::order]:
        part.body(name, **rod(1.0, mass))
    joints = [("ab", ("a", "b")), ("dc", ("d", "c")), ("hang", ("fixed", "hung"))]
    for name, (parent, child) in joints[::order]:
        part.joint(name, "Ry", parent=parent, child=child)
    return builder


@pytest.mark.parametrize("order", [1, -1])
def test_s6_every_ungrounded_component_gets_one_float(order: int) -> None:
    """S6: one float a component, at its heaviest body, ties by path; not decided by the order of the lists."""
    model = two_floating_chains(order).build()
    floats = {path: joint.child.body for path, joint in model.joints() if joint.type == "float"}
    expected = {"part:b_float": "part:b", "part:c_float": "part:c", "part:alone_float": "part:alone"}
    assert floats == expected
    report = info(model)
    assert (report["bodies"], report["joints"], report["coordinates"], report["dof"]) == (6, 6, 21, 21)


# -- cutting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four_bar", "slider_crank_turntable", "bricard", "klann", "bicycle_brake", "andrews"])
def test_s4_any_joint_of_a_loop_can_be_cut(name: str) -> None:
    """S4, F16: every joint in a loop can be the chord; rank, freedoms and substructures do not change."""
    model = load(name)
    expected = counts(info(model))
    in_loops = {joint for s in info(model)["substructures"] for joint in s["joints"]}
    for joint in sorted(in_loops):
        report = info(model, cut=[joint])
        assert counts(report) == expected
        assert joint in [chord for s in report["substructures"] for chord in s["chords"]]


def test_s4_cuts_that_are_impossible_are_refused() -> None:
    """S4: a cut that leaves a body without a way to ground, or a joint that is not there, is refused by name."""
    with pytest.raises(ModelError, match="no path from"):
        info(load("pendulum"), cut=["pivot"])
    with pytest.raises(ModelError, match="no path from"):
        info(load("slider_crank_turntable"), cut=["bearing"])
    with pytest.raises(ModelError, match="crank_pivott"):
        info(load("four_bar"), cut=["crank_pivott"])
    with pytest.raises(ModelError, match=r"cut: found 'energy.total'; allowed: paths of joints: four_bar:"):
        info(load("four_bar"), cut=["energy.total"])


# -- the Jacobian and the tables -----------------------------------------------------------------------------------


def dense_jacobian(prepared: Prepared, q: np.ndarray) -> np.ndarray:
    """(rows, nv) d Phi / d speed of all substructures by central differences, dimensionless rows, true columns."""
    lane, plan, h = prepared.file_lane(), prepared.plan, 1e-5
    size = prepared.setup.length
    unit = np.tile([1, 1, 1, size, size, size], len(plan.loops))
    out = np.zeros((len(unit), plan.nv))
    for k in range(plan.nv):
        change = np.zeros((plan.nv, 1))
        change[k] = h
        ends = [host.retract(plan, q, s * change) for s in (1, -1)]
        up, down = (
            np.concatenate([host.true_gap(lane, e, s)[0] for s in range(len(plan.substructures))]) for e in ends
        )
        out[:, k] = (up - down) / (2 * h * unit)
    return out


@pytest.mark.parametrize(
    "name", [n for n in SMALL if COUNTS[n][3] and n not in ("stewart", "delta", "vehicle_chassis")]
)
def test_s8_the_jacobian_is_block_diagonal(name: str) -> None:
    """S8: differences of all residuals by all coordinates are exactly 0 outside the blocks, and J inside them."""
    prepared = prepare(load(name), {})
    q, plan = prepared.file_start.q, prepared.plan
    dense = dense_jacobian(prepared, q)
    for s, block in enumerate(plan.substructures):
        own = dense[block.first_row : block.first_row + block.rows]
        outside = np.setdiff1d(np.arange(plan.nv), block.columns)
        assert not own[:, outside].any()
        unit = np.asarray(prepared.file_lane().units)[list(block.columns)]
        _, J = host.closure(prepared.file_lane(), q, s)
        assert np.abs(own[:, block.columns] * unit - J[0]).max() < DIFFERENCE
        assert block.columns == tuple(range(block.columns[0], block.columns[0] + len(block.columns)))


@pytest.mark.parametrize("name", SMALL)
def test_s14_tables_against_the_dense_oracle(name: str) -> None:
    """S5, S8, S14: orders are permutations, levels rise, primary blocks are regular and their Z is the oracle's."""
    model = load(name)
    found, prepared = tables(model), prepare(model, {})
    plan, oracle = prepared.plan, Oracle(library(name))
    order = found["joint_of_file"]
    assert sorted(order) == list(range(len(oracle.joints)))
    for k, (near, far) in enumerate(zip(found["near"], found["far"], strict=True)):
        assert near < far == k + 1 and found["levels"][far] == found["levels"][near] + 1
    assert [oracle.joints[k].name for k in order] == [joint.path.split(":")[-1] for joint in plan.joints]
    scatter = np.concatenate([np.arange(oracle.joints[k].v.start, oracle.joints[k].v.stop) for k in order]).astype(int)
    Z = np.zeros((plan.nv, 0))
    for s, part in enumerate(found["substructures"]):
        _, J = host.closure(prepared.file_lane(), prepared.file_start.q, s)
        local = [part["columns"].index(c) for c in part["dependent"]]
        free = [part["columns"].index(c) for c in part["independent"]]
        primary = [row - part["first_row"] for row in part["primary_rows"]]
        secondary = [row - part["first_row"] for row in part["secondary_rows"]]
        assert sorted(primary + secondary) == list(range(part["rows"])) and sorted(local + free) == list(
            range(J.shape[2])
        )
        B = -np.linalg.solve(J[0][np.ix_(primary, local)], J[0][np.ix_(primary, free)])
        columns = np.zeros((plan.nv, len(free)))
        columns[part["dependent"]], columns[part["independent"]] = B, np.eye(len(free))
        assert np.abs(J[0] @ columns[part["columns"]]).max(initial=0.0) < ALGEBRA
        Z = np.concatenate([Z, columns], axis=1)
    tied = {c for part in found["substructures"] for c in part["columns"]}
    Z = np.concatenate([Z, np.eye(plan.nv)[:, [k for k in range(plan.nv) if k not in tied]]], axis=1)
    Z *= np.asarray(prepared.file_lane().units)[:, None]
    q = np.concatenate([oracle.start()[0], [0.0]])[:-1]
    N = oracle.null(oracle.motion(q, np.zeros(oracle.nv)).rows)[scatter]
    assert N.shape == Z.shape
    projectors = [(lambda Q: Q @ Q.T)(np.linalg.qr(X)[0]) for X in (N, Z)]
    assert np.abs(projectors[0] - projectors[1]).max() < 1e3 * ALGEBRA  # condition of the largest blocks


# -- the report ----------------------------------------------------------------------------------------------------


def test_s11_f6_redundant_rows_of_a_planar_loop_hold_by_themselves() -> None:
    """S11, F6: of a planar loop about y, rotations x and z and translation y hold whatever the coordinates."""
    (part,) = info(load("four_bar"))["substructures"]
    rows = [(row["row"].split(" ", 1)[1], row["with"]) for row in part["redundant_rows"]]
    assert rows == [("rotation x", []), ("rotation z", []), ("translation y", [])]


@pytest.mark.parametrize("name", ["bricard", "bennett", "sarrus", "scissor_lift"])
def test_f6_redundant_rows_are_what_they_are_said_to_repeat(name: str) -> None:
    """F6: every redundant row is a combination of the rows named with it, and of no fewer."""
    model = load(name)
    prepared = prepare(model, {})
    for s, part in enumerate(info(model)["substructures"]):
        labels = list(row_names(prepared.plan, s))
        _, J = host.closure(prepared.file_lane(), prepared.file_start.q, s)
        for row in part["redundant_rows"]:
            partners = J[0][[labels.index(label) for label in row["with"]]]
            own = J[0][labels.index(row["row"])]
            weights = np.linalg.lstsq(partners.T, own, rcond=None)[0] if len(partners) else np.zeros(0)
            assert np.abs(own - weights @ partners).max() < ALGEBRA
            assert np.abs(weights).min(initial=1.0) > 1e-9
    assert any(row["with"] for part in info(model)["substructures"] for row in part["redundant_rows"]) or name in (
        "sarrus",
        "scissor_lift",
    )


def test_f6_idle_motions_of_the_delta_robot() -> None:
    """F6: the six rods between two balls spin about themselves; both of their balls carry the spin."""
    idle = info(load("delta"))["idle"]
    assert sorted(motion["body"].split(":")[1] for motion in idle) == sorted(
        f"rod_{side}_{k}" for side in ("left", "right") for k in (1, 2, 3)
    )
    for motion in idle:
        rod_name = motion["body"].split(":")[1].removeprefix("rod_")
        assert {j.split("[")[0] for j in motion["joints"]} == {f"delta:elbow_{rod_name}", f"delta:wrist_{rod_name}"}


def test_s22_open_loops_are_reported() -> None:
    """S22: a mechanism that cannot close is reported with what stays open, not refused by the report."""
    document = library("four_bar")
    body = next(b for b in document["assemblies"][0]["bodies"] if b["name"] == "coupler")
    body["frames"][0]["T"] = [5.0, 0.0, 0.0]
    report = info(load(document))
    assert not report["assembled"] and report["gap"] > 0.1 and "do not close" in text(load(document))


def test_dangling_and_unsupported_parts_are_listed() -> None:
    """What touches something switched off is left out and listed."""
    document = library("four_bar")
    document["assemblies"][0]["bodies"][1]["active"] = False
    report = info(load(document))
    assert len(report["dangling"]) == 2 and report["bodies"] == 2 and report["loops"] == 0


@pytest.mark.parametrize("name", ["pendulum", "klann", "excavator", "delta"])
def test_s33_dot_parses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`info --dot`: nodes are declared or bodies, every joint and every chord is one edge, braces match."""
    assert main(["info", name, "--dot"]) == 0
    graph = capsys.readouterr().out.strip()
    head, *lines, tail = graph.splitlines()
    assert head == "graph mechanism {" and tail == "}"
    edge = re.compile(r'  "([^"]+)" -- "([^"]+)" \[([^\]]*)\];')
    node = re.compile(r'  (?:"[^"]+"|node) \[[^\]]*\];')
    edges = [m for m in map(edge.fullmatch, lines) if m]
    assert all(edge.fullmatch(line) or node.fullmatch(line) for line in lines)
    report = info(load(name))
    assert len(edges) == report["joints"] + report["loops"]
    assert sum("chord" in m[3] for m in edges) == report["loops"]
    whole = dot(load(name), whole=True)
    assert whole.count("--") == report["joints"] and "chord" not in whole and "virtual" not in whole


def test_dot_shows_what_acts_between_bodies() -> None:
    """Of a coupling the bodies of its joints, of a constraint and a force between frames those of the frames."""
    builder = ModelBuilder()
    a = builder.assembly("a")
    for name in ("one", "two"):
        a.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)).joint(f"{name}_pin", "Rx", child=name)
    a.constraint("gear", "gear", joints=["one_pin", "two_pin"], ratio=2.0)
    a.constraint("rod", "distance", frames=["one", "fixed"], length=1.0)
    a.force("ball", "ball_on_ball", frames=["two", "one"], radius_1=1.0, radius_2=1.0, k=1.0)
    a.force("motor", "dc_motor", joint="one_pin", stall=1.0, no_load=1.0)
    graph = dot(builder.build())
    assert '"a:gear" [shape=diamond' in graph and '"a:ball" [shape=ellipse' in graph and "motor" not in graph
    edges = re.findall(r'"(a:gear|a:rod|a:ball)" -- "([^"]+)"', graph)
    assert sorted(edges) == [("a:ball", "a:one"), ("a:ball", "a:two"), ("a:gear", "a:one"), ("a:gear", "a:two"),
                             ("a:rod", "a:one"), ("a:rod", "fixed")]  # fmt: skip


def test_names_in_dot_are_escaped() -> None:
    """A quote or a backslash in a name ended the string of Graphviz, or began an escape."""
    builder = ModelBuilder()
    a = builder.assembly("a")
    strange = 'the "left" one', "end\\"
    for name in strange:
        a.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
        a.joint(f"{name} pin", "Rx", child=(name, "origin"))
    string = r'"(?:[^"\\]|\\.)*"'
    edge = re.compile(rf"  ({string}) -- ({string}) \[label=({string}), color=\w+\];")
    edges = [m for m in map(edge.fullmatch, dot(builder.build()).splitlines()) if m]
    ends = {re.sub(r"\\(.)", r"\1", m[2][1:-1]) for m in edges}
    labels = {re.sub(r"\\(.)", r"\1", m[3][1:-1]) for m in edges}
    assert ends == {f"a:{name}" for name in strange} and labels == {f"a:{name} pin" for name in strange}


def test_tables_and_report_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    """F6: report and tables are machine readable and the same from the command line."""
    model = load("two_slider_cranks")
    assert main(["info", "two_slider_cranks", "--tables"]) == 0
    assert json.loads(capsys.readouterr().out) == tables(model)
    assert main(["info", "two_slider_cranks", "--json"]) == 0
    assert counts(json.loads(capsys.readouterr().out)) == COUNTS["two_slider_cranks"]


# -- once ----------------------------------------------------------------------------------------------------------


def test_s16_analysis_happens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """S16: one analysis for a run with repartitions and a sweep; switching an assembly off is another topology."""
    seen: list[Plan] = []

    def counted(*args: Any, **settings: Any) -> Plan:
        seen.append(analyze(*args, **settings))
        return seen[-1]

    monkeypatch.setattr(prepared_module, "analyze", counted)
    vary = {"joint1.initial_velocity": np.linspace(6.0, 8.0, 4), "rod1.mass": np.linspace(0.5, 1.0, 4)}
    result = simulate("bricard", 2.0, 1e-3, vary=vary)
    assert len(seen) == 1 and result.certificate["repartitions"].min() > 0
    document = library("pendulum")
    document["assemblies"].append(json.loads(json.dumps(document["assemblies"][0])) | {"name": "second"})
    both = load(document)
    document["assemblies"][1]["active"] = False
    assert len(prepare(both, {}).plan.joints) == 2 and len(prepare(load(document), {}).plan.joints) == 1
    assert len(seen) == 3


def test_s9_varied_numbers_do_not_recompile() -> None:
    """S9: the identity of every piece follows from what is varied, not from its values."""
    keys = []
    for low in (0.5, 0.9):
        prepared = prepare(load("klann"), {"crank.mass": np.array([low, 1.1])})
        blocks = partitions(prepared, start_of(prepared), 2.0)
        program = Programs(prepared.setup).of(Partition(tuple(block[0] for block in blocks)))
        keys.append([piece.key for piece in (*program.accelerate, *program.project)])
    assert keys[0] == keys[1]
