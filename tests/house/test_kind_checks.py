"""What the catalogue says of checks (E10): every kind has an entry, of tests that are there and that name the kind."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shiftjax.constraints import CONSTRAINTS
from shiftjax.docs import kind_checks
from shiftjax.docs.catalogue import catalogue
from shiftjax.docs.kind_checks import CHECKS
from shiftjax.docs.kind_pictures.joint_force_pictures import RESTRAINTS
from shiftjax.forces import FORCES
from shiftjax.joints import KINDS

SORTS = (
    kind_checks.JOINTS,
    kind_checks.CONSTRAINTS,
    kind_checks.DRIVERS,
    kind_checks.FORCES,
    kind_checks.RESTRAINTS,
)
TESTS = Path(__file__).resolve().parents[1]
LISTED = {
    *(name for name, kind in KINDS.items() if KINDS.ships(kind)),
    *(name for name, kind in CONSTRAINTS.items() if kind.listed and CONSTRAINTS.ships(kind)),
    *(name for name, kind in FORCES.items() if kind.listed and FORCES.ships(kind)),
    *RESTRAINTS,
}


def test_every_kind_of_the_page_has_an_entry_and_no_other_one() -> None:
    names = re.findall(r"^\| <svg .*</svg> \| \*\*`(\w+)`\*\*", catalogue(), re.M)
    assert set(names) == LISTED
    assert CHECKS.keys() == LISTED, "enter by what it is checked into docs/kind_checks.py"
    assert all(check.by and check.tree and check.loop and check.slopes for check in CHECKS.values())


def test_the_page_says_by_what_each_is_checked() -> None:
    rows = [line for line in catalogue().splitlines() if line.startswith("| <svg ")]
    assert len(rows) == len(LISTED)
    for row in rows:
        assert re.search(r"\*Checked:\* \S.* \(`[\w/]+/test_\w+\.py`", row), row.partition("</svg>")[2]


@cache
def module_of(file: str) -> ModuleType:
    return importlib.import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")


@cache
def parts(name: str) -> dict[str, ast.AST]:
    """What a module of tests defines at its top, by name; what it imports from other ones as "MODULE:NAME"."""
    out: dict[str, ast.AST] = {}
    for node in ast.parse(Path(str(importlib.import_module(name).__file__)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            out[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        out[each.id] = node
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("tests."):
            for alias in node.names:
                out[alias.asname or alias.name] = ast.Constant(f"{node.module}:{alias.name}")
    return out


def words(module: str, name: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Texts in a function or constant of a module of tests, and in all of those that it names, in other ones, too."""
    node = parts(module).get(name)
    if node is None or (module, name) in seen:
        return
    seen.add((module, name))
    if isinstance(node, ast.Constant):
        there, _, other = str(node.value).partition(":")
        yield from words(there, other, seen)
        return
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        elif isinstance(each, ast.Name):
            yield from words(module, each.id, seen)
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            there = parts(module).get(each.value.id)
            if isinstance(there, ast.Constant):  # a module of tests by its name
                package, _, other = str(there.value).partition(":")
                yield from words(f"{package}.{other}", each.attr, seen) if is_module(package, other) else ()


def is_module(package: str, name: str) -> bool:
    return (TESTS.parent / package.replace(".", "/") / f"{name}.py").is_file()


def parameters(test: Any) -> Iterator[str]:
    """Texts among the values that it is run with."""
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            for value in mark.args[1]:
                for each in value if isinstance(value, tuple) else (value,):
                    if isinstance(each, str):
                        yield each


def names_it(test: str, kind: str) -> bool:
    """Whether a test names a kind: by its parameters where those name one of its sort, else by a text of its source,
    or of what that calls."""
    file, _, name = test.partition("::")
    module = module_of(file)
    sort = next((sort for sort in SORTS if kind in sort), {kind: None})
    texts = list(parameters(getattr(module, name)))
    named = {each for each in sort for text in texts if re.search(rf"\b{each}\b", text)}
    return kind in (named or words(module.__name__, name, set()))


@pytest.mark.parametrize("kind", CHECKS)
def test_each_test_of_an_entry_is_there_and_names_the_kind(kind: str) -> None:
    for test in CHECKS[kind].tests:
        file, _, name = test.partition("::")
        assert (TESTS / file).is_file() and Path(file).name.startswith("test_"), test
        assert name.startswith("test_") and callable(getattr(module_of(file), name, None)), f"no {test}"
        assert names_it(test, kind), f"{test} does not name {kind}"


def test_an_entry_cannot_lie() -> None:
    """A test that does not know a kind is seen, by its parameters, its source, and what its source calls."""
    pair = "mechanics/constraints/test_couplings.py::test_a_pair_moves_as_one_inertia"
    assert names_it(pair, "gear") and not names_it(pair, "planetary")
    frames = "mechanics/constraints/test_between_frames.py::test_it_moves_as_the_joint_does"
    assert names_it(frames, "parallel_axes") and not names_it(frames, "cam")
    loads = "gradients/test_gradient_catalogue.py::test_every_number_has_the_slope_of_differences"
    assert names_it(loads, "frame_harmonic") and not names_it(loads, "harmonic")
