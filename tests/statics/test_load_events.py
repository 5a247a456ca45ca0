"""Events of files along load paths, two zeros in one stride, and what Ctrl-C leaves of a path. M8b."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.statics.loads import followed_curves
from tests.statics.test_load_path import COLUMN

LOCATED = 1e-12


def spring(**events: Any) -> Model:
    """A block on a spring of 100 N/m, which a load pushes: q = F / k."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("block", mass=1.0, inertia=(0.1,) * 3).joint("way", "Tx", child="block")
    a.force("spring", "joint_spring", joint="way", k=100.0).force("load", "constant_load", joint="way", load=0.0)
    for name, words in events.items():
        builder.event(name, **words)
    return builder.build()


PUSH = {"load.load": (0.0, 100.0)}


@pytest.mark.parametrize("events", [None, {"near": "(way.q - 0.52) ** 2 - 1e-8"}])
def test_events_of_files_are_met_and_two_zeros_within_one_stride_are_both_seen(events: Any) -> None:
    """(q - 0.52)^2 = 1e-8, between poses 0.1 apart, and q = 0.8 where a file ends a path."""
    model = spring(near={"of": "(way.q - 0.52)**2 - 1e-8"}, far={"of": "way.q - 0.8", "action": "stop"})
    path = shiftjax.load_path(model, PUSH, distance=0.1, events=events)
    assert [(one.name, one.direction) for one in path.events] == [("near", "down"), ("near", "up"), ("far", "up")]
    assert [one.q["a:way"] for one in path.events] == pytest.approx([0.5199, 0.5201, 0.8], abs=LOCATED)
    assert [one.loads["a:load.load"] for one in path.events] == pytest.approx([51.99, 52.01, 80.0], abs=1e2 * LOCATED)
    assert path.ends == ("the event far",)


def test_what_turns_round_before_zero_is_none_and_files_are_heard() -> None:
    model = spring(near={"of": "(way.q - 0.52)**2 + 1e-8"}, far={"of": "way.q - 0.8", "action": "stop"})
    path = shiftjax.load_path(model, PUSH, distance=0.1, events={"far": None})
    assert path.events == () and path.watched == ("near",) and path.ends == ("the load factor 1 is reached",)
    late = shiftjax.load_path(spring(near={"of": "0.52 - way.q", "direction": "up"}), PUSH, distance=0.1)
    assert late.events == ()
    sets = spring(soft={"of": "way.q - 0.3", "action": "set", "values": {"a:spring.k": 50.0}})
    with pytest.raises(ModelError, match="event soft: found an event that sets numbers"):
        shiftjax.load_path(sets, PUSH)
    assert shiftjax.load_path(sets, PUSH, events={"soft": None}).watched == ()


def test_what_was_followed_is_kept_at_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every one of the first strides: what is there are poses of the path that nobody interrupts."""
    load: dict[str, Any] = {"load": {"load.load": (0.0, -240.0)}, "poses": 30, "distance": 0.05}
    whole = shiftjax.load_path(COLUMN, **load, channels=["pin.q"])
    corrected, left = followed_curves.corrected, [0]

    def stopping(*args: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return corrected(*args)

    monkeypatch.setattr(followed_curves, "corrected", stopping)
    for stride, curves in ((6, 1), (32, 3)):  # of the first curve, and of those that branch off
        left[0] = stride
        with pytest.raises(KeyboardInterrupt) as stop:
            shiftjax.load_path(COLUMN, **load, channels=["pin.q"])
        assert isinstance(stop.value, shiftjax.Interrupted)
        path: Any = stop.value.result
        assert len(path.member) == curves and path.status[-1] == Outcome.interrupted
        assert path.ends[-1] == "it was interrupted" and "run it again" in path.result.messages[-1]
        here = np.isfinite(path.factor)
        assert 1 < here[-1].sum() < 30
        for name in ("factor", "arclength", "residual", "potential"):
            assert np.array_equal(getattr(path, name)[here], getattr(whole, name)[: len(here)][here]), name
        assert np.array_equal(path.channels["pin.q"][here], whole.channels["pin.q"][: len(here)][here])
