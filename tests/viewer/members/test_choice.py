"""Members of a study are chosen by numbers, words, rankings and queries; any other text is one clear error."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftjax.errors import ModelError
from shiftjax.viewer.members.choice import Choices
from shiftjax.viewer.members.column_names import resolved

ERRORS = np.array([3e-9, 0.0, np.nan, 1e-12, 5e-9, 5e-9, 2e-9])
COLUMNS = {
    "energy_error": ERRORS,
    "pivot_ratio": np.array([0.5, np.nan, 0.1, 0.4, 0.9, 0.3, 0.2]),
    "steps": np.arange(7) * 10,
    "status": np.array([0, 1, 0, 0, -1, 2, 0]),
    "four_bar:coupler.mass": np.linspace(0.7, 1.3, 7),
    "four_bar:coupler:tip.T[2]": np.arange(7.0),
    "car:left:hub.q": np.zeros(7),
    "car:right:hub.q": np.ones(7),
    "a:`odd name=1`.mass": -np.arange(7.0),
    "tip-base": np.arange(7.0) / 10,
}
UNITS = {"four_bar:coupler.mass": "kg", "four_bar:coupler:tip.T[2]": "m", "car:left:hub.q": "rad", "tip-base": "m"}
CHOICES = Choices(7, np.array([0, 3, 5]), COLUMNS, units=lambda name: UNITS.get(name, ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6", [6]),
        (" 5, 1 ,5,3", [5, 1, 3]),
        ("2:5", [2, 3, 4]),
        ("5:,1", [5, 6, 1]),
        (":", range(7)),
        ("::3", [0, 3, 6]),
        ("all", range(7)),
        ("kept", [0, 3, 5]),
        ("failed", [1, 5]),
        ("worst", [5]),
        ("worst:9", [5, 1, 2, 4, 0, 6, 3]),  # failed, no number, then falling
        ("best:9", [3, 6, 0, 4, 2, 1, 5]),
        ("best:2", [3, 6]),
        ("worst:4:pivot_ratio", [1, 5, 2, 6]),
        ("best:2:pivot_ratio", [4, 0]),
        ("best:2:coupler.mass", [0, 2]),
        ("worst:9:coupler.mass", [6, 4, 3, 2, 0, 5, 1]),  # the largest; those that ended early say nothing of it
        ("best:9:coupler.mass", [0, 2, 3, 4, 6, 1, 5]),
        ("worst:2 of kept", [5, 0]),
        ("worst:2:steps of not failed", [6, 4]),
        ("best:3 of 4,2:4", [3, 4, 2]),
        ("worst:2 of steps > 900", []),
        ("energy_error<1e-9", [1, 3]),
        ("energy_error < 1e-9 and not failed", [3]),
        ("failed or kept", [0, 1, 3, 5]),
        ("not(status>0)and kept", [0, 3]),
        ("not failed and kept or steps == 60", [0, 3, 6]),
        ("status == stuck", []),
        ("status==non_finite or status == near_singular", [4, 5]),
        ("10 <= steps < 3e1", [1, 2]),
        ("1 < 2 and steps>=+50.", [5, 6]),
        ("1 > 2", []),
        ("energy_error != energy_error", [2]),
        ("four_bar:coupler.mass >= 1.1", [4, 5, 6]),
        ("`four_bar:coupler.mass`>=1.1", [4, 5, 6]),
        ("coupler:tip.T[2] == 4", [4]),
        ("`odd name=1`.mass < -4.5", [5, 6]),
        ("a:`odd name=1`.mass<=-6", [6]),
        ("steps < 1e999", range(7)),
        ("status == 'stuck'", []),
        ("status == 'non_finite'", [5]),
        ('status != "ok" and not status == "not_assembled"', [4, 5]),
        ("'ok' == status", [0, 2, 3, 6]),
        ("status > 'ok'", [1, 5]),
        ("coupler.mass >= 1100 g", [4, 5, 6]),
        ("coupler.mass>=1100g", [4, 5, 6]),
        ("coupler.mass * 2 >= 2.2", [4, 5, 6]),
        ("2*coupler.mass>=2.2 kg", [4, 5, 6]),
        ("coupler.mass/coupler:tip.T[2] > 0.7 kg/m", [0, 1]),  # the first divides by zero
        ("coupler:tip.T[2]*coupler:tip.T[2] < 40000 cm^2", [0, 1]),
        ("steps - 10 * coupler:tip.T[2] == 0", range(7)),
        ("steps-20 > 0", [3, 4, 5, 6]),
        ("-steps < -45", [5, 6]),
        ("(steps + 10) / 2 > 30", [6]),
        ("((steps + 10) / 2 > 30) or 3 - 2 > steps", [0, 6]),
        ("tip-base > 500 mm", [6]),
        ("tip-base*2 > 1", [6]),
        ("left:hub.q < 1 deg", range(7)),
        ("1e-9 > energy_error", [1, 3]),
    ],
)
def test_choices(text: str, expected: list[int]) -> None:
    found = CHOICES.choose(text)
    assert found.dtype == np.int64 and found.tolist() == list(expected)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"found nothing; allowed: 17 \| 3,7,9"),
        ("9" * 200_000, "200000 characters"),
        ("7", "member: found 7; allowed: 0 to 6"),
        ("9" * 30, "Separate numbers by commas"),
        ("3,8:9", "member: found 8; allowed: 0 to 6"),
        ("3,,4", "found ''"),
        ("3 4", "found '3 4'"),
        ("5:2", "'5:2'; allowed: a range with members in it"),
        ("0:4:0", "a range with members in it"),
        ("-1", "A query compares"),
        ("wurst:5", "Did you mean 'worst:5'"),
        ("worst:0", "a number from 1"),
        ("worst:5:enrgy_error", "Did you mean 'energy_error'"),
        ("worst:2 of best:3", "a ranking of a ranking"),
        ("enrgy_error<1", "found 'enrgy_error'.*Did you mean 'energy_error'"),
        ("hub.q > 0", "'hub.q', which could be several; allowed: car:left:hub.q, car:right:hub.q"),
        ("steps", "A query compares"),
        ("steps and gap", "found 'and'; allowed: a comparison"),
        ("steps = 3", "found '='.*Equal is =="),
        ("steps < ", "found its end; allowed: a name or a number"),
        ("steps < 3 7", "found '7'; allowed: `and`, `or` or the end"),
        ("(steps < 3", "a closing bracket"),
        ("steps < 3)", "found '\\)'"),
        ("steps & 3", "found '&'; allowed: a comparison"),
        ("`steps < 3", "found '`'"),
        ("status == 'lokced'", "found 'lokced'.*Did you mean 'locked'"),
        ("steps == 'locked'", "the name of a status beside another number"),
        ("status + 'locked' > 1", "numbers beside"),
        ("coupler.mass > 3 mm", "found kg > m; allowed: one unit at both sides of >"),
        ("coupler.mass + coupler:tip.T[2] > 1", "found kg \\+ m; allowed: one unit"),
        ("coupler.mass * coupler.mass > 1 kg", "found kg\\^2 > kg"),
        ("steps + kept > 1", "numbers beside"),
        ("kept < 3", "numbers at both sides"),
        ("steps * < 3", "found '<'; allowed: a name or a number"),
        ("steps + 3", "found its end; allowed: a comparison"),
        ("(" * 51 + "steps<1" + ")" * 51, "at most 50 nested brackets"),
        ("not " * 60_000, "characters"),
        ("not " * 51 + "kept", "at most 50 nested brackets and nots"),
        ("__import__('os').system('false') == 0", 'found "__import__"'),
    ],
)
def test_refused_choices(text: str, match: str) -> None:
    with pytest.raises(ModelError, match=match.replace('"__import__"', "'__import__'")):
        CHOICES.choose(text)


def test_names_without_columns() -> None:
    with pytest.raises(ModelError, match="nothing, there is none"):
        resolved("q", [], "channel")


PLAIN = ("and", "or", "not", "all", "kept", "failed", "worst", "best", "of", "stuck")
WORDS = st.sampled_from(
    [*"()<>=!:,`.-+*/' 0123456789\n٣é", "<=", ">=", "==", "!=", "1e-9", "inf", "nan", "worst:5", *COLUMNS, *PLAIN]
)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=14).map("".join)
    )
)
@example("not" + "(" * 3000)
@example("worst of " * 3000 + "kept")
@example("٣,٤")
@example("worst:1:" + "a " * 3000 + " of kept")
def test_any_text_gives_members_or_one_kind_of_error(text: str) -> None:
    try:
        found = CHOICES.choose(text)
    except ModelError as error:
        assert len(str(error)) < 1000
    else:
        assert found.ndim == 1 and found.dtype == np.int64
        assert len(set(found.tolist())) == len(found) and set(found.tolist()) <= set(range(7))
