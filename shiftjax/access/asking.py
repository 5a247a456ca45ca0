"""What methods of a configuration share: each makes a `Question`, and what it gives is the answer for all members."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from shiftjax.access.answers import Question
from shiftjax.access.frame_kinds import FrameChain, FrameChains
from shiftjax.errors import ModelError, nearest, refuse_text
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.record import record
from shiftjax.topology.plan import Plan

OPTIONAL = ("axes", "about")  # frames that may be left out
P = ParamSpec("P")
S = TypeVar("S", bound="Asking")


@record
class PlacedFrames:
    """The frames of one question.

    Attributes:
        chains: name of an argument -> its frame, None where it is left out. extras: the numbers that they bring.
    """

    chains: dict[str, FrameChain | None]
    extras: tuple[Any, ...]

    def question(self, key: Hashable, term: Callable[..., Any], **options: Any) -> Question:
        """What a term is, a function of a state and of frames and options by name."""
        frames = tuple(chain for chain in self.chains.values() if chain is not None)
        keys = tuple(None if chain is None else chain.key() for chain in self.chains.values())
        return Question((key, keys), partial(term, **self.chains, **options), self.extras, frames)


class Asking:
    """What questions need: the model, its plan, and who answers."""

    model: Model
    plan: Plan

    def _answer(self, question: Question) -> np.ndarray:
        """The answer, computed when it is first asked for."""
        raise NotImplementedError

    def _placed(self, **frames: Any) -> PlacedFrames:
        """Frames that are named, None where they are left out.

        Raises:
            ModelError: no such frame.
        """
        chains = FrameChains(self.model, self.plan)
        left_out = {name for name, frame in frames.items() if frame is None and name in OPTIONAL}
        placed = {name: None if name in left_out else chains.of(frame, name) for name, frame in frames.items()}
        return PlacedFrames(placed, tuple(chains.numbers))

    def _bodies_at(self, of: str | Iterable[str] | None) -> tuple[int, ...]:
        """Nodes of the bodies that are named, all where None.

        Raises:
            ModelError: no such body.
        """
        nodes = {node.path: k for k, node in enumerate(self.plan.nodes) if k and not node.virtual}
        if of is None:
            return tuple(nodes.values())
        paths = [self.model.resolve(path) for path in texts_of("of", of)]
        for path in paths:
            if path not in nodes:
                todo = nearest(path, nodes) or "`shiftjax info MODEL` lists them."
                raise ModelError("of", repr(path), f"bodies: {listed(nodes)}", todo)
        return tuple(dict.fromkeys(nodes[path] for path in paths))


def answered(
    method: Callable[Concatenate[S, P], Question],
) -> Callable[Concatenate[S, P], np.ndarray]:
    """A method that makes a question as one that gives its answer; `question` of it is what it was."""

    @functools.wraps(method)
    def asking(self: S, *args: P.args, **options: P.kwargs) -> np.ndarray:
        return self._answer(method(self, *args, **options))

    asking.question = method  # type: ignore[attr-defined]
    return asking


def texts_of(where: str, given: str | Iterable[str]) -> list[str]:
    """One text or several as a list.

    Raises:
        ModelError: something else.
    """
    if isinstance(given, str):
        return [given]
    refuse_text(where, given)
    return list(given)
