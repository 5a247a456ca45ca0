"""Names that look like something else: what a number means follows from its field, never from the text of its path."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.options import options_of
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from tests.support.models.mechanisms import rod

ODD = ("crank.initial_pivot", "initial_displacement", "b.inertia.c", "mass", "T[0]", "a.b.c", "stiffness[1]")


def named(joint: str, body: str = "rod") -> Model:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body(body, **rod(1.0)).joint(joint, "Ry", child=body, stiffness=[0.0, 3.0])
    return builder.build()


@pytest.mark.parametrize("name", ODD)
def test_a_joint_of_any_name_can_have_its_start_varied(name: str) -> None:
    model = named(name)
    places = [p for p in model.numbers() if p.endswith(".initial_displacement")]
    channel = f"{next(path for path, _ in model.joints())}.q"
    result = simulate(model, 0.01, 1e-3, vary={places[0]: [0.1, 0.4]}, channels=[channel])
    assert result.channels[channel][:, 0].tolist() == [0.1, 0.4]
    assert load(to_dict(model)) == model


@pytest.mark.parametrize("name", ODD)
def test_numbers_of_a_body_of_any_name_are_what_their_fields_say(name: str) -> None:
    """A varied length is no mass: the check for motions that move no mass stays on."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body(name, mass=0.0, inertia=(0.0, 0.0, 0.0), frames={"tip": (1.0, 0.0, 0.0)})
    a.joint("pivot", "Ry", child=name)
    model = builder.build()
    tip = next(path for path in model.numbers() if ":tip" in path and path.endswith("T[0]"))
    with pytest.raises(ModelError, match="moves no mass"):
        simulate(model, 0.01, 1e-3, vary={tip: [1.0, 2.0]})
    mass = next(path for path in model.numbers() if path.endswith(".mass"))
    roles = {n.path: n.role for n in prepare(named("pivot", name), {}).plan.numbers}
    assert roles[tip].of_shape and not roles[tip].of_mass and roles[mass].of_mass


def test_a_driven_slider_is_off_by_metres() -> None:
    """What stays open is said in metres, whatever the size of the model (0.3 m here): its reach is 0.4 m."""
    model, far, reach = load("slider_crank"), 1.5, 0.4
    drive = {"guide": Harmonic(offset=far)}
    result = simulate(model, 0.01, 1e-3, drive=drive)
    prepared = prepare(model, {}, options_of(drive=drive))
    off = float(prepared.file_start.gap[0])
    assert prepared.setup.length < 0.5 and off == pytest.approx(far - reach, rel=1e-3)
    assert result.certificate["gap"] == pytest.approx(off, rel=1e-12)
    assert f"stays open by {off:.3g}" in result.messages[0]
    assert np.all(result.status == 1)
