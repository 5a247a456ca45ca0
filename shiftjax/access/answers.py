"""Questions about a state as graphs of scalars, evaluated for many members by NumPy, and inside functions by JAX."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.access.frame_kinds import FrameChain
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import LaneValue, Scalar, Vec
from shiftjax.kernels import graph_in_jax
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.in_python import OftenAsked
from shiftjax.memory_cache import forget_oldest
from shiftjax.record import record

RECENT = 16  # designs whose graphs stay, and how many of each
GRAPHS = 512

Nested = Any  # a scalar, or lists of lists of scalars, all of one length on a level


@record
class Question:
    """What is asked of a state.

    Attributes:
        key: equal for questions of equal code. answer: lane code. extras: numbers of frames, each alike or (B,).
        frames: whose numbers they are, of which some may change in time.
    """

    key: Hashable
    answer: Callable[[LaneState], Nested]
    extras: tuple[Any, ...] = ()
    frames: tuple[FrameChain, ...] = ()


@dataclass
class _Answer(OftenAsked):
    graph: Graph
    shape: tuple[int, ...]


class Answers:
    """Graphs of all that was asked of one design."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._made: dict[Hashable, _Answer] = {}

    def made(self, question: Question) -> _Answer:
        """The graph of a question, built once."""
        key = question.key, len(question.extras)
        known = self._made.get(key)
        if known is None:
            forget_oldest(self._made, GRAPHS - 1)
            known = self._made[key] = self._built(question)
        return known

    def _built(self, question: Question) -> _Answer:
        ground, shapes = replace(self.ground, extras=len(question.extras)), list[tuple[int, ...]]()

        def of_inputs(x: Vec) -> Vec:
            answer = question.answer(LaneState(ground, x))
            shapes.append(shape_of(answer))
            return flattened(answer)

        graph = graph_of(of_inputs, ground.size)
        return _Answer(InNumpy(graph), graph, shapes[-1])

    def in_numpy(self, question: Question, x: np.ndarray) -> np.ndarray:
        """(B, ...) the answer for all members.

        Args:
            x: (n, B) the parts of `Ground.parts`, but for the numbers of frames.
        """
        answer, members = self.made(question), x.shape[1]
        extras = [np.full(members, value, float) for value in question.extras]
        out = np.empty((len(answer.graph.outputs), members))
        answer.into([*x, *extras], list(out))
        return np.moveaxis(out.reshape(*answer.shape, members), -1, 0)

    def in_jax(self, question: Question, x: Sequence[Any], dtype: Any) -> Any:
        """(...) the answer for one member, as an array of JAX."""
        answer = self.made(question)
        values = graph_in_jax.evaluate(answer.graph, [*x, *(np.asarray(e, dtype) for e in question.extras)], dtype)
        return jnp.stack(values).reshape(answer.shape) if values else jnp.zeros(answer.shape, dtype)


def shape_of(nested: Nested) -> tuple[int, ...]:
    """(2, 3) of two lists of three scalars."""
    if type(nested) is not list:
        return ()
    return len(nested), *(shape_of(nested[0]) if nested else ())


def flattened(nested: Nested) -> list[Scalar]:
    """All scalars, row by row."""
    if type(nested) is list:
        return [x for part in nested for x in flattened(part)]
    return [nested if type(nested) is LaneValue else float(nested)]


_recent: dict[Hashable, tuple[Answers, Ground]] = {}


def answers_of(ground: Ground) -> Answers:
    """The graphs of a design; the same object for the same plan, partition, numbers and functions."""
    owners = (ground.plan, ground.matrices, *ground.functions)
    key = (*map(id, owners), ground.partition, ground.numbers, ground.varied, ground.length, ground.given)
    known = _recent.get(key)
    if known is None:
        forget_oldest(_recent, RECENT - 1)
        known = _recent[key] = Answers(ground), ground
    return known[0]
