"""The library's four-bar, whose bodies have no masses."""

import shiftjax
from shiftjax.mechanism.model import Model


def massless() -> Model:
    bars = shiftjax.load("four_bar")
    names = (".mass", ".inertia.", ".center_of_mass")
    return bars.with_values({number: 0.0 for number in bars.numbers() if any(name in number for name in names)})
