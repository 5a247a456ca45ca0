"""Ghosts as outlines: rings about spheres, whole where ghosts are one behind another, hidden by the member shown."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftjax.viewer.gl.renderer import GHOST_LINE, STENCILS, Renderer
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import FAST, Ghosts
from tests.scenes.pictures import ball, part, scene, snapshot
from tests.scenes.studio import SIZE, eye, gl, no_errors  # noqa: F401

BLUE = np.array([0.0, 0.0, 1.0, 1.0])
RADIUS = 0.3  # m
AWAY = (0.0, 50.0, 0.0)  # out of the picture
Drawn = tuple[np.ndarray, Camera]
LOOK = dataclasses.replace(FAST, shadows=False, grid=False)


def outlines(places: list[tuple[float, float, float]], shown: tuple[float, float, float] = AWAY) -> Drawn:
    """(h, w) bool, the pixels that outlines of balls changed; the camera."""
    what, camera = scene([part(ball(RADIUS), 1, "ball")]), dataclasses.replace(eye("top"), orthographic=True)
    poses = np.stack([snapshot(place).poses for place in places])
    others = Ghosts(poses, np.tile(BLUE, (len(places), 1)), outlined=True)
    renderer = Renderer(what, LOOK, SIZE)
    renderer.draw(snapshot(shown), camera)
    plain = renderer.image().astype(int)
    renderer.draw(snapshot(shown, ghosts=others), camera)
    drawn = renderer.image().astype(int)
    renderer.release()
    return np.abs(drawn - plain).max(-1) > 60, camera


def ring(mask: np.ndarray, middle: tuple[float, float]) -> np.ndarray:
    """(k,) distances of the pixels from the middle of a ball."""
    rows, columns = np.nonzero(mask)
    return np.hypot(columns - middle[0], rows - middle[1])


def test_the_outline_of_a_ball_is_a_ring_about_it() -> None:
    mask, camera = outlines([(0.0, 0.0, 0.0)])
    middle = camera.pixel(np.zeros(3), SIZE)
    radius = abs(camera.pixel(np.array([RADIUS, 0.0, 0.0]), SIZE)[0] - middle[0])
    away = ring(mask, middle)
    assert len(away) == pytest.approx(2 * np.pi * radius * GHOST_LINE, rel=0.35)
    assert away.min() > radius - 1.5 and away.max() < radius + GHOST_LINE + 1.5


def test_a_ball_behind_another_has_its_whole_outline() -> None:
    """In both orders: their rings are those of each alone."""
    places = [(0.0, 0.0, 0.0), (0.2, 0.0, -1.0)]
    alone = [outlines([place])[0] for place in places]
    for some in (places, places[::-1]):
        both, _ = outlines(some)
        assert (both == (alone[0] | alone[1])).mean() > 0.999


def test_the_member_shown_hides_outlines_behind_it() -> None:
    behind, in_front = outlines([(0.0, 0.1, -1.0)], (0.0, 0.0, 0.0))[0], outlines([(0.0, 0.1, 1.0)], (0.0, 0.0, 0.0))[0]
    assert 0 < behind.sum() < 0.75 * in_front.sum()


def test_more_ghosts_than_the_stencil_tells_apart() -> None:
    """The first one and the one that has its number again are at one place: both rings are there."""
    apart = [(0.01 * k, 50.0, 0.0) for k in range(STENCILS - 1)]
    mask, _ = outlines([(-0.4, 0.0, 0.0), *apart, (-0.2, 0.0, 0.0)])
    alone = [outlines([place])[0] for place in ((-0.4, 0.0, 0.0), (-0.2, 0.0, 0.0))]
    assert (mask == (alone[0] | alone[1])).mean() > 0.999
