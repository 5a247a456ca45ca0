"""Colours that mean something are told apart by the colour-blind, too."""

import itertools

import numpy as np
import pytest

from shiftjax.viewer.gui.panes.plotpane import COLOURS
from shiftjax.viewer.gui.state.colours import SLIDES, TURNS
from shiftjax.viewer.scene.palette import CATEGORIES, linear
from shiftjax.viewer.scene.ramp import RAMP

SEEN_AS = {  # linear sRGB to linear sRGB, severity 1 (Machado, Oliveira, Fernandes: IEEE TVCG 15(6), 2009)
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.180375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65
APART = 15.0  # distance in CIELAB; about 2.3 is just noticeable, lines and glyphs are small


def lab(colours: np.ndarray, seen_as: str) -> np.ndarray:
    """(k, 3) CIELAB of (k, 3) sRGB colours as somebody sees them."""
    seen = np.clip(linear(colours) @ np.array(SEEN_AS[seen_as]).T, 0.0, 1.0)
    part = seen @ TO_XYZ.T / WHITE
    f = np.where(part > 216 / 24389, np.cbrt(part), (24389 / 27 * part + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("seen_as", SEEN_AS)
@pytest.mark.parametrize(
    "colours", [[c[:3] for c in CATEGORIES], COLOURS, [TURNS[:3], SLIDES[:3]]], ids=["groups", "curves", "glyphs"]
)
def test_categories_are_told_apart(colours: list[tuple[float, float, float]], seen_as: str) -> None:
    places = lab(np.array(colours), seen_as)
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(places, 2)) > APART


@pytest.mark.parametrize("seen_as", SEEN_AS)
def test_the_ramp_grows_lighter_to_everybody(seen_as: str) -> None:
    knots = np.linspace(0, 1, 33)
    colours = np.stack([np.interp(knots, np.linspace(0, 1, len(RAMP)), RAMP[:, c]) for c in range(3)], axis=1)
    assert (np.diff(lab(colours, seen_as)[:, 0]) > 0).all()
