"""Options of a run: the records agree with the keywords of `simulate`, and each keyword stands in one of them."""

import inspect
from dataclasses import fields

import pytest

from shiftjax.run.assemble import assemble
from shiftjax.run.options import GROUPS, Options, options_of
from shiftjax.run.simulate import simulate

FUNCTIONS = ("progress", "announce", "watch")  # what is told nothing by default


def defaults(function: object) -> dict[str, object]:
    """Keyword -> what it is where left out."""
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    return {name: each.default for name, each in parameters.items() if name != "model"}


def test_the_records_have_the_keywords_of_simulate() -> None:
    """All of them, once, with the same defaults, so that who makes options of some keywords means the same run."""
    wanted, found = defaults(simulate), Options().flat()
    assert set(found) == set(GROUPS) == set(wanted)
    assert sum(len(fields(getattr(Options(), group.name))) for group in fields(Options)) == len(wanted)
    assert all(found[name] == wanted[name] for name in wanted if name not in FUNCTIONS)
    assert all(found[name]("anything") is None for name in FUNCTIONS)
    assert all(found[name] == value for name, value in defaults(assemble).items() if name not in FUNCTIONS)


def test_some_are_changed() -> None:
    """By keyword, wherever they stand; the others stay, and the records that they came from, too."""
    first = options_of(vary={"a": [1.0]}, hold=["joint"], precision="f32")
    other = first.changed(hold=(), step=1e-3)
    assert (first.start.hold, first.numerics.step) == (["joint"], None)
    assert (other.start.hold, other.numerics.step, other.numerics.precision) == ((), 1e-3, "f32")
    assert other.design is first.design and other.flat() == {**first.flat(), "hold": (), "step": 1e-3}
    with pytest.raises(TypeError, match="no options of a run: hilfe, stepp"):
        options_of(stepp=1.0, hilfe=2)
