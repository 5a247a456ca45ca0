"""Numbers that follow from others: expressions, functions, rods, and units beside numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.study.rod import rod
from shiftjax.ensembles.study.sample import sample
from shiftjax.ensembles.study.spec import parse_set, parse_vary
from shiftjax.errors import ModelError
from shiftjax.expressions.dialects import NUMBERS
from shiftjax.expressions.evaluation import evaluate_number
from shiftjax.expressions.grammar import parse
from shiftjax.quantities import check_unit, unit_in_si
from shiftjax.run.derive import with_derived

ROUNDED = 1e-15  # the same formula, written in another order of operations
MODEL = shiftjax.load("four_bar")
TIP, LENGTHS = "coupler:tip.T[0]", np.linspace(0.42, 0.6, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * {a} ** 2 + 1", 19.0),
        ("-{a} / (1 + +1)", -1.5),
        ("sqrt(abs({b:c.T[0]})) * max({a}, 1)", 6.0),
        ("atan2(1, 0) + asin(min(0, 1)) - pi / 2", 0.0),
        ("2e-3*{`odd.name={`:x.mass}", 0.01),
    ],
)
def test_expressions(text: str, value: float) -> None:
    numbers = {"a": np.float64(3.0), "b:c.T[0]": np.float64(-4.0), "`odd.name={`:x.mass": np.float64(5.0)}
    assert evaluate_number(parse(text, "here", NUMBERS), numbers, "here") == pytest.approx(value, abs=ROUNDED)


@pytest.mark.parametrize(
    "text",
    [
        "", "2 *", "__import__('os').getcwd()", "{a}.__class__", "{a}[0]", "(lambda: 1)()", "[1, 2]", "'text'", "True",
        "1j", "1 if {a} else 2", "{a} < 2", "{a} := 2", "_0", "{a", "a}", "{}", "-" * 1500 + "1", "1" + "0" * 400,
        "sin(x=1)", "sin(*{a})", "1\n2", "{a}\x00", "9" * 3000,
    ],
)  # fmt: skip
def test_nothing_else_is_evaluated(text: str) -> None:
    with pytest.raises(ModelError, match=r"derive x: found .*allowed: numbers, paths in braces"):
        evaluate_number(parse(text, "derive x", NUMBERS), {"a": np.float64(1.0)}, "derive x")


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        ({"coupler.mass": "{rocker.mass}", "rocker.mass": "{coupler.mass}"}, "a circle: .*coupler.mass <- .*rocker.ma"),
        ({"coupler.mass": "2 * {coupler.mass}"}, "a circle"),
        ({"coupler.mas": "1"}, "no number '.mas'.*Did you mean 'four_bar:coupler.mass'"),
        ({"coupler.mass": "{rokker.mass}"}, "no active body"),
        ({TIP: "1"}, "the same number in vary, too"),
        ({"crank.mass": "1"}, "the same number in set, too"),
        ({"coupler.mass": "1", "four_bar:coupler.mass": "2"}, "the same number in derive, too"),
        ({"coupler.mass": 2.0}, "found 2.0; allowed: a text or a function"),
        ({"coupler.mass": lambda n: "much"}, "found 'much'; allowed: numbers"),
        ({"coupler.mass": lambda n: np.zeros(3)}, r"shape \(3,\); allowed: one number, or one a member, shape \(5,\)"),
        ({"coupler.mass": "rocker"}, r"Is it a path\? Write {rocker}"),
        ({"coupler.mass": "sinn(1)"}, "Did you mean 'sin'"),
        ({"coupler.mass": "max(1)"}, "max of 1.*allowed: max of 2"),
        ({"coupler.mass": "1 / 0"}, "found inf; allowed: one finite number"),
    ],
)
def test_what_cannot_be_derived_is_refused(derive: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.simulate(MODEL, 0.01, vary={TIP: LENGTHS}, assign={"crank.mass": 1.0}, derive=derive)


@pytest.mark.parametrize("vary", [{TIP: 0.5}, {TIP: ["long"]}, {TIP: [0.5], "crank.mass": [1.0, 2.0]}])
def test_bad_designs_are_refused_with_derive_too(vary: Any) -> None:
    with pytest.raises(ModelError, match="vary"):
        shiftjax.simulate(MODEL, 0.01, vary=vary, derive={"coupler.mass": f"{{{TIP}}}"})


def test_a_derived_number_is_like_a_varied_one() -> None:
    """The same bits as with the values worked out by hand; a chain in any order; texts and functions alike."""
    derive = {"rocker.mass": "{coupler.mass} / 2", "coupler.mass": lambda n: 2.4 * n[TIP]}
    given = {TIP: LENGTHS, "rocker.mass": 2.4 * LENGTHS / 2, "coupler.mass": 2.4 * LENGTHS}
    runs = [
        shiftjax.simulate(MODEL, 0.2, channels=["rocker_pivot.q"], vary={TIP: LENGTHS}, derive=derive),
        shiftjax.simulate(MODEL, 0.2, channels=["rocker_pivot.q"], vary=given),
    ]
    assert list(runs[0].design) == list(runs[1].design) and runs[0].units == runs[1].units
    for path, values in runs[1].design.items():
        np.testing.assert_array_equal(runs[0].design[path], values)
    np.testing.assert_array_equal(runs[0].channels["rocker_pivot.q"], runs[1].channels["rocker_pivot.q"])
    assert runs[0].units["four_bar:coupler.mass"] == "kg"


def test_what_follows_from_no_varied_number_is_the_same_for_all() -> None:
    vary, assign = with_derived(MODEL, {TIP: LENGTHS}, {"crank.mass": 3.0}, {"rocker.mass": "{crank.mass} / 2"})
    assert vary is not None and list(vary) == [TIP]
    assert assign == {"crank.mass": 3.0, "four_bar:rocker.mass": 1.5}
    single = shiftjax.simulate(MODEL, 0.01, derive={"rocker.mass": "{crank.mass} * 5"})
    assert not single.batched and single.model.numbers()["four_bar:rocker.mass"] == 2.5


def test_a_number_that_is_none_ends_its_member_only() -> None:
    result = shiftjax.simulate(MODEL, 0.01, vary={TIP: LENGTHS}, derive={"coupler.mass": f"sqrt({{{TIP}}} - 0.46)"})
    assert result.status.tolist() == [int(shiftjax.Outcome.non_finite), 0, 0, 0, 0]


# -- the same in a live run and in a compiled step ------------------------------------------------------------------

DERIVE: dict[str, Any] = {
    "rocker.mass": "{coupler.mass} / 2",
    "coupler.mass": lambda n: 2.4 * n[TIP],
    "crank.mass": "3",
}


@pytest.mark.parametrize("call", [shiftjax.Live, shiftjax.compile])
@pytest.mark.parametrize(
    ("derive", "message"),
    [
        ({"coupler.mass": "{rocker.mass}", "rocker.mass": "{coupler.mass}"}, "a circle: .*coupler.mass <- .*rocker.ma"),
        ({"coupler.mas": "1"}, "no number '.mas'.*Did you mean 'four_bar:coupler.mass'"),
        ({TIP: "1"}, "the same number in vary, too"),
        ({"coupler.mass": 2.0}, "found 2.0; allowed: a text or a function"),
        ({"coupler.mass": lambda n: np.zeros(3)}, r"shape \(3,\); allowed: one number, or one a member, shape \(1,\)"),
        ({"coupler.mass": "1 / 0"}, "found inf; allowed: one finite number"),
        ({"coupler.mass": "-1"}, "coupler.mass: found "),
        (["coupler.mass"], "derive: found .*; allowed: a mapping from paths"),
    ],
)
def test_what_cannot_be_derived_is_refused_there_too(call: Any, derive: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call(MODEL, [TIP], derive=derive)


def test_a_live_run_derives_at_every_change() -> None:
    """Bit for bit as with the values worked out by hand; a restart is the run of that design."""
    full = f"four_bar:{TIP}"
    live = shiftjax.Live(MODEL, [TIP], derive=DERIVE)
    hand = shiftjax.Live(MODEL, [TIP, "coupler.mass", "rocker.mass", "crank.mass"])
    for call, length in (("restart", 0.45), ("change", 0.5), ("restart", 0.55)):
        mass = 2.4 * length
        getattr(live, call)({TIP: length})
        getattr(hand, call)({TIP: length, "coupler.mass": mass, "rocker.mass": mass / 2, "crank.mass": 3.0})
        assert live.values[full] == length and live.values == hand.values
        live.advance(0.2)
        hand.advance(0.2)
        assert np.array_equal(live.instant().q, hand.instant().q) and np.array_equal(live.instant().v, hand.instant().v)
    whole = shiftjax.simulate(MODEL, 0.2, 1e-3, vary={TIP: [0.55]}, derive=DERIVE)
    assert whole.final is not None
    np.testing.assert_allclose(live.instant().q, whole.final["q"][0], atol=1e-12)


def test_a_derived_number_of_a_live_run_follows_only() -> None:
    live = shiftjax.Live(MODEL, [TIP], derive={"coupler.mass": f"sqrt({{{TIP}}} - 0.3)"})
    before = live.values
    with pytest.raises(ModelError, match=r"number to change: found 'four_bar:coupler.mass'; allowed: .*tip"):
        live.change({"coupler.mass": 1.0})
    with pytest.raises(ModelError, match=r"derive four_bar:coupler.mass: found nan; allowed: a finite number"):
        live.change({TIP: 0.2})
    assert live.values == before
    with pytest.raises(ModelError, match=r"derive four_bar:coupler.mass: found nan"):
        shiftjax.Live(MODEL, [TIP], derive={"coupler.mass": f"sqrt({{{TIP}}} - 9)"})


def test_a_compiled_step_derives_at_every_start() -> None:
    """The same bits as with the values worked out by hand; a function that gives one number for all, too."""
    derive = {**DERIVE, "model_parameters.gravity[0]": lambda n: float(n[TIP].max())}
    simulator = shiftjax.compile(MODEL, [TIP], derive=derive)
    mass = 2.4 * LENGTHS
    given = {TIP: LENGTHS, "coupler.mass": mass, "rocker.mass": mass / 2, "crank.mass": np.full(5, 3.0)}
    given["model_parameters.gravity[0]"] = np.full(5, LENGTHS.max())
    hand = shiftjax.compile(MODEL, list(given))
    (params, state), (wanted, by_hand) = simulator.start({TIP: LENGTHS}), hand.start(given)
    assert params.keys() == wanted.keys()
    for path, values in wanted.items():
        np.testing.assert_array_equal(params[path], values)
    step = jax.jit(jax.vmap(simulator.step))
    other = jax.jit(jax.vmap(hand.step))
    for _ in range(20):
        state, by_hand = step(params, state)[0], other(wanted, by_hand)[0]
    assert (state["trip"][:, 0] == 0).all()
    np.testing.assert_allclose(state["q"], by_hand["q"], rtol=0, atol=1e-12)
    with pytest.raises(ModelError, match=r"vary: found .*coupler.mass.*; allowed: \['four_bar:coupler:tip.T\[0\]'\]"):
        simulator.start({TIP: LENGTHS, "coupler.mass": mass})


def test_a_rod_is_the_cylinder_of_its_length() -> None:
    """Against the solid of its shape, whose moments are integrals of their own."""
    radius, density = 0.03, 2700.0
    derive = rod("coupler", TIP, mass_per_length=density * math.pi * radius**2, radius=radius)
    vary, _ = with_derived(MODEL, {TIP: LENGTHS}, None, derive)
    assert vary is not None
    for k, length in enumerate(LENGTHS):
        shape = {"type": "cylinder", "radius": radius, "length": length, "T": (length / 2, 0, 0)}
        exact = shiftjax.solid({**shape, "rotation": (0, math.pi / 2, 0)}, density=density)
        found = {path.removeprefix("four_bar:coupler."): values[k] for path, values in vary.items()}
        assert found["mass"] == pytest.approx(exact.mass, rel=1e-14)
        assert found["center_of_mass[0]"] == pytest.approx(exact.center_of_mass[0], rel=1e-14)
        moments = [found[f"inertia.I{axis}"] for axis in ("xx", "yy", "zz")]
        assert moments == pytest.approx([exact.inertia.Ixx, exact.inertia.Iyy, exact.inertia.Izz], rel=1e-13)


def test_a_rod_between_two_ends_keeps_its_mass() -> None:
    derive = rod("b", "b:right.T[1]", "b:left.T[1]")
    builder = shiftjax.ModelBuilder()
    frames = {"left": (0, -0.3, 0), "right": (0, 0.1, 0)}
    builder.assembly("a").body("b", mass=3.0, inertia=(1, 1, 1), frames=frames).joint("j", "Rx", child="b")
    _, assign = with_derived(builder.build(), None, None, derive)
    across = 3.0 * 0.4**2 / 12
    wanted = {"a:b.center_of_mass[1]": -0.1, "a:b.inertia.Ixx": across, "a:b.inertia.Izz": across}
    assert assign == pytest.approx(wanted, rel=1e-14)
    _, assign = with_derived(builder.build(), None, None, rod("b", "b:right.T[1]", mass=2.0))
    assert assign["a:b.mass"] == 2.0 and assign["a:b.inertia.Ixx"] == pytest.approx(2.0 * 0.1**2 / 12, rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("b", "b.mass"), {}, "a coordinate of a frame"),
        (("b", "b:l.T[0]", "b:r.T[1]"), {}, "along the same axis"),
        (("b", "b:l.T[0]"), {"mass": 1.0, "mass_per_length": 1.0}, "both of them"),
        (("b", "b:l.T[0]"), {"radius": -1.0}, "found -1.0; allowed: a number of 0 or more"),
        (("b", "b:l.T[0]"), {"mass": "1"}, "found '1'"),
        ((None, "b:l.T[0]"), {}, "rod: body: found None"),
    ],
)
def test_what_is_no_rod_is_refused(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        rod(*arguments, **keywords)


def test_the_command_line_derives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "s.zarr"
    words = ["sweep", "four_bar", "--vary", f"{TIP}=42cm:60 cm:5", "--span", "0.01", "--out", str(out)]
    assert main([*words, "--derive", f"coupler.mass=2.4*{{{TIP}}}"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "coupler.mass" in line)
    assert line.split() == ["four_bar:coupler.mass", "1.008", "1.44", "derived", "kg"]
    stored = shiftjax.store.read(out)["members"].to_dataset()["four_bar:coupler.mass"]
    np.testing.assert_allclose(stored.values, 2.4 * LENGTHS, rtol=1e-14)
    assert stored.attrs["units"] == "kg"
    assert main(["run", "four_bar", "--derive", "crank.mass=1", "--derive", "crank.mass=2"]) == 2
    assert "the path twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("p=30deg", math.pi / 6, "deg"), ("p= 0.5 ", 0.5, ""), ("p=-2e1 mm", -0.02, "mm"), ("p=1e3g", 1.0, "g"),
        ("p=60rpm", 2 * math.pi, "rpm"), ("p=3 kg mm^2", 3e-6, "kg mm^2"), ("p=2 N m s/rad", 2.0, "N m s/rad"),
        ("p=.5kN/mm", 5e5, "kN/mm"), ("p=180deg/s", math.pi, "deg/s"), ("p=2/s", 2.0, "/s"), ("p=2 1/s", 2.0, "1/s"),
    ],
)  # fmt: skip
def test_numbers_with_units(text: str, value: float, unit: str) -> None:
    path, found, written = parse_set(text)
    assert (path, written) == ("p", unit) and found == pytest.approx(value, rel=1e-15)


def test_ranges_with_units() -> None:
    design = sample([parse_vary("p=0deg:90deg:3")])
    np.testing.assert_allclose(design["p"], [0.0, math.pi / 4, math.pi / 2], rtol=1e-15)
    drawn = sample([parse_vary("p=10cm:20cm~sobol")], 16)["p"]
    assert 0.1 <= drawn.min() and drawn.max() <= 0.2
    with pytest.raises(ModelError, match="'no unit' and 'deg'; allowed: the same unit at all"):
        parse_vary("p=10:40deg")


def test_units_are_compared_by_what_they_measure() -> None:
    check_unit("deg", "rad", "here")
    check_unit("N mm/deg", "N m/rad", "here")
    check_unit("kg mm^2/s^2", "J", "here")
    for wrong, own in (("deg", "kg"), ("m/s", "m"), ("N", "N m"), ("deg", "1")):
        with pytest.raises(ModelError, match=f"here: found unit {wrong!r}; allowed: a unit of {own}"):
            check_unit(wrong, own, "here")
    with pytest.raises(ModelError, match=r"found unit 'degg'.*Did you mean 'deg'"):
        unit_in_si("degg", "here")


@pytest.mark.parametrize("model", ["four_bar", "stewart", "excavator", "vehicle_chassis"])
def test_every_unit_of_a_model_can_be_written_beside_a_number(model: str) -> None:
    for unit in set(shiftjax.load(model).number_units().values()):
        assert unit_in_si(unit, "here")[0] == 1.0
        check_unit(unit, unit, "here")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "four_bar", "--span", "0.01", "--set", "crank.mass=30deg"],
        ["sweep", "four_bar", "--span", "0.01", "--vary", "crank.mass=30deg:40deg:3"],
    ],
)
def test_the_command_line_refuses_the_unit_of_something_else(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert f"{words[-2]} crank.mass: found unit 'deg'; allowed: a unit of kg" in capsys.readouterr().err


def test_a_start_in_degrees_is_the_start() -> None:
    path = "crank_pivot.initial_displacement"
    words = parse_set(f"{path}=45deg")
    result = shiftjax.simulate(MODEL, 0.01, assign={path: words[1]}, channels=["crank_pivot.q"])
    assert result.channels["crank_pivot.q"][0] == pytest.approx(math.pi / 4, abs=1e-12)
