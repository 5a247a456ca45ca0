"""Events of studies, of stores and on the command line (D8): the history is that of the run, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import Definition, Event, ModelError, Outcome, Study, simulate, store, sweep
from shiftjax.cli import main
from shiftjax.ensembles.report.content import content_of
from shiftjax.ensembles.report.figures import status_colour
from shiftjax.ensembles.report.sections import _happenings
from shiftjax.ensembles.store.members import members_of
from shiftjax.mechanism.events import event_of_words
from shiftjax.run.results.event_history import EventHistory, history_of_texts, texts_of

LENGTH = "link.center_of_mass[1]"
LENGTHS = [-0.8, -1.0, -1.3]
EVENTS: dict[str, Any] = {
    "rest": "pivot.v",
    "bottom": {"of": "pivot.q", "direction": "up", "action": "stop"},
    "beat": {"of": "sin(60 * t)", "capacity": 2},
}
RUN: dict[str, Any] = {"span": 1.0, "step": 0.01}


def same(one: EventHistory | None, other: EventHistory | None) -> bool:
    assert one is not None and other is not None
    names = ("time", "event", "direction", "count", "stopped")
    pairs = ((np.asarray(getattr(one, name)), np.asarray(getattr(other, name))) for name in names)
    return dict(one.definitions) == dict(other.definitions) and all(
        np.array_equal(a.reshape(b.shape), b, equal_nan=a.dtype.kind == "f") for a, b in pairs
    )


def test_a_store_has_the_history(tmp_path: Path) -> None:
    """D8: of one run and of an ensemble, also what was counted beyond the capacity."""
    whole = simulate("pendulum", **RUN, events=EVENTS, vary={LENGTH: LENGTHS}, accuracy="local")
    assert whole.events is not None and (whole.events.stopped == 1).all() and whole.events.count[0, 2] > 4
    store.write(whole, tmp_path / "whole.zarr")
    assert same(store.events(store.read(tmp_path / "whole.zarr")), whole.events)
    alone = simulate("pendulum", **RUN, events=EVENTS, accuracy="local")
    for name in ("one.zarr", "one.json"):
        store.write(alone, tmp_path / name)
        assert same(store.events(store.read(tmp_path / name)), alone.events)
    assert same(history_of_texts(texts_of(whole.events), whole.events.definitions), whole.events)
    with pytest.raises(ModelError, match="'bottom at 3'"):
        history_of_texts(["bottom at 3"], whole.events.definitions)
    plain = simulate("pendulum", **RUN, accuracy="local")
    store.write(plain, tmp_path / "plain.zarr")
    assert store.events(store.read(tmp_path / "plain.zarr")) is None


def test_a_study_has_the_history_and_its_members_stop_again(tmp_path: Path) -> None:
    """D8: in shards, in a file, from the store; a member that is run again stops at the same bit."""
    metrics = {"when": "time_of(rest)", "beats": "count(beat)", "speed": "final(pivot.v)"}
    given = {**EVENTS, "beat": Event(**EVENTS["beat"])}
    definition = Definition("pendulum", {LENGTH: LENGTHS}, **RUN, events=given, metrics=metrics, keep="none")
    study = sweep(definition, tmp_path / "study.zarr")
    whole = simulate("pendulum", **RUN, events=EVENTS, vary={LENGTH: LENGTHS})
    assert same(Study(study.path).events, whole.events)
    assert study.table["status"].tolist() == ["event"] * 3 and np.isfinite(study.table["speed"]).all()
    again = study.member(2)
    assert again.events is not None and whole.events is not None
    assert again.events.of(0) == whole.events.of(2)
    alone = again.events.without_members()
    assert alone.stopped == 1 and np.array_equal(alone.time, again.events.time[0]) and alone.of() == again.events.of()
    with pytest.raises(ModelError, match="3 members"):
        whole.events.without_members()


def test_what_is_switched_off_has_no_events(tmp_path: Path) -> None:
    """An event of a force that one of two models lacks is none there; its metric is not a number."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    part = builder.assembly("a").body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("slide", "Tz", child="ball")
    part.body("other", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("rail", "Tx", child="other", initial_velocity=1.0)
    definition = Definition(
        builder.build(), **RUN, switch={"other": [True, False]}, events={"far": "rail.q - 0.5"}, keep="none",
        metrics={"t": "time_of(far)"},
    )  # fmt: skip
    study = sweep(definition, tmp_path / "study.zarr")
    assert study.events is not None
    assert [len(study.events.of(k)) for k in range(2)] == [1, 0]
    np.testing.assert_allclose(study.table["t"], [0.5, np.nan], rtol=1e-12)


def test_the_command_line_names_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--event NAME=EXPR:WAY:stop`, with its table; `run --json` lists the instants."""
    given = ["run", "pendulum", "--span", "1", "--step", "0.01", "--event", "bottom=pivot.q:up:stop"]
    assert main([*given, "--event", "never=pivot.q - 9"]) == 0
    out, err = capsys.readouterr()
    assert "bottom" in out and "never" in out and "the event bottom has stopped it" in err
    assert main([*given, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["events"]
    assert line["name"] == "bottom" and line["direction"] == "up" and 0.5 < line["time"] < 0.7
    words = 'model = "pendulum"\nspan = 1.0\n[metrics]\nn = "count(low)"\n[events]\nlow = {{ of = "pivot.q", {} }}\n'
    (tmp_path / "study.toml").write_text(words.format('action = "stop"'))
    assert main(["check", str(tmp_path / "study.toml")]) == 0
    assert "pivot.q:any:stop" in capsys.readouterr().out
    (tmp_path / "study.toml").write_text(words.format("do = 1"))
    assert main(["check", str(tmp_path / "study.toml")]) == 2
    assert "events.low" in capsys.readouterr().err


def test_a_report_names_events(tmp_path: Path) -> None:
    whole = simulate("pendulum", **RUN, events=EVENTS, vary={LENGTH: LENGTHS}, accuracy="local")
    store.write(whole, tmp_path / "whole.zarr")
    tree = store.read(tmp_path / "whole.zarr")
    content = content_of(members_of(tree), tree, "pendulum", lambda poses, numbers: [], (False, True, False))
    rest, bottom, beat = _happenings(content.events)
    assert "happened to 0 of 3 members." in rest and "it stopped 3." in bottom and "first between 0.05236 and" in beat


def test_every_status_has_a_colour_in_reports() -> None:
    """Those of `event` and `impossible_inertia` had none, so that no report of such a study was written; those of
    `singular_pose` and `too_small` were those of `non_finite` and `not_assembled`.
    """
    assert len({status_colour(outcome) for outcome in Outcome}) == len(Outcome)


def test_words_of_events() -> None:
    assert event_of_words("a", "rod:tip.position[2] - 1 : down:stop") == Event(
        "rod:tip.position[2] - 1", "down", "stop"
    )
    assert event_of_words("a", "pivot.q == 2 deg:stop") == Event("pivot.q == 2 deg", action="stop")


def test_a_study_sets_numbers_at_events(tmp_path: Path) -> None:
    """D8: as a table of a file; what the event sets is in the store, so that its members are run again alike."""
    events: dict[str, Any] = {
        "low": {"of": "pivot.q", "direction": "up", "action": "set", "values": {"model_parameters.gravity[1]": 0.0}}
    }
    definition = Definition(
        "pendulum", {LENGTH: LENGTHS}, **RUN, events=events, keep="none", metrics={"v": "final(pivot.v)"}
    )
    study = sweep(definition, tmp_path / "study.zarr")
    lowest = np.sqrt(2 * 9.81 / -np.array(LENGTHS))  # rad/s, from the horizontal on; without gravity it stays so
    np.testing.assert_allclose(study.table["v"], lowest, rtol=1e-7)
    again = study.member(1)
    assert float(again.metrics["v"][0]) == float(study.table["v"].iloc[1])
