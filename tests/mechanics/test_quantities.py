"""Numbers as users write them, "200 mm", in `Model.replace` and `assign`."""

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.quantities import in_si

TIP, MASS = "coupler:tip.T[0]", "coupler.mass"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [("200 mm", "m", 0.2), ("200mm", "m", 0.2), ("30 deg", "rad", np.pi / 6), ("1e3 g", "kg", 1.0), ("0.5", "m", 0.5),
     ("60 rpm", "rad/s", 2 * np.pi), ("5 kg cm^2", "kg m^2", 5e-4)],
)  # fmt: skip
def test_quantities_are_brought_to_si(text: str, unit: str, value: float) -> None:
    assert in_si(text, unit, "here") == pytest.approx(value, rel=1e-15)


def test_replace_takes_quantities() -> None:
    model = shiftjax.load("four_bar")
    one, other = model.replace({TIP: "470 mm", MASS: "900 g"}), model.replace({TIP: 0.47, MASS: 0.9})
    assert one.numbers() == pytest.approx(other.numbers(), rel=1e-15)
    assert one.replaced == other.replaced


@pytest.mark.parametrize(
    ("values", "match"),
    [({TIP: "470 kg"}, r"four_bar:coupler:tip.T\[0\]: found unit 'kg'; allowed: a unit of m"),
     ({TIP: "470 furlongs"}, "unit 'furlongs'"), ({TIP: "long"}, "'long'; allowed: a finite number"),
     ({MASS: "-1 g"}, "mass"), ({TIP: None}, 'Give a number, or a text with its unit, as "200 mm"')],
)  # fmt: skip
def test_other_texts_are_refused(values: dict, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        shiftjax.load("four_bar").replace(values)


def test_assign_takes_quantities() -> None:
    given = {"vary": {MASS: [1.0, 2.0]}, "derive": {"rocker.mass": f"2 * {{{TIP}}}"}, "channels": ["rocker_pivot.q"]}
    runs = [shiftjax.simulate("four_bar", 0.1, assign={TIP: value}, **given) for value in ("470 mm", 470 * 1e-3)]
    assert runs[0].channels
    for name, values in runs[0].channels.items():
        np.testing.assert_array_equal(values, runs[1].channels[name])
    np.testing.assert_array_equal(runs[0].certificate["gap"], runs[1].certificate["gap"])
    with pytest.raises(ModelError, match="found unit 'kg'; allowed: a unit of m"):
        shiftjax.simulate("four_bar", 0.1, assign={TIP: "470 kg"})


def test_a_gradient_beside_an_assigned_quantity_is_that_of_the_number() -> None:
    import jax

    def end(mass: float, tip: float | str) -> float:
        run = shiftjax.simulate("four_bar", 0.1, vary={MASS: [mass]}, assign={TIP: tip}, channels=["rocker_pivot.q"])
        return run.channels["rocker_pivot.q"][0, -1]

    assert float(jax.grad(end)(1.0, "470 mm")) == pytest.approx(float(jax.grad(end)(1.0, 470 * 1e-3)))
