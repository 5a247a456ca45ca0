"""The unit written beside a number is that by which the reader of files scales it."""

import math

import pytest

from shiftjax.formats import load, to_dict
from shiftjax.models import names
from shiftjax.quantities import FACTORS
from shiftjax.run.simulate import simulate
from tests.support.models.documents import driven, everything

OTHER = {"angle": "degrees", "length": "inches", "mass": "pounds", "time": "minutes"}
BASE = {"rad": "angle", "m": "length", "kg": "mass", "s": "time"}
ROUNDING = 1e-14  # of a product of a few factors
FACTOR_OF = {short: FACTORS[kind][OTHER[kind]] for short, kind in BASE.items()} | {"1": 1.0}
FACTOR_OF["N"] = FACTOR_OF["kg"] * FACTOR_OF["m"] / FACTOR_OF["s"] ** 2


def factor(unit: str) -> float:
    """What a number of this unit is multiplied by when the units of its file are called OTHER."""
    above, _, below = unit.partition("/")
    out = 1.0
    for words, sign in ((above, 1), (below, -1)):
        for word in words.split():
            name, _, power = word.partition("^")
            out *= FACTOR_OF[name] ** (sign * int(power or 1))
    return out


@pytest.mark.parametrize("name", [*names(), "everything", "driven"])
def test_units_are_those_the_reader_scales_by(name: str) -> None:
    made = {"everything": everything, "driven": driven}
    document = made[name]() if name in made else to_dict(load(name))
    for group in document["assemblies"] if name == "everything" else ():
        group["force_modules"] = []
        group["bodies"][2]["active"] = group["restraints"][2]["active"] = True
        group["restraints"].append({**group["restraints"][2], "name": "thud", "knot_points": [2]})
        group["restraints"][3]["coefficients"] = [[0.5, 3, 1], [7]]
    model = load(document)
    document["model_parameters"]["units"] = OTHER
    scaled, units = load(document).numbers(), model.number_units()
    for path, number in model.numbers().items():
        unit = units[path]
        assert math.isclose(scaled[path], factor(unit) * number, rel_tol=ROUNDING), (path, unit)


def test_units_as_they_are_written() -> None:
    document = everything()
    document["assemblies"][0]["bodies"][2]["active"] = document["assemblies"][0]["restraints"][2]["active"] = True
    model = load(document)
    expected = {
        "model_parameters.gravity[1]": "m/s^2",
        "pendulum:link1.mass": "kg",
        "pendulum:link1.inertia.Izx": "kg m^2",
        "pendulum:link1.center_of_mass[0]": "m",
        "pendulum:link1:distal.rotation[0]": "rad",
        "fixed:attachment.T[2]": "m",
        "pendulum:slide.axis[0]": "1",
        "pendulum:slide.initial_displacement": "m",
        "pendulum:slide.initial_velocity": "m/s",
        "pendulum:shoulder.initial_velocity": "rad/s",
        "pendulum:six.initial_displacement.T[0]": "m",
        "pendulum:six.initial_velocity[2]": "m/s",
        "pendulum:six.initial_velocity[3]": "rad/s",
        "pendulum:sphere.initial_displacement.rotation[0]": "rad",
        "pendulum:sphere.initial_velocity[0]": "rad/s",
        "pendulum:slide.stiffness[0]": "N",
        "pendulum:slide.stiffness[1]": "N/m",
        "pendulum:elbow.damping[1]": "N m s/rad",
        "pendulum:stop.coefficients[0][0]": "N/m^2",
        "pendulum:stop.coefficients[0][2]": "N",
        "pendulum:stop.knot_points[0]": "m",
        "pendulum:damp.coefficients[0][0]": "N s/m",
        "pendulum:rub.knot_points[0]": "rad/s",
        "pendulum:rub.coefficients[1][0]": "N m",
    }
    units = model.number_units()
    assert {path: units[path] for path in expected} == expected


def test_a_result_tells_the_units_of_what_was_varied() -> None:
    result = simulate(
        load("pendulum"), vary={"link.mass": [1.0, 2.0], "pivot.initial_velocity": [0, 1]}, span=0.02, step=0.01
    )
    assert dict(result.units) == {"pendulum:link.mass": "kg", "pendulum:pivot.initial_velocity": "rad/s"}
