"""Sets of members under names: in choices against Boolean arrays, names that are refused, colours."""

import string

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.members.brush import Brush, Range
from shiftjax.viewer.members.completing import completions
from shiftjax.viewer.members.member_sets import MOST_SETS, MemberSet, first_of, free_name, with_set
from shiftjax.viewer.members.member_table import MemberTable
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import MEMBERS, SWING


@pytest.fixture
def explorer(many_members: ViewedStudy) -> Explorer:
    """With three sets at random."""
    explorer, rng = Explorer(many_members), np.random.default_rng(2)
    for name in ("A", "B", "few_1"):
        explorer.put_sets(with_set(explorer.sets, name, rng.random(MEMBERS) < 0.4, "random", explorer.table))
    return explorer


def test_choices_name_sets(explorer: Explorer) -> None:
    table = explorer.table
    a, b, few = (one.mask for one in explorer.sets)
    swing, kept = table.column(SWING), table.mask("kept")
    for text, expected in {
        "A": a,
        "A and not B": a & ~b,
        "(A or B) and few_1": (a | b) & few,
        "not A and swing > 0.5": ~a & (swing > 0.5),
        "A or kept": a | kept,
    }.items():
        np.testing.assert_array_equal(table.mask(text), expected, err_msg=text)
    worst = np.flatnonzero(a)[np.argsort(-swing[a], kind="stable")][:5]
    assert table.choose("worst:5:swing of A").tolist() == worst.tolist()
    np.testing.assert_array_equal(table.mask("pareto(swing, late) of A and not B"),
                                  table.mask("pareto(swing, late) of X", {"X": a & ~b}))  # fmt: skip
    with pytest.raises(ModelError, match="found 'C'"):
        table.mask("C")
    with pytest.raises(ModelError, match="found 'C'"):
        table.mask("A and C")


def test_a_set_completes_what_is_typed(explorer: Explorer) -> None:
    assert completions("A and not fe", explorer.names())[0] == ("few_1", "A and not few_1")


def test_a_set_keeps_its_members_place_and_colour(explorer: Explorer) -> None:
    table, mask = explorer.table, np.arange(MEMBERS) < 7
    sets = with_set(explorer.sets, "A", mask, "member < 7", table)
    mask[:] = True
    assert [one.name for one in sets] == ["A", "B", "few_1"] and [one.colour for one in sets] == [0, 1, 2]
    assert sets[0].mask.sum() == 7 and sets[0].text == "member < 7"
    sets = with_set(sets[1:], "D", np.arange(MEMBERS) < 9, "", table)
    assert [one.colour for one in sets] == [1, 2, 0], "the first that is free"
    assert first_of(sets, np.array([3, 8, 9])).tolist() == [
        next((one.colour for one in sets if one.mask[k]), -1) for k in (3, 8, 9)
    ]
    assert free_name(sets, table) == "A"
    assert free_name([MemberSet(name, mask, "", 0) for name in string.ascii_uppercase], table) == "set1"


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("", "a word of letters, digits and _"),
        ("2A", "Begin it with a letter"),
        ("A or B", "a word of letters"),
        ("kept", "'kept', which is a word of choices"),
        ("of", "a word of choices"),
        ("pareto", "a word of choices"),
        ("worst", "a word of choices"),
        ("stuck", "a word of choices"),
        ("kg", "'kg', which is a unit.*Take"),
        ("swing", "'swing', which is the column swing"),
        ("member", "which is the column member"),
        ("x" * 40, "a word of letters"),
    ],
)
def test_names_that_choices_would_not_understand(name: str, match: str, explorer: Explorer) -> None:
    with pytest.raises(ModelError, match=match):
        with_set(explorer.sets, name, np.ones(MEMBERS, bool), "", explorer.table)


def test_empty_sets_and_too_many_are_refused(many_members: ViewedStudy) -> None:
    table, sets = MemberTable(many_members), ()
    with pytest.raises(ModelError, match="set A: found nobody"):
        with_set(sets, "A", np.zeros(MEMBERS, bool), "", table)
    for k in range(MOST_SETS):
        sets = with_set(sets, f"s{k}x", np.ones(MEMBERS, bool), "", table)
    assert [one.colour for one in sets] == list(range(MOST_SETS))
    with pytest.raises(ModelError, match=f"{MOST_SETS} at most"):
        with_set(sets, "more", np.ones(MEMBERS, bool), "", table)


def test_what_a_set_was_used_for_stays_when_it_goes(explorer: Explorer) -> None:
    a = explorer.sets[0].mask
    assert explorer.filter("few_1") and explorer.type_brushes("A and swing > 0.3") and explorer.type_front("swing")
    selected = explorer.selected.copy()
    assert selected.any() and explorer.put_sets(explorer.sets[1:]) == "what was selected is so without its expression"
    np.testing.assert_array_equal(explorer.selected, selected)
    assert explorer.brushes == () and explorer.brush_typed == "" and explorer.expression == "few_1"
    assert "all members are shown" in explorer.put_sets([]) and explorer.shown.all() and not explorer.table.sets
    np.testing.assert_array_equal(explorer.selected, selected)
    assert a.sum() > selected.sum()


def test_a_set_within_a_brush(explorer: Explorer) -> None:
    """Ctrl: what of the selection is in the set, in words, too."""
    a, swing = explorer.sets[0].mask, explorer.table.column(SWING)
    explorer.brush(Brush((Range(SWING, 0.3, 0.6),)))
    explorer.brush(Brush((), "A"), "within")
    np.testing.assert_array_equal(explorer.selected, a & (swing >= 0.3) & (swing <= 0.6))
    assert explorer.brush_typed == "(A) and 0.3 <= swing <= 0.6"
    explorer.brush(Brush((), "B"), "within")
    np.testing.assert_array_equal(explorer.selected, a & explorer.sets[1].mask & (swing >= 0.3) & (swing <= 0.6))
    np.testing.assert_array_equal(explorer.table.mask(explorer.brush_typed), explorer.selected)
