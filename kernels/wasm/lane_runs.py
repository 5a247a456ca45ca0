"""Runs of lanes that a page repeats: their code, where they begin, and what is decided on the way."""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

Combination = tuple[int, ...]  # number of the partition of each substructure


@record
class WasmModule:
    """The module of a program.

    It imports a memory and a pointer to the end of its stack, `env.__linear_memory` and `env.__stack_pointer`, and
    exports the functions of `lane_module`.

    Attributes:
        code: for any browser. relaxed: the same by relaxed vector instructions, ten times as fast, where these fuse.
        room: bytes at the beginning of the memory, for its constants and behind them for its stack, which grows down.
    """

    code: bytes
    relaxed: bytes
    room: int


@record
class StepClock:
    """Fixed steps of `h` seconds from `t0` on, `steps` of them, recorded every so many."""

    t0: float
    h: float
    steps: int
    every: int


@record
class DesignNumber:
    """A number of a design: number `place` of a group of rows of a lane, "p", or "q" or "x" where it begins."""

    path: str
    group: str
    place: int


@record
class TriedDesigns:
    """How a page begins and runs designs that no member has.

    Attributes:
        numbers: of a design.
        holding: code that closes loops by others than the joints that stay where they are stated, with one function
            `project`; None where all begin alike.
        multiplier, trigger, window: of the limits of monitors, as `run.advance.ensemble` sets them. limits: of the last
            two. better, tries: what `run.advance.driver` decides by. length: of the model [m].
    """

    numbers: tuple[DesignNumber, ...]
    holding: WasmModule | None
    multiplier: float
    trigger: float
    window: float
    limits: tuple[float, float]
    better: float
    tries: int
    length: float


@record
class LaneRuns:
    """Runs of K members that a page repeats.

    Attributes:
        members: (K,) their numbers in the store. clock: of all.
        groups: name of a group of rows of a lane's table -> first row and number of rows.
        channels: path -> first number and how many, of what is recorded; poses: of each body its first of seven;
            points: of each frame its first of three.
        width: numbers that are recorded. first: (K, bodies, 7) poses at the first instant.
        quaternions: first coordinates of quaternions.
        programs: of each combination of partitions that occurs.
        start: (rows, K) the table where they begin. choice: (S, K) their partitions there.
        decisions: (4, D) member, by its place here, step, substructure or `STEPS`, choice; in the order of steps.
        patterns: of moved steps, parts of as many steps. end: (K,) the step at which each ends.
        designs: how designs begin that no member has, or why they do not.
    """

    members: np.ndarray
    clock: StepClock
    groups: dict[str, tuple[int, int]]
    channels: dict[str, tuple[int, int]]
    poses: tuple[int, ...]
    points: tuple[int, ...]
    width: int
    first: np.ndarray
    quaternions: tuple[int, ...]
    programs: dict[Combination, WasmModule]
    start: np.ndarray
    choice: np.ndarray
    decisions: np.ndarray
    patterns: tuple[tuple[float, ...], ...]
    end: np.ndarray
    designs: TriedDesigns | str
