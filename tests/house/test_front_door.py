"""The package's own names: one table, one page of help, and nothing loaded before it is used."""

from __future__ import annotations

import functools
import inspect
import pydoc
from importlib import import_module
from pathlib import Path

import pytest

import shiftjax
from shiftjax.registry import Registry
from tests.house.test_without_jax import fresh

ROOT = Path(__file__).resolve().parents[2]
LINES = {name: line for group in shiftjax._PUBLIC.values() for name, (_, line) in group.items()}
PAGE = 130  # lines


@functools.cache
def page() -> str:
    """What `help(shiftjax)` says before it lists the sub-packages."""
    return pydoc.plain(pydoc.render_doc(shiftjax)).split("PACKAGE CONTENTS")[0]


@pytest.mark.parametrize("name", LINES)
def test_the_help_has_the_first_line_of_every_public_object(name: str) -> None:
    value = getattr(shiftjax, name)
    (line, *_) = (inspect.getdoc(value) or "").splitlines()
    assert line == LINES[name] and line.endswith(".")
    assert [text.split(maxsplit=1) for text in page().splitlines() if text.split()[:1] == [name]] == [[name, line]]


def test_the_help_is_one_page() -> None:
    text = page()
    assert len(text.splitlines()) <= PAGE and max(map(len, text.splitlines())) <= 140
    assert all(group in text for group in shiftjax._PUBLIC)
    assert shiftjax.__doc__ is not None and shiftjax.__doc__.startswith("Ensembles of mechanisms")


def test_every_table_of_the_package_is_public() -> None:
    """What is open to extensions can be had from the front door, whose entry is the very table."""
    found = {
        name: value
        for module in ("joints", "forces", "constraints", "formats", "run.programs.integrators", "kernels.backends")
        for name, value in vars(import_module(f"shiftjax.{module}")).items()
        if isinstance(value, Registry)
    }
    found |= {"CHANNELS": import_module("shiftjax.measures.channels").CHANNELS}
    found |= {"METRICS": import_module("shiftjax.measures.metrics").METRICS}
    assert found.keys() == {name for name in LINES if isinstance(getattr(shiftjax, name), Registry)}
    assert all(getattr(shiftjax, name) is table for name, table in found.items())


def test_names_load_on_first_use() -> None:
    assert not {"jax", "numpy", "scipy"} & set(fresh("import shiftjax\nassert shiftjax.__doc__ and dir(shiftjax)"))
    assert "jax" not in fresh("import shiftjax\nshiftjax.load('pendulum'), shiftjax.Harmonic(), shiftjax.Outcome.ok")
    fresh("import shiftjax\nfrom shiftjax import store\nassert shiftjax.store is store and store.read and store.write")


def test_a_driven_run_needs_the_front_door_only() -> None:
    drive = {"pivot": shiftjax.Harmonic(amplitude=0.3, frequency=2.0)}
    result = shiftjax.simulate("pendulum", 0.1, 1e-3, drive=drive, channels=["pivot.q"])
    assert shiftjax.Outcome(int(result.status)) is shiftjax.Outcome.ok and isinstance(result, shiftjax.Result)
