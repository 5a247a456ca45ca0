"""What follows from a model is worked out once, and again where anything that it follows from is another."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import files
from shiftjax.formats.files import load
from shiftjax.joints import KINDS
from shiftjax.mechanism import physical
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.worked_out import MOST, WorkedOut
from shiftjax.models import path as path_of
from shiftjax.registry import Registry, changes
from shiftjax.topology.analysis import analyze

NEW = "joint_of_this_test"


@pytest.fixture
def registered() -> Iterator[None]:
    """A kind more, for a moment."""
    KINDS[NEW] = KINDS["revolute"]
    yield
    del KINDS[NEW]


def fresh() -> Model:
    return load(json.loads(path_of("n_four_bar_2").read_text()))


def test_answers_are_those_of_a_model_that_was_never_asked() -> None:
    asked, other = fresh(), fresh()
    for _ in range(2):
        for name in ("bodies", "joints", "restraints", "drivers", "constraints", "force_modules"):
            assert list(getattr(asked, name)()) == list(getattr(other, name)())
        for name in ("numbers", "described", "coordinate_units", "number_units"):
            assert getattr(asked, name)() == getattr(other, name)()
        assert analyze(asked) == analyze(other)
        assert [path for path, _ in asked.elements()] == [path for path, _ in other.elements()]


def test_nobody_changes_what_others_are_told() -> None:
    model = fresh()
    numbers, bodies = model.numbers(), model.bodies()
    numbers.clear()
    next(bodies)
    assert model.numbers() and len(list(model.bodies())) == len(list(bodies)) + 1


def test_a_model_with_other_numbers_answers_for_itself() -> None:
    model = fresh()
    path, value = next((path, value) for path, value in model.numbers().items() if path.endswith(".mass"))
    heavier = model.replace({path: 2.0 * value + 1.0})
    assert heavier.numbers()[path] == 2.0 * value + 1.0 and model.numbers()[path] == value
    with pytest.raises(ModelError, match="mass"):
        model.replace({path: -1.0})
    without = dataclasses.replace(model, assemblies=())
    assert not list(without.bodies()) and list(model.bodies())


def test_copies_begin_with_nothing_and_are_equal() -> None:
    model = fresh()
    analyze(model)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), dataclasses.replace(model)):
        assert model.worked_out and not other.worked_out
        assert other == model and hash(other) == hash(model) and other.numbers() == model.numbers()


def test_kinds_that_come_and_go_are_seen(registered: None) -> None:
    model, calls = fresh(), []
    model.worked_out.of("probe", lambda: calls.append(changes()))
    model.worked_out.of("probe", lambda: calls.append(changes()))
    assert len(calls) == 1
    KINDS[f"{NEW}_2"] = KINDS["revolute"]
    model.worked_out.of("probe", lambda: calls.append(changes()))
    del KINDS[f"{NEW}_2"]
    model.worked_out.of("probe", lambda: calls.append(changes()))
    assert len(calls) == len(set(calls)) == 3


def test_a_registry_changes_in_no_way_that_is_not_seen(registered: None) -> None:
    before = changes()
    KINDS.update({f"{NEW}_2": KINDS[NEW]})
    del KINDS[f"{NEW}_2"]
    assert changes() == before + 2
    for change in (lambda: KINDS.pop(NEW), lambda: KINDS.setdefault(NEW, KINDS["revolute"])):
        seen = changes()
        change()
        assert changes() == seen + 1
    some = Registry("number", {"one": 1.0})
    for change in (lambda: some.__ior__({"two": 2.0}), some.popitem, some.clear):
        seen = changes()
        change()
        assert changes() > seen
    assert not some and changes() == seen + 1


def test_few_answers_stay() -> None:
    known = WorkedOut()
    for k in range(3 * MOST):
        assert known.of(k, lambda k=k: 2 * k) == 2 * k
    assert len(known) == MOST and known.of(0, lambda: "again") == "again"


def test_an_element_is_judged_once_and_others_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    _, body = next(fresh().bodies())
    monkeypatch.setattr(physical, "_judged", {})
    asked: list[Any] = []
    judge = physical._asked
    monkeypatch.setattr(physical, "_asked", lambda item, *rest: (asked.append(item), judge(item, *rest))[1])
    light = dataclasses.replace(body, mass=-1.0)
    for _ in range(2):
        assert not list(physical.faults(body, numbers_of(body)))
        (fault,) = physical.faults(light, numbers_of(light))
        assert fault.found(0) == "mass -1"
    assert len(asked) == 2
    monkeypatch.setattr(physical, "KEPT", 4)
    for k in range(20):
        item = dataclasses.replace(body, mass=1.0 + k)
        list(physical.faults(item, numbers_of(item)))
    assert len(physical._judged) <= 4


def test_a_model_of_the_library_is_read_once_and_again_when_its_file_changes(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "rod.json"
    shiftjax.save(load("pendulum"), place)
    monkeypatch.setattr(files, "LIBRARY", tmp_path.resolve())
    monkeypatch.setattr(files, "_of_library", {})
    first = load(place)
    assert load(place) is first
    place.write_text(place.read_text().replace('"pendulum"', '"swing"'))
    assert load(place) != first and "swing" in str([path for path, _ in load(place).bodies()])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = elsewhere / "rod.json"
    shiftjax.save(first, other)
    assert load(other) is not load(other)
