"""The camera: rays and pixels, orbit, pan, zoom, standard views, for several directions of up."""

import dataclasses
import math

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.scene.camera import STEEPEST, VIEWS, Camera, upright

EXACT = 1e-9  # m or pixels, of a few metres and hundreds of pixels, through the inverse of a matrix
SIZE = (640, 360)
UPS = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (0.3, -0.5, 0.8)]
CENTRE = (1.0, -2.0, 0.5)


def cameras() -> list[Camera]:
    found = []
    for up in UPS:
        unit = np.array(up) / np.linalg.norm(up)
        for view in VIEWS:
            camera = Camera.of(CENTRE, 2.0, (float(unit[0]), float(unit[1]), float(unit[2])), view)
            found += [camera, dataclasses.replace(camera, orthographic=True)]
    return found


@pytest.mark.parametrize("camera", cameras(), ids=range(len(cameras())))
def test_a_ray_through_a_pixel_meets_points_seen_there(camera: Camera) -> None:
    for x, y in ((0, 0), (100.25, 300.5), (639, 359)):
        origin, direction = camera.ray(x, y, SIZE)
        assert np.linalg.norm(direction) == pytest.approx(1.0)
        for depth in (0.5, 3.0, 10.0):
            assert camera.pixel(origin + depth * direction, SIZE) == pytest.approx((x, y), abs=1e-6)
        assert direction @ (np.array(camera.target) - camera.eye) > 0, "it looks the other way"


@pytest.mark.parametrize("camera", cameras(), ids=range(len(cameras())))
def test_the_target_is_in_the_middle_and_the_axes_are_a_right_hand(camera: Camera) -> None:
    middle = ((SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2)
    assert camera.pixel(np.array(camera.target), SIZE) == pytest.approx(middle, abs=EXACT)
    axes = camera.axes()
    assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-12) and np.linalg.det(axes) > 0
    assert np.allclose(camera.view()[:3, :3], axes)


@pytest.mark.parametrize("camera", cameras(), ids=range(len(cameras())))
def test_up_is_up_in_the_picture(camera: Camera) -> None:
    low = camera.pixel(np.array(camera.target), SIZE)
    high = camera.pixel(np.array(camera.target) + 0.1 * np.array(camera.up), SIZE)
    assert high[1] < low[1] + EXACT and high[0] == pytest.approx(low[0], abs=EXACT)


@pytest.mark.parametrize("up", UPS[:3])
def test_standard_views_look_along_the_axes(up: tuple[float, float, float]) -> None:
    right, forward, upward = upright(up)
    assert np.allclose(upward, up) and np.allclose(np.cross(right, forward), upward)
    seen = {"front": forward, "back": -forward, "left": right, "right": -right, "top": -upward, "bottom": upward}
    for view, direction in seen.items():
        back = Camera.of(CENTRE, 1.0, up, view).axes()[2]
        # the steepest view is a tenth of a degree off
        assert -back @ direction > math.cos(2 * (math.pi / 2 - STEEPEST))


def test_in_the_plain_frame_front_sees_x_to_the_right_and_y_away() -> None:
    camera = Camera.of((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0), "front")
    assert np.allclose(camera.axes(), [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-12)
    top = camera.seen_from("top")
    assert np.allclose(top.axes(), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], atol=0.01)


def test_with_z_down_a_top_view_looks_along_z() -> None:
    camera = Camera.of((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, -1.0), "top")
    assert camera.eye[2] < 0 and camera.axes()[2] @ [0, 0, -1] > 0.99


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(ModelError, match=r"found 'fornt'.*Did you mean 'front'"):
        Camera.of((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0), "fornt")


@pytest.mark.parametrize("up", UPS)
def test_a_ball_of_the_size_asked_for_fits_the_picture(up: tuple[float, float, float]) -> None:
    unit = np.array(up) / np.linalg.norm(up)
    camera = Camera.of(CENTRE, 2.0, (float(unit[0]), float(unit[1]), float(unit[2])))
    for direction in (camera.axes()[0], camera.axes()[1], -camera.axes()[1]):
        x, y = camera.pixel(np.array(CENTRE) + 2.0 * direction, (360, 360))
        assert 0 < x < 360 and 0 < y < 360


def test_a_ball_fits_a_picture_that_is_higher_than_wide() -> None:
    """The view angle is across the shorter side: a narrow picture shows what the same picture turned shows."""
    camera = Camera.of((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0), "front")
    (left, _), (right, _) = (camera.pixel(np.array([x, 0.0, 0.0]), (240, 400)) for x in (-1.0, 1.0))
    (_, low), (_, high) = (camera.pixel(np.array([0.0, 0.0, z]), (400, 240)) for z in (-1.0, 1.0))
    assert right - left == pytest.approx(low - high) and 200 < right - left < 240


def test_orbit_keeps_distance_and_target_and_comes_back() -> None:
    camera = Camera.of(CENTRE, 1.0, UPS[1])
    turned = camera.orbit(0.7, -0.2)
    assert np.linalg.norm(turned.eye - turned.target) == pytest.approx(camera.distance)
    assert turned.target == camera.target and np.linalg.norm(turned.eye - camera.eye) > 0.1
    assert np.allclose(turned.orbit(-0.7, 0.2).eye, camera.eye, atol=1e-12)


def test_orbit_moves_what_is_in_front_with_the_hand() -> None:
    camera = Camera.of((0.0, 0.0, 0.0), 1.0, UPS[0], "front")
    near = 0.5 * (camera.eye / np.linalg.norm(camera.eye))
    before = camera.pixel(near, SIZE)
    assert camera.orbit(0.1, 0.0).pixel(near, SIZE)[0] > before[0] + 1
    assert camera.orbit(0.0, 0.1).pixel(near, SIZE)[1] < before[1] - 1


def test_orbit_stops_short_of_straight_up() -> None:
    camera = Camera.of((0.0, 0.0, 0.0), 1.0, UPS[0]).orbit(0.0, -9.0)
    assert camera.elevation == STEEPEST and np.isfinite(camera.view()).all()
    assert camera.orbit(0.0, 99.0).elevation == -STEEPEST


@pytest.mark.parametrize("camera", cameras(), ids=range(len(cameras())))
def test_pan_moves_the_target_plane_by_the_hand(camera: Camera) -> None:
    point = np.array(camera.target) + 0.3 * camera.axes()[0] - 0.2 * camera.axes()[1]
    x, y = camera.pixel(point, SIZE)
    panned = camera.pan(0.1, 0.25).pixel(point, SIZE)
    assert panned == pytest.approx((x + 0.1 * SIZE[1], y - 0.25 * SIZE[1]), abs=1e-6)


@pytest.mark.parametrize("orthographic", [False, True])
def test_zoom_enlarges_about_the_middle(orthographic: bool) -> None:
    camera = dataclasses.replace(Camera.of(CENTRE, 1.0, UPS[0]), orthographic=orthographic)
    point = np.array(camera.target) + 0.3 * camera.axes()[0]
    offset = camera.pixel(point, SIZE)[0] - (SIZE[0] - 1) / 2
    assert camera.zoom(2.0).pixel(point, SIZE)[0] - (SIZE[0] - 1) / 2 == pytest.approx(2 * offset)
    assert camera.zoom(2.0).zoom(0.5).distance == pytest.approx(camera.distance)


def test_an_orthographic_picture_has_no_perspective() -> None:
    camera = dataclasses.replace(Camera.of(CENTRE, 1.0, UPS[0]), orthographic=True)
    point = np.array(camera.target) + 0.3 * camera.axes()[0]
    behind = point - 2.0 * camera.axes()[2]
    assert camera.pixel(behind, SIZE) == pytest.approx(camera.pixel(point, SIZE), abs=EXACT)
    plain = dataclasses.replace(camera, orthographic=False)
    assert plain.pixel(point, SIZE) == pytest.approx(camera.pixel(point, SIZE), abs=1e-6), "at the target's depth"
    assert abs(plain.pixel(behind, SIZE)[0] - plain.pixel(point, SIZE)[0]) > 1


def test_looking_at_keeps_the_direction() -> None:
    camera = Camera.of(CENTRE, 1.0, UPS[0]).looking_at(np.array([4.0, 5.0, 6.0]))
    assert camera.target == (4.0, 5.0, 6.0)
    assert np.allclose(camera.axes(), Camera.of(CENTRE, 1.0, UPS[0]).axes())


def test_depth_grows_with_distance() -> None:
    for camera in cameras():
        matrix = camera.projection(1.5) @ camera.view()
        back = camera.axes()[2]
        points = [np.array([*(camera.eye - d * camera.distance * back), 1.0]) for d in (0.02, 0.5, 1.0, 50.0)]
        depth = [(matrix @ p)[2] / (matrix @ p)[3] for p in points]
        assert -1 < depth[0] < depth[1] < depth[2] < depth[3] < 1
