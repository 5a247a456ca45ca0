"""Designs: what `--vary` means, and that the same words always give the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shiftjax.ensembles.sample import sample
from shiftjax.ensembles.spec import DISTRIBUTIONS, Vary, parse_set, parse_vary, split_assignment
from shiftjax.errors import ModelError


def draw(*words: str, samples: int | None = None, seed: int = 0) -> dict[str, np.ndarray]:
    return sample([parse_vary(word) for word in words], samples, seed)


def test_grids_combine_as_a_product_last_fastest() -> None:
    design = draw("a.mass=0:1:2", "b.mass=10:30:3")
    np.testing.assert_array_equal(design["a.mass"], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(design["b.mass"], [10, 20, 30, 10, 20, 30])


def test_drawn_paths_are_drawn_at_every_grid_point() -> None:
    design = draw("k=1:2", "a=0:1:3", samples=4)
    assert list(design) == ["k", "a"]
    np.testing.assert_array_equal(design["a"], np.repeat([0.0, 0.5, 1.0], 4))
    assert len(set(design["k"])) == 12


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_same_seed_same_values(kind: str) -> None:
    words = f"a=1:2~{kind}"
    np.testing.assert_array_equal(draw(words, samples=33)["a"], draw(words, samples=33)["a"])
    assert not np.array_equal(draw(words, samples=33)["a"], draw(words, samples=33, seed=1)["a"])


@pytest.mark.parametrize("kind", [k for k in DISTRIBUTIONS if k != "lhs"])
def test_more_samples_keep_the_first_ones(kind: str) -> None:
    words = f"a=1:2~{kind}"
    np.testing.assert_array_equal(draw(words, samples=10)["a"], draw(words, samples=1000)["a"][:10])


def test_another_path_changes_no_value_of_the_first() -> None:
    np.testing.assert_array_equal(draw("a=0:1", samples=9)["a"], draw("b=0:1", "a=0:1", samples=9)["a"])


@pytest.mark.parametrize(
    ("words", "law"),
    [
        ("a=2:5", stats.uniform(2, 3)),
        ("a=2:5~uniform", stats.uniform(2, 3)),
        ("a=2:5~sobol", stats.uniform(2, 3)),
        ("a=2:5~lhs", stats.uniform(2, 3)),
        ("a=3:0.5~normal", stats.norm(3, 0.5)),
        ("a=0.01:100~loguniform", stats.loguniform(0.01, 100)),
    ],
)
def test_values_follow_their_law(words: str, law) -> None:
    """Kolmogorov and Smirnov: the largest distance of the distribution functions, at the 1e-4 level."""
    values = draw(words, samples=4096)["a"]
    assert stats.kstest(values, law.cdf).pvalue > 1e-4


def test_sobol_and_latin_hypercube_fill_the_square() -> None:
    """Of 256 Sobol points exactly one lies in each of 16 x 16 cells; of Latin points one in each row and column."""
    sobol = draw("a=0:1~sobol", "b=0:1~sobol", samples=256)
    cells = {(int(x * 16), int(y * 16)) for x, y in zip(sobol["a"], sobol["b"], strict=True)}
    assert len(cells) == 256
    latin = draw("a=0:1~lhs", "b=0:1~lhs", samples=50)
    assert {int(x * 50) for x in latin["a"]} == {int(y * 50) for y in latin["b"]} == set(range(50))


def test_quoted_paths_may_hold_an_equals_sign() -> None:
    assert split_assignment("`a=b`:`c.d`.mass=1:2", "--vary") == ("`a=b`:`c.d`.mass", "1:2")
    assert parse_set("car:spring.coefficients[0][1]=-4e3") == ("car:spring.coefficients[0][1]", -4000.0, "")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("nothing", "PATH=VALUE"),
        ("=1:2", "PATH=VALUE"),
        ("a=", "PATH=VALUE"),
        ("a=1", "two bounds"),
        ("a=1:2:3:4", "two bounds"),
        ("a=1:2:3~sobol", "no distribution"),
        ("a=1:x", "finite number"),
        ("a=1:nan", "finite number"),
        ("a=1:inf", "finite number"),
        ("a=2:1", "low below high"),
        ("a=1:1", "low below high"),
        ("a=1:2:0", "whole number from 1"),
        ("a=1:2:2.5", "whole number from 1"),
        ("a=1:2:1", "different points"),
        ("a=1:1:4", "different points"),
        ("a=1:0~normal", "positive standard deviation"),
        ("a=0:1~loguniform", "positive bounds"),
        ("a=1:2~sobl", "Did you mean 'sobol'"),
        ("a=1:2~", "distribution ''"),
    ],
)
def test_bad_words_are_refused(words: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        parse_vary(words)


def test_bad_studies_are_refused() -> None:
    with pytest.raises(ModelError, match="the path twice"):
        draw("a=1:2", "a=3:4", samples=2)
    with pytest.raises(ModelError, match="nothing that varies"):
        draw()
    with pytest.raises(ModelError, match="how many values"):
        draw("a=1:2")
    with pytest.raises(ModelError, match="how many values"):
        draw("a=1:2", samples=0)
    with pytest.raises(ModelError, match="grids only count"):
        draw("a=1:2:3", samples=5)
    with pytest.raises(ModelError, match="fewer points"):
        draw("a=1:2:100000", "b=1:2:100000")


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e6),
    st.sampled_from(["uniform", "sobol", "lhs"]),
    st.integers(1, 40),
    st.integers(0, 2**31),
)
def test_values_stay_within_their_bounds(low: float, width: float, kind: str, samples: int, seed: int) -> None:
    values = sample([Vary("a", low, low + width, 0, kind)], samples, seed)["a"]
    assert values.shape == (samples,)
    assert np.all((values >= low) & (values <= low + width))


@given(st.text(max_size=40))
def test_any_words_are_read_or_refused(words: str) -> None:
    try:
        parse_vary(words)
    except ModelError:
        pass
