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
        room: bytes at the beginning of the memory, for its constants and behind them for its stack, which grows down.
    """

    code: bytes
    room: int


@record
class StepClock:
    """Fixed steps of `h` seconds from `t0` on, `steps` of them, recorded every so many."""

    t0: float
    h: float
    steps: int
    every: int


@record
class LaneRuns:
    """Runs of K members that a page repeats.

    Attributes:
        members: (K,) their numbers in the store. clock: of all.
        groups: name of a group of rows of a lane's table -> first row and number of rows.
        channels: path -> first number and how many, of what is recorded; poses: of each body its first of seven.
        width: numbers that are recorded. first: (K, bodies, 7) poses at the first instant.
        quaternions: first coordinates of quaternions.
        programs: of each combination of partitions that occurs.
        start: (rows, K) the table where they begin. choice: (S, K) their partitions there.
        decisions: (4, D) member, by its place here, step, substructure or `STEPS`, choice; in the order of steps.
        patterns: of moved steps, parts of as many steps. end: (K,) the step at which each ends.
    """

    members: np.ndarray
    clock: StepClock
    groups: dict[str, tuple[int, int]]
    channels: dict[str, tuple[int, int]]
    poses: tuple[int, ...]
    width: int
    first: np.ndarray
    quaternions: tuple[int, ...]
    programs: dict[Combination, WasmModule]
    start: np.ndarray
    choice: np.ndarray
    decisions: np.ndarray
    patterns: tuple[tuple[float, ...], ...]
    end: np.ndarray
