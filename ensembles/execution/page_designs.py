"""What a page needs to begin a design that no member has: which of its numbers are those of a lane, and what is held.

Problem: a start as `run.start.assembly` makes it: joints where they are stated, all others led along from a pose that
is known. A page leads the numbers from those of a member to those of a design, and closes the loops by a partition
whose independent coordinates are the joints that are held. Where loops and drivers read no such number all begin alike.
Refused: nothing; where a page could not do the same a text says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import shiftjax.run.closing.host_evaluation as host
from shiftjax.kernels.wasm.lane_module import wasm_module
from shiftjax.kernels.wasm.lane_runs import DesignNumber, TriedDesigns, WasmModule
from shiftjax.mechanism.paths import listed
from shiftjax.run.advance.driver import BETTER, TRIES
from shiftjax.run.advance.ensemble import PIVOT_TRIGGER, WINDOW
from shiftjax.run.advance.first_lanes import GAP_LIMIT, MASS_LIMIT
from shiftjax.run.beginning import Begun
from shiftjax.run.programs.held_closing import held_closing
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Block, Partition, blocks_of, complete_pivoting, rank_tolerance

STARTS = {"initial_displacement": "q", "initial_velocity": "x"}  # numbers of joints that only say where a run starts


def designs_of(run: Begun, names: Sequence[str]) -> TriedDesigns | str:
    """How a page begins designs, or why it does not.

    Args:
        names: paths of the numbers that are free.
    """
    prepared, settings = run.prepared, run.lanes.settings
    if {*prepared.vary} != {*names}:
        return f"numbers of a design follow from others ({listed(sorted({*prepared.vary} - {*names}))})"
    if not settings.repartition or not settings.move_steps or settings.stop_at_poses:
        return "it runs with other rules at singular poses than a page has"
    if run.start.at_pose is not None:
        return "members begin on singular poses"
    moves_starts = _moves_starts(run)
    blocks = _holding(run) if moves_starts else ()
    if isinstance(blocks, str):
        return blocks
    numbers = [_number(run, path, blocks) for path in prepared.vary]
    if lacking := [path for path, number in zip(prepared.vary, numbers, strict=True) if number is None]:
        return f"{listed(lacking)} says where a joint begins that others lead, or says more than that"
    return TriedDesigns(
        numbers=tuple(number for number in numbers if number is not None),
        holding=_closing(run, Partition(blocks)) if moves_starts else None,
        multiplier=settings.multiplier,
        trigger=PIVOT_TRIGGER,
        window=WINDOW,
        limits=(GAP_LIMIT[prepared.setup.precision] * prepared.setup.length, MASS_LIMIT),
        better=BETTER,
        tries=TRIES,
        length=prepared.setup.length,
    )


def _moves_starts(run: Begun) -> bool:
    """Whether a number that varies changes where members begin: it says so, or their loops or drivers read it."""
    prepared, programs = run.prepared, run.lanes.recordings[0].programs
    if any(place not in prepared.setup.varied for place in prepared.places):
        return True
    if not prepared.plan.substructures:
        return False
    assert isinstance(programs, Programs)
    piece = held_closing(programs, Partition(tuple(blocks[0] for blocks in run.lanes.known)))
    slots = dict(zip(prepared.setup.varied, programs.layout.slots("p"), strict=True))
    return not piece.read.isdisjoint(slots[place] for place in prepared.places)


def _holding(run: Begun) -> tuple[Block, ...] | str:
    """Of every substructure a partition whose independent coordinates are those that are held."""
    prepared, out = run.prepared, list[Block]()
    plan, nominal = prepared.plan, prepared.file_start
    for s, block in enumerate(plan.substructures):
        stated = {speed for k in run.start.held_positions[s] for speed in plan.coordinates[k].speeds}
        _, J = host.closure(prepared.file_lane(), nominal.beside, s)
        free = [k for k, column in enumerate(block.columns) if column in stated]
        chosen = blocks_of(complete_pivoting(J, rank_tolerance(block, prepared.setup.precision), free), block)[0]
        if {*chosen.independent} != stated or {block.columns[k] for k in run.start.held_speeds[s]} != stated:
            return "no joints say where its loops begin, or others how fast"
        out.append(chosen)
    return tuple(out)


def _closing(run: Begun, partition: Partition) -> WasmModule:
    """The code that closes the loops, in the place of what projects."""
    programs = run.lanes.recordings[0].programs
    assert isinstance(programs, Programs)
    program = replace(programs.of(partition), project=(held_closing(programs, partition),))
    return wasm_module(program, ("project",), steps=False)


def _number(run: Begun, path: str, blocks: Sequence[Block]) -> DesignNumber | None:
    """Where a number of a design stands among those of a lane; None where others lead the joint that it is of, or where
    loops read a start, too, as those of gears do."""
    prepared = run.prepared
    place = prepared.places[prepared.vary.index(path)]
    if place in prepared.setup.varied:
        if prepared.plan.numbers[place].role.of_start:
            return None
        return DesignNumber(path, "p", prepared.setup.varied.index(place))
    joint, _, word = path.rpartition(".")
    coordinate = next((one for one in prepared.plan.coordinates if one.path == joint and one.plain), None)
    led = {speed for block in blocks for speed in block.dependent}
    if word not in STARTS or coordinate is None or coordinate.v in led:
        return None
    return DesignNumber(path, STARTS[word], coordinate.q if STARTS[word] == "q" else coordinate.v)
