"""Designs: what `--vary` means, and that the same words always give the same values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shiftjax.ensembles.study.correlation import Correlation, correlation
from shiftjax.ensembles.study.sample import sample
from shiftjax.ensembles.study.spec import DISTRIBUTIONS, Vary, parse_set, parse_vary, split_assignment, varied
from shiftjax.errors import ModelError

COUNT = 4096  # draws
SIGMAS = 5.0  # standard errors: one test in two million fails by chance, and the seed is fixed
HEAVY = 10.0  # kurtosis above which 4096 draws say little of a variance
QUANTILE = 1e-12  # rounding of two ways to write the same function


def lognormal(mean: float, sd: float):
    """scipy's lognormal distribution of a mean and standard deviation of the values."""
    spread = math.sqrt(math.log(1 + (sd / mean) ** 2))
    return stats.lognorm(spread, scale=mean * math.exp(-(spread**2) / 2))


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
        ("a=3:0.5~lognormal", lognormal(3, 0.5)),
        ("a=0.1:2~lognormal", lognormal(0.1, 2)),
        ("a=2:5~triangular", stats.triang(0.5, 2, 3)),
        ("a=2:2.5:5~triangular", stats.triang(1 / 6, 2, 3)),
        ("a=2:2:5~triangular", stats.triang(0, 2, 3)),
        ("a=-5:-2:-2~triangular", stats.triang(1, -5, 3)),
        ("a=3:0.5~normal~sobol", stats.norm(3, 0.5)),
        ("a=3:0.5~lognormal~lhs", lognormal(3, 0.5)),
        ("a=0.01:100~loguniform~sobol", stats.loguniform(0.01, 100)),
        ("a=2:2.5:5~triangular~lhs", stats.triang(1 / 6, 2, 3)),
    ],
)
def test_values_follow_their_law(words: str, law) -> None:
    """Kolmogorov and Smirnov: the largest distance of the distribution functions, at the 1e-4 level.

    Mean and standard deviation within `SIGMAS` of their standard errors, that of the latter from the law's kurtosis.
    """
    values = draw(words, samples=COUNT)["a"]
    assert stats.kstest(values, law.cdf).pvalue > 1e-4
    mean, variance, kurtosis = (float(law.stats(moment)) for moment in "mvk")
    assert abs(values.mean() - mean) < SIGMAS * math.sqrt(variance / COUNT)
    if kurtosis < HEAVY:
        assert abs(values.var() / variance - 1) < SIGMAS * math.sqrt((kurtosis + 2) / COUNT)


def test_values_are_quantiles_of_their_law() -> None:
    """The same numbers of (0, 1) through scipy's inverse distribution functions."""
    u = draw("a=0:1~sobol", samples=512)["a"]
    for words, law in (
        ("normal", stats.norm(2, 3)),
        ("lognormal", lognormal(2, 3)),
        ("loguniform", stats.loguniform(2, 3)),
        ("triangular", stats.triang(0.5, 2, 1)),
    ):
        np.testing.assert_allclose(draw(f"a=2:3~{words}~sobol", samples=512)["a"], law.ppf(u), rtol=QUANTILE)


def test_sobol_and_latin_hypercube_fill_the_square() -> None:
    """Of 256 Sobol points exactly one lies in each of 16 x 16 cells; of Latin points one in each row and column."""
    sobol = draw("a=0:1~sobol", "b=0:1~sobol", samples=256)
    cells = {(int(x * 16), int(y * 16)) for x, y in zip(sobol["a"], sobol["b"], strict=True)}
    assert len(cells) == 256
    latin = draw("a=0:1~lhs", "b=0:1~lhs", samples=50)
    assert {int(x * 50) for x in latin["a"]} == {int(y * 50) for y in latin["b"]} == set(range(50))


def test_lists_are_axes_and_combine_with_grids() -> None:
    design = draw("a=[3, 1, 2]", "b=0:1:2", "c=[10deg, 20deg]", "d=0:1", samples=2)
    assert design["a"].tolist() == [3] * 8 + [1] * 8 + [2] * 8
    np.testing.assert_allclose(design["c"], np.tile(np.repeat(np.deg2rad([10, 20]), 2), 6), rtol=1e-15)
    assert len(set(design["d"])) == 24


def test_latin_points_of_other_laws_are_even() -> None:
    """One value in each of 50 slices of equal probability."""
    values = draw("a=3:0.5~normal~lhs", samples=50)["a"]
    assert sorted((stats.norm(3, 0.5).cdf(values) * 50).astype(int)) == list(range(50))


def pairs(*entries: tuple[str, str, float]) -> Correlation:
    return correlation({"pairs": list(entries)})


def test_normal_numbers_are_correlated_as_stated() -> None:
    """Within `SIGMAS` standard errors of a correlation, (1 - r^2)/sqrt(n) (Kendall, Stuart, 10.9); marginals keep
    their law."""
    study = [parse_vary(f"{path}=3:0.5~normal") for path in "abc"]
    wanted = {("a", "b"): 0.8, ("a", "c"): -0.5, ("b", "c"): 0.0}
    joined = pairs(*((*pair, r) for pair, r in wanted.items()))
    values = sample(study, COUNT, correlation=joined)
    for (one, other), r in wanted.items():
        found = np.corrcoef(values[one], values[other])[0, 1]
        assert abs(found - r) < SIGMAS * (1 - r**2) / math.sqrt(COUNT)
    for path in "abc":
        assert stats.kstest(values[path], stats.norm(3, 0.5).cdf).pvalue > 1e-4
    matrix = {"paths": ["a", "b", "c"], "matrix": [[1, 0.8, -0.5], [0.8, 1, 0], [-0.5, 0, 1]]}
    assert correlation(matrix) == joined


@pytest.mark.parametrize("kind", ["lognormal", "triangular", "sobol", "lhs", "loguniform"])
def test_ranks_are_correlated_as_a_gaussian_copula_says(kind: str) -> None:
    """Spearman's 6/pi asin(r/2), whatever the law; its standard error is at most 1/sqrt(n - 1)."""
    study = [parse_vary(f"{path}=1:2~{kind}") for path in "ab"]
    values = sample(study, COUNT, correlation=pairs(("a", "b", 0.7)))
    rank = np.corrcoef(stats.rankdata(values["a"]), stats.rankdata(values["b"]))[0, 1]
    assert abs(rank - 6 / math.pi * math.asin(0.35)) < SIGMAS / math.sqrt(COUNT - 1)
    law = {"lognormal": lognormal(1, 2), "triangular": stats.triang(0.5, 1, 1), "loguniform": stats.loguniform(1, 2)}
    assert stats.kstest(values["b"], law.get(kind, stats.uniform(1, 1)).cdf).pvalue > 1e-4


def test_correlated_draws_keep_what_sample_promises() -> None:
    """The first correlated path has its own draws; a later one, another seed's samples and other paths change none."""
    study = [parse_vary(f"{path}=0:1~{kind}") for path, kind in zip("abcd", ("normal", "uniform") * 2, strict=True)]
    study[0] = parse_vary("a=0:1~normal")
    study[2] = parse_vary("c=0:1~normal")
    plain = sample(study, 50)
    two = sample(study[:2], 50, correlation=pairs(("b", "a", 0.6)))
    three = sample(study, 200, correlation=pairs(("b", "a", 0.6), ("c", "b", 0.3)))
    assert np.array_equal(two["a"], plain["a"]) and np.array_equal(three["a"][:50], plain["a"])
    assert not np.array_equal(two["b"], plain["b"]) and np.array_equal(two["b"], three["b"][:50])
    assert np.array_equal(three["d"][:50], plain["d"])


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"pairs": [["a", "b", 0.9], ["b", "c", 0.9], ["a", "c", -0.9]]}, "eigenvalue -0.8; .*positive definite"),
        ({"paths": ["a", "b"], "matrix": [[1, 1], [1, 1]]}, "positive definite"),
        ({"pairs": [["a", "b", 0.6], ["b", "c", 0.8]]}, "positive definite"),  # singular: 0.36 + 0.64 = 1
        ({"pairs": [["a", "b", 1.0]]}, "between -1 and 1"),
        ({"pairs": [["a", "a", 0.5]]}, "a with itself"),
        ({"pairs": [["a", "b", 0.5], ["b", "a", 0.5]]}, "each pair of two paths once"),
        ({"pairs": [["a", "b"]]}, r'\["path", "path", correlation\]'),
        ({"pairs": 3}, "pairs = "),
        ({"paths": ["a", "b"], "matrix": [[1, 0.5], [0.4, 1]]}, "symmetric"),
        ({"paths": ["a", "b"], "matrix": [[2, 0.5], [0.5, 1]]}, "ones on its diagonal"),
        ({"paths": ["a", "b"], "matrix": [[1, 0.5]]}, "2 rows of 2 numbers"),
        ({"paths": ["a", "a"], "matrix": [[1, 0], [0, 1]]}, "different paths"),
        ({"paths": ["a", "b"]}, "Give one of the two"),
        ({"pairs": [["a", "b", 0.5]], "matrix": [[1]]}, "Give one of the two"),
        ({"pair": []}, "Did you mean 'pairs'"),
    ],
)
def test_bad_correlations_are_refused(words: dict, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        correlation(words)


def test_only_drawn_paths_are_correlated() -> None:
    with pytest.raises(ModelError, match="'b', which is not drawn"):
        sample([parse_vary("a=1:2"), parse_vary("b=[1, 2]")], 2, correlation=pairs(("a", "b", 0.5)))


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ({"low": 0, "high": 1, "points": 3}, "0:1:3"),
        ({"values": [1, 2, 5]}, "[1, 2, 5]"),
        (["1deg", "2deg"], "[1deg, 2deg]"),
        ({"low": 1, "high": 2}, "1:2"),
        ({"distribution": "sobol", "low": 10, "high": 20, "unit": "deg"}, "10deg:20deg~sobol"),
        ({"distribution": "lognormal", "mean": 1, "sd": 0.1, "sampling": "lhs"}, "1:0.1~lognormal~lhs"),
        ({"distribution": "triangular", "low": 1, "mode": 2, "high": 4}, "1:2:4~triangular"),
        ({"distribution": "triangular", "low": 1, "high": 4}, "1:4~triangular"),
    ],
)
def test_tables_and_texts_say_the_same(words, same: str) -> None:
    assert varied("p", words, "here") == parse_vary(f"p={same}")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"distribution": "gauss", "mean": 1, "sd": 2}, "here.distribution: .*normal"),
        ({"distribution": "normal", "low": 1, "high": 2}, "here.low: found a key that normal does not have"),
        ({"distribution": "normal", "mean": 1}, "normal without sd"),
        ({"low": 1, "higt": 2}, "here.higt: .*Did you mean 'high'"),
        ({"low": "1", "high": 2}, "here.low: .*a finite number"),
        ({"low": 2, "high": 1}, "low below high"),
        ({"low": 1, "high": 2, "points": 2.5}, "here.points: .*a whole number"),
        ({"low": 1, "high": 2, "points": 1}, "different points"),
        ({"low": 1, "high": 2, "unit": "degg"}, "here.unit: .*Did you mean 'deg'"),
        ({"low": 1, "high": 2, "sampling": "halton"}, "here.sampling: .*sobol, lhs"),
        ({"distribution": "sobol", "low": 1, "high": 2, "sampling": "lhs"}, "sobol and lhs"),
        ({"values": 3}, "here.values: .*a list of numbers"),
        ({"values": [1, None]}, r"here.values\[1\]: .*a finite number"),
        ([], "no values"),
        ([1, 2, 1], "a value twice"),
        (["1deg", 2], "the same unit at all"),
        ("[1, 2", "Close the bracket"),
        (None, "a list, a table, or a text"),
        ({}, "uniform without low, high"),
        ("1:0.1~lognormal~halton", "points of ~lognormal"),
        ("1:2~sobol~lhs", "sobol and lhs"),
        ("1:2~normal~lhs~sobol", "two bounds"),
        ("-1:0.1~lognormal", "a positive mean"),
        ("1:0~lognormal", "a positive standard deviation"),
        ("1:5:2~triangular", "a mode within the bounds"),
        ("1:2:3~normal", "no distribution"),
    ],
)
def test_bad_laws_are_refused(words, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        varied("p", words, "here")


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
        ("a=normal:1:0.1", "behind its numbers: 1:0.1~normal"),
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
    st.sampled_from(["uniform", "sobol", "lhs", "triangular"]),
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
