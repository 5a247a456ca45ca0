"""Spoilt files through the reader: a model or one ModelError, never anything else, and never for long."""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.jsonc import parse
from shiftjax.formats.values.entry import keys_of
from shiftjax.mechanism.fields import labels
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.scene_fields import GEOMETRIES
from shiftjax.models import path
from tests.support.complete import part
from tests.support.models.documents import driven, drivers, edited, everything, loads, new, old, shapes

FILES = 750  # of a seed: 3 ms each
KNOWN = sorted({key for label in labels() for key in keys_of(label)})
WORDS = [*KNOWN, "origin", "fixed", "a:b", "", "`", "\ud800", "é"]
SHAPE_WORDS = sorted({key for type in GEOMETRIES for key in keys_of(f"a geometry of type {type}")})
SCALARS = [None, True, False, 0, -1, 1e308, -1e308, 5e-324, math.nan, math.inf, 10**400, "", "x", "fixed", "a:b:c"]
LISTS = [[], [[]], [0, 0], [0, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["fixed"]]
VALUES: list[Any] = [*SCALARS, *LISTS, {}, {"T": [0, 0, 0]}]
SEEDS = [old(), new(), everything(), driven()]
SEEDS.append(edited("model_parameters.units", {"angle": "deg", "length": "mm", "mass": "g", "time": "min"}, everything))
SEEDS += [json.loads(path(name).read_text()) for name in ("four_bar", "delta", "stewart", "bicycle_brake")]
TEXTS = [json.dumps(document).encode() for document in SEEDS]
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"//",
    b"/*",
    b"*/",
    b"\\",
    b"\xff",
    b"\x00",
    b"NaN",
    b"1e999",
    b"-",
    b"\n",
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with every key of it."""
    found, stack = [], [value]
    while stack:
        item = stack.pop()
        pairs = list(item.items()) if isinstance(item, dict) else list(enumerate(item))
        found += [(item, key) for key, _ in pairs]
        stack += [inner for _, inner in pairs if isinstance(inner, (dict, list))]
    return found


def spoil(document: Any, rng: random.Random) -> Any:
    """One to three changes anywhere: another value, another key, a copy, a removal, an exchange."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        every = places(document)
        container, key = rng.choice(every)
        what = rng.randrange(7)
        if what == 0:
            container[key] = copy.deepcopy(rng.choice(VALUES))
        elif what == 1 and isinstance(container, dict):
            container[rng.choice(WORDS)] = container.pop(key)
        elif what == 2 and isinstance(container, dict):
            container[rng.choice(WORDS)] = copy.deepcopy(rng.choice(VALUES))
        elif what == 3:
            del container[key]
        elif what == 4 and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif what == 5:
            other, there = rng.choice(every)
            container[key] = copy.deepcopy(other[there])
        elif isinstance(container[key], (int, float)):
            container[key] = rng.choice((-container[key], container[key] * 1e200, container[key] + rng.random()))
    return document


def scratch(text: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, removed, put in or repeated."""
    for _ in range(rng.randint(1, 4)):
        i, j = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
        what = rng.randrange(4)
        if what == 0:
            text = text[:i] + rng.choice(PIECES) + text[i:]
        elif what == 1:
            text = text[:i] + text[i + rng.randint(1, 5) :]
        elif what == 2:
            text = text[:i] + bytes([rng.randrange(256)]) + text[i + 1 :]
        else:
            text = text[: max(i, j)] if rng.random() < 0.5 else text[:i] + text[j : j + 50] + text[i:]
    return text


def check(source: Any) -> bool:
    """Whether it loads; then it can be walked, written and read back."""
    try:
        model = load(source)
    except ModelError as error:
        assert error.where is not None and error.found and error.allowed and error.todo
        assert len(str(error)) < 5000
        return False
    assert isinstance(model, Model)
    assert all(math.isfinite(value) for value in model.numbers().values())
    assert model.dangling() is not None and model.matrices() is not None and model.unsupported() is not None
    assert load(to_dict(model)) == model
    return True


@pytest.mark.parametrize("seed", range(part(4, 1)))
def test_mutated_files_give_a_model_or_one_model_error(seed: int, tmp_path: Path) -> None:
    """Fuzz: files of fixed seeds; two in three spoilt as documents, one as bytes."""
    rng = random.Random(seed)
    file, good = tmp_path / "m.json", 0
    for k in range(FILES):
        which = rng.choice((0, 1, 2, 2, 3, 4, rng.randrange(len(SEEDS))))
        if k % 3 < 2:
            document = spoil(SEEDS[which], rng)
            if rng.random() < 0.5:
                good += check(document) if isinstance(document, dict) else 0
                continue
            file.write_bytes(json.dumps(document, ensure_ascii=True).encode())
        else:
            file.write_bytes(scratch(TEXTS[which], rng))
        good += check(file)
    assert 100 < good < FILES - 100  # neither all refused nor all taken


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    json_values,
    st.sampled_from(sorted(keys_of("the root"))),
    st.sampled_from(["bodies", "joints", "restraints", "name", "assemblies"]),
)
def test_any_value_anywhere_at_the_top(value: Any, key: str, inner: str) -> None:
    check({**new(), key: value})
    document = new()
    document["assemblies"][0][inner] = value
    check(document)
    check(value if isinstance(value, dict) else {"model_parameters": value})


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(shapes()), st.dictionaries(st.sampled_from(SHAPE_WORDS), json_values, max_size=2))
def test_any_value_in_a_shape(shape: dict[str, Any], spoilt: dict[str, Any]) -> None:
    check(edited("assemblies.0.bodies.0.geometry", [{**shape, **spoilt}]))


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(["drivers", "force_modules"]))
def test_any_value_in_a_driver_or_load(data: Any, where: str) -> None:
    entry = data.draw(st.sampled_from(drivers() if where == "drivers" else loads()))
    spoilt = data.draw(st.dictionaries(st.sampled_from([*entry, "rate", "outside", "frames"]), json_values, max_size=2))
    check(edited(f"assemblies.0.{where}", [{**entry, **spoilt}], driven))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet='{}[],:"\\/*-0123456789.eE trufalsn\n\té', max_size=60))
def test_any_text_parses_as_json_does_or_is_refused(text: str) -> None:
    """Against the library's own reader on texts without comments and trailing commas."""

    def finite(token: str) -> float:
        if not math.isfinite(value := float(token)):
            raise ValueError(token)
        return value

    def whole(token: str) -> float:
        return int(token) if len(token) < 18 else float(token)

    try:
        expected = json.loads(text, parse_float=finite, parse_int=whole, parse_constant=finite)
        strict = True
    except ValueError:
        expected, strict = None, False
    try:
        found, warnings = parse(text, "text")
    except ModelError:
        assert not strict
        return
    if not warnings:
        assert strict
        assert found == expected
