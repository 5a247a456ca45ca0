"""Events of a model file (D8): read, written, included; those of every run, but for what is said by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jsonschema
import numpy as np
import pytest

import shiftjax
from shiftjax import Definition, Event, Model, ModelError, Outcome, simulate, store
from shiftjax.cli import main
from shiftjax.ensembles.store.recipe import of_result
from shiftjax.ensembles.study.designs import designs
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.schema import schema
from shiftjax.formats.writer import to_dict
from shiftjax.run.verdict import verdict

G, HEIGHT = 9.81, 2.0
EXACT = 1e-10  # steps of rk4 hold parabolas; instants are off by 1e-10 of a step
RUN: dict[str, Any] = {"span": 1.0, "step": 0.01, "accuracy": "local"}
FALL = float(np.sqrt(2 * HEIGHT / G))


def yard() -> Model:
    """A ball of 1 kg that falls 2 m, with a load on it that is 0."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    part = builder.assembly("yard").body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    part.joint("height", "Tz", child="ball", initial_displacement=HEIGHT)
    part.force("wind", "constant_load", joint="height", load=0.0)
    builder.event("ground", "height.q", direction="down", action="stop")
    builder.event("gust", "t - 0.1 s", action="set", values={"wind.load": "2 N"})
    builder.parameter("shelf", 1.0, unit="length")
    builder.event("half", "yard:ball:origin.position[2] - parameters.shelf", capacity=2)
    return builder.build()


MODEL = yard()
QUIET = {"gust": None}


def test_a_file_keeps_its_events(tmp_path: Path) -> None:
    shiftjax.save(MODEL, tmp_path / "yard.json")
    assert shiftjax.load(tmp_path / "yard.json") == MODEL
    written = json.loads((tmp_path / "yard.json").read_text())
    assert written["events"]["ground"] == {"of": "height.q", "direction": "down", "action": "stop"}
    jsonschema.validate(written, schema())
    plain = {**written, "events": {"ground": "height.q"}}
    assert to_dict(shiftjax.load(plain))["events"] == plain["events"]
    assert shiftjax.load(plain) != MODEL


def test_every_run_has_them() -> None:
    """But for those that the caller replaces or switches off by name."""
    result = simulate(MODEL, **RUN, metrics={"when": "time_of(ground)"})
    assert result.events is not None and result.status == Outcome.event
    assert result.events.names == ("ground", "gust", "half") and result.events.count.tolist() == [1, 1, 1]
    quiet = simulate(MODEL, **RUN, events=QUIET, metrics={"when": "time_of(ground)"})
    assert quiet.events is not None and quiet.events.names == ("ground", "half")
    assert abs(quiet.metrics["when"] - FALL) < EXACT < result.metrics["when"] - FALL
    other = simulate(MODEL, **RUN, events={**QUIET, "ground": "height.q - 1.5"})
    assert other.events is not None and other.status == Outcome.ok
    assert abs(other.events.time[0] - np.sqrt(2 * 0.5 / G)) < EXACT
    assert simulate(MODEL, **RUN, events=dict.fromkeys(MODEL.events)).events is None


def test_a_run_is_repeated_with_the_events_that_it_had(tmp_path: Path) -> None:
    """D8: what was switched off is off in its store and in members that run again."""
    result = simulate(MODEL, **RUN, events=QUIET, vary={"height.initial_displacement": [HEIGHT, 1.5]})
    store.write(result, tmp_path / "s.zarr")
    tree = store.read(tmp_path / "s.zarr")
    history, again = store.events(tree), of_result(tree, [1], "s").run()
    assert history is not None and history.names == ("ground", "half") and result.events is not None
    assert again.events is not None and again.events.of(0) == history.of(1) == result.events.of(1)
    assert again.settings["events"]["gust"] is False


def test_a_group_of_a_study_without_the_joint_has_no_event_of_it() -> None:
    groups = designs(Definition(MODEL, switch={"wind": [True, False]}, vary={"ball.mass": [1.0]}, **RUN))
    assert all(group.settings["events"]["ground"]["action"] == "stop" for group in groups)
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    for name in ("one", "two"):
        part = builder.assembly(name).body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
        part.joint("height", "Tz", child="ball", initial_displacement=HEIGHT)
    builder.event("met", "one:height.q - two:height.q - 1")
    builder.event("low", "one:height.q - 1")
    groups = designs(Definition(builder.build(), switch={"two": [True, False]}, vary={"one:ball.mass": [1.0]}, **RUN))
    assert [group.settings["events"]["met"] is False for group in groups] == [False, True]
    result = simulate(groups[1].model, vary=groups[1].vary(), **groups[1].settings)
    assert result.events is not None and result.events.names == ("low",)


def test_included_files_bring_theirs(tmp_path: Path) -> None:
    """With the paths that they have there, also short ones that two files have, and frames of ground."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    builder.frame("post", T=(0.0, 0.0, 0.5))
    part = builder.assembly("yard").body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    part.joint("my height", "Tz", child="ball", initial_displacement=HEIGHT)
    part.force("wind", "constant_load", joint="my height", load=0.0)
    builder.event("post", "ball:origin.position[2] - fixed:post.position[2]", action="set", values={"wind.load": 3.0})
    builder.event("slow", "`my height`.v + energy.kinetic - parameters.k").event("low", "ball.position[2] - 0.1")
    builder.parameter("k", 0.5)
    shiftjax.save(builder.build(), tmp_path / "yard.json")
    outer = ModelBuilder(gravity=(0.0, 0.0, -G))
    outer.frame("up", T=(0.0, 0.0, 1.0))
    for name, parent in (("left", "origin"), ("right", "up")):
        outer.include(name, "yard.json", parent=f"fixed:{parent}")
    outer.event("left_slow", "left:yard:ball:origin.position[2]")
    model = shiftjax.load(outer.document, tmp_path)
    of_left, of_right = ["left_post", "left_slow_2", "left_low"], ["right_post", "right_slow", "right_low"]
    assert [*model.events] == ["left_slow", *of_left, *of_right]
    assert model.events["right_low"]["of"] == "right:yard:ball.position[2.0] - 0.1"
    assert dict(model.events["right_post"]["values"]) == {"right:yard:wind.load": 3.0}
    assert model.events["right_slow"]["of"] == "right:yard:`my height`.v + energy.kinetic - parameters.right_k"
    assert model.events["right_post"]["of"] == "right:yard:ball:origin.position[2.0] - fixed:right_post.position[2.0]"
    assert verdict(model)["refused"] == []  # every path is one of the whole model


def test_a_threshold_varies_and_has_a_slope() -> None:
    """A shelf at s is met at sqrt(2 (h - s) / g)."""
    events, metrics = {"gust": None, "ground": None}, {"when": "time_of(half)"}

    def when(shelf: Any, height: Any) -> Any:
        vary = {"parameters.shelf": shelf, "height.initial_displacement": height}
        return simulate(MODEL, **RUN, events=events, vary=vary, metrics=metrics).metrics["when"].sum()

    shelves, heights = np.array([0.5, 1.2]), np.array([HEIGHT, 2.5])
    exact = np.sqrt(2 * (heights - shelves) / G)
    assert abs(when(shelves, heights) - exact.sum()) < EXACT
    of_shelf, of_height = jax.grad(when, (0, 1))(shelves, heights)
    np.testing.assert_allclose(of_height, 1 / (G * exact), atol=EXACT)
    np.testing.assert_allclose(of_shelf, -1 / (G * exact), atol=EXACT)
    with pytest.raises(ModelError, match=r"channel parameters.shelv: .*parameters.shelf"):
        simulate(MODEL, **RUN, events={"half": "height.q - parameters.shelv"})


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shiftjax.save(MODEL, file := tmp_path / "yard.json")
    for words in (["info"], ["check"]):
        assert main([*words, str(file)]) == 0
        out = capsys.readouterr().out
        assert "ground" in out and "height.q" in out and "down" in out
    assert main(["info", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"]["gust"]["values"] == {"wind.load": "2 N"}
    run = ["run", str(file), "--span", "1", "--step", "0.01", "--json"]
    assert main([*run, "--event", "ground=off", "--event", "gust=off"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["events"]] == ["half"]
    document = to_dict(MODEL)
    document["events"]["lost"] = "hight.q"
    file.write_text(json.dumps(document))
    assert main(["check", str(file)]) == 2
    assert "refused: event lost: hight: found" in capsys.readouterr().out


WRONG: dict[str, tuple[Any, str]] = {
    "a_list": (["height.q"], "events: .*an object"),
    "no_name": ({"a b": "height.q"}, "events: found an event called 'a b'"),
    "no_expression": ({"e": "height.q +"}, r"events.e: found 'height.q \+'"),
    "nothing": ({"e": {"direction": "up"}}, "events.e: found no `of`"),
    "unknown_key": ({"e": {"of": "height.q", "way": "up"}}, "events.e: found unknown key 'way'"),
    "direction": ({"e": {"of": "height.q", "direction": "sideways"}}, "events.e: direction: found 'sideways'"),
    "capacity": ({"e": {"of": "height.q", "capacity": 0}}, "events.e: capacity: found 0"),
    "values": ({"e": {"of": "height.q", "action": "set"}}, "events.e: found no values of the action 'set'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_event_of_a_file(name: str) -> None:
    events, match = WRONG[name]
    with pytest.raises(ModelError, match=match):
        shiftjax.load({**to_dict(MODEL), "events": events})


OTHER: dict[str, tuple[Callable[[], Any], str]] = {
    "run": (lambda: simulate(MODEL, **RUN, events={"grond": None}), "event grond: found switched off.*'ground'"),
    "study": (
        lambda: designs(Definition(MODEL, events={"grond": False}, **RUN)),
        "event grond: found switched off.*'ground'",
    ),
    "definition": (lambda: Definition(MODEL, events={"ground": True}), r"events.ground"),
    "replaced": (lambda: simulate(MODEL, **RUN, events={"ground": Event("height.q", "side")}), "ground: direction"),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_switches_nothing_off(name: str) -> None:
    call, match = OTHER[name]
    with pytest.raises(ModelError, match=match):
        call()
