"""Picking, ghosts (F15), and tidiness: sizes, state of GL, memory, several renderers."""

import dataclasses
import gc
import os
from pathlib import Path

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gl.part_instances import PartInstances
from shiftjax.viewer.gl.renderer import GL, PickedPart, Renderer
from shiftjax.viewer.scene.scene import FAST, Ghosts, RenderSettings
from tests.scenes.phong import picture
from tests.scenes.pictures import BULB, SUN, axis_lines, ball, block, part, plate, scene, snapshot
from tests.scenes.studio import (  # noqa: F401
    GREY,
    SHADED,
    SIZE,
    SOLIDS,
    eye,
    floor_and_ball,
    gl,
    no_errors,
    rest,
    shot,
    three,
)  # fmt: skip

ON_SURFACE = 2e-3  # [m] on balls of radius 0.6, whose facets lie up to 0.6 (1 - cos(pi / 96)) = 3e-4 inside
GROWTH = 20 * 2**20  # bytes: the heap wavers by 9 MiB over 60 renderers; leaked pictures were 56, leaked maps 40


# -- picking -------------------------------------------------------------------------------------------------------


def test_picking_finds_the_part_alone_and_its_surface() -> None:
    what, camera = scene([part(ball(), 1, "ball")]), eye()
    renderer = Renderer(what, FAST, SIZE)
    assert renderer.pick(80, 60).part is None, "nothing has been drawn"
    renderer.draw(snapshot((0.1, 0.2, 0.3)), camera)
    x, y = camera.pixel(np.array([0.1, 0.2, 0.3]), SIZE)
    for column, row in ((x, y), (x + 15, y - 10)):
        pick = renderer.pick(column, row)
        assert pick.part is what.parts[0] and pick.point is not None
        origin, ray = camera.ray(round(column), round(row), SIZE)
        wanted = first_on_ball(origin, ray, np.array([0.1, 0.2, 0.3]), 0.6)
        assert np.linalg.norm(pick.point - wanted) < ON_SURFACE
    for outside in ((1, 1), (-5, 60), (400, 60)):
        assert renderer.pick(*outside).part is None and renderer.pick(*outside).point is None
    renderer.release()


def first_on_ball(origin: np.ndarray, ray: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    b = (origin - centre) @ ray
    return origin + (-b - np.sqrt(b * b - (origin - centre) @ (origin - centre) + radius**2)) * ray


@pytest.mark.parametrize("far", [False, True], ids=["perspective", "orthographic"])
def test_picking_agrees_with_the_ray_caster(far: bool) -> None:
    camera, what = eye(orthographic=far), three((SUN,))
    _, plain, seen = picture(SOLIDS, (SUN,), camera, SIZE, shininess=1.0, background=(0, 0, 0), shadows=False)
    renderer = Renderer(what, FAST, SIZE)
    renderer.draw(rest(highlighted=frozenset({"ball"})), camera)
    names = [*(p.path for p in what.parts), None]
    for row, column in np.argwhere(plain)[::97]:
        pick = renderer.pick(int(column), int(row))
        assert (pick.part.path if pick.part else None) == names[seen[row, column]]
        if names[seen[row, column]] == "plate":
            assert pick.point is not None and abs(pick.point[2]) < 1e-4
    renderer.release()


def test_hidden_parts_are_not_picked_ghosts_where_nothing_else_is_and_lines_are_beside_themselves() -> None:
    line = part(axis_lines(), 0, "axes", kind="frame")
    what, camera = scene([part(ball(), 1, "ball"), line]), eye("top")
    others = Ghosts(snapshot((0.0, 0.0, 0.0)).poses[None], np.array([[0, 0, 1, 0.5]]))
    renderer = Renderer(what, FAST, SIZE)
    renderer.draw(snapshot((0, -0.8, 0), ghosts=others, hidden=frozenset({"ball"})), camera)
    x, y = camera.pixel(np.array([0.5, 0.0, 0.0]), SIZE)
    ball_x, ball_y = camera.pixel(np.array([0.0, -0.8, 0.0]), SIZE)
    assert renderer.pick(x, y - 2).part is line and renderer.pick(x, y - 6).part is None
    assert renderer.pick(ball_x, ball_y) == PickedPart(None, None), "neither the hidden ball nor that of the ghost"
    renderer.draw(snapshot((0, -0.8, 0), colours={"ball": (1, 0, 0, 0.5)}), camera)
    assert renderer.pick(ball_x, ball_y).part is what.parts[0], "what is see-through is picked"
    renderer.release()


def test_a_ghost_is_picked_where_nothing_else_is_and_outlined() -> None:
    """Three ghosts in a row, the first behind the ball; the nearest of two that overlap is picked."""
    what, camera = scene([part(ball(0.3), 1, "ball")]), eye("top")
    places = [(0.0, 0.0, -0.5), (0.9, 0.0, 0.0), (1.1, 0.0, 0.5)]
    others = Ghosts(np.stack([snapshot(place).poses for place in places]), np.tile([0, 0, 1, 0.5], (3, 1)))
    renderer, moment = Renderer(what, FAST, SIZE), snapshot((0.0, 0.0, 0.0), ghosts=others)
    renderer.draw(moment, camera)
    plain = renderer.image()
    at = [camera.pixel(np.array(place), SIZE) for place in ((0, 0, 0.3), (0.65, 0, 0), (1.1, 0, 0.8), (-1, 0, 0))]
    picks = [renderer.pick(*pixel) for pixel in at]
    assert picks[0].part is what.parts[0] and picks[0].ghost is None
    assert [pick.ghost for pick in picks[1:]] == [1, 2, None] and all(pick.part is None for pick in picks[1:])
    assert picks[2].point is not None and picks[2].point == pytest.approx([1.1, 0.0, 0.8], abs=0.02)
    renderer.draw(dataclasses.replace(moment, hovered_ghost=1), camera)
    changed = (renderer.image() != plain).any(-1)
    columns = np.nonzero(changed)[1]
    assert 40 < changed.sum() < 400 and abs(columns.mean() - camera.pixel(np.array(places[1]), SIZE)[0]) < 3
    renderer.release()


def test_only_what_is_near_the_pixel_is_drawn_for_picking() -> None:
    """Of a ring of ten balls the one pointed at, or none; never fewer than are seen there."""
    parts = [part(ball(0.1, 8), k, f"body {k}") for k in range(1, 11)]
    instances, camera = PartInstances(scene(parts, nodes=11)), eye()
    angles = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    places = [(float(np.cos(a)), float(np.sin(a)), 0.0) for a in angles]
    drawn = instances.at(snapshot(*places, hidden=frozenset({"body 3"})))
    clip = camera.projection(SIZE[0] / SIZE[1]) @ camera.view()
    for k, place in enumerate(places):
        x, y, _, w = clip @ [*place, 1.0]
        middle = np.array([x / w, y / w])
        near = instances.near(drawn, clip, middle - 0.02, middle + 0.02)
        assert near[k] == (k != 2) and near.sum() <= 1
    middle = np.zeros(2)
    assert not instances.near(drawn, clip, middle - 0.02, middle + 0.02).any()


# -- ghosts --------------------------------------------------------------------------------------------------------


def test_f15_two_hundred_ghosts_are_one_call_a_mesh() -> None:
    members, bodies = 200, 10
    shapes = [ball(0.15, 8), block((0.3, 0.2, 0.2)), ball(0.1, 8)]
    parts = [part(shapes[k % 3], k, f"body {k}") for k in range(1, bodies + 1)]
    what = scene([*parts, part(plate(), 0, "ground", GREY, kind="ground")], nodes=bodies + 1)
    angles = np.linspace(0, 2 * np.pi, bodies, endpoint=False)
    base = snapshot(*((np.cos(a), np.sin(a), 0.0) for a in angles))
    poses = np.repeat(base.poses[None], members, axis=0)
    poses[:, 1:, 2] += np.linspace(0.0, 1.0, members)[:, None]
    ghosts = Ghosts(poses, np.tile([0.1, 0.3, 0.9, 0.05], (members, 1)))
    renderer, camera = Renderer(what, FAST, SIZE), eye()
    renderer.draw(base, camera)
    alone, calls = renderer.image(), renderer.draw_calls
    renderer.draw(dataclasses.replace(base, ghosts=ghosts), camera)
    assert (calls, renderer.draw_calls) == (4, 4 + 3), "three meshes of bodies; the ground has no ghosts"
    bluer = renderer.image().astype(int) - alone
    assert (bluer[..., 0] < -10).sum() > 1000
    renderer.draw(dataclasses.replace(base, ghosts=ghosts, hidden=frozenset({"kind:body"})), camera)
    assert renderer.draw_calls == 1, "hidden parts have no ghosts either"
    renderer.release()


def test_ghosts_have_the_opacity_of_their_colour_and_throw_no_shadow() -> None:
    what, camera = floor_and_ball(), eye("top")
    away, here = snapshot((9.0, 9.0, -5.0)), snapshot((0.0, 0.0, 1.0)).poses[None]
    bare = shot(what, away, camera, SHADED)  # the ball's radius is 11.1 pixels
    changed = []
    for opacity in (0.0, 0.3, 1.0):
        ghosts = Ghosts(here, np.array([[0.0, 0.0, 0.0, opacity]]))
        image = shot(what, dataclasses.replace(away, ghosts=ghosts), camera, SHADED).astype(int)
        middle = image[60, 80] / 255
        changed.append(((middle + 0.055) / 1.055) ** 2.4)
        edge = np.abs(image - bare).max(-1) > 0
        assert edge.sum() == (0 if opacity == 0.0 else pytest.approx(389, abs=20)), "the ball alone"
    bright, mixed, black = changed
    assert black.max() < 0.01 and mixed == pytest.approx(0.7 * bright, abs=0.02)


# -- tidiness ------------------------------------------------------------------------------------------------------


def test_a_picture_of_another_size_can_be_read_and_is_that_of_a_new_renderer() -> None:
    renderer = Renderer(three((SUN,)), RenderSettings(), SIZE)
    renderer.draw(rest(), eye())
    for size in ((201, 77), (64, 300), SIZE):
        renderer.resize(*size)
        renderer.draw(rest(), eye())
        image = renderer.image()
        assert image.shape == (size[1], size[0], 3) and image.dtype == np.uint8
        assert np.array_equal(image, shot(three((SUN,)), rest(), eye(), RenderSettings(), size))
    renderer.release()
    with pytest.raises(ModelError, match="size: found"):
        Renderer(three((SUN,)), FAST, (0, 10))


def test_show_copies_the_picture_and_leaves_the_state_of_gl_alone() -> None:
    width, height = SIZE
    framebuffer, buffer = int(GL.glGenFramebuffers(1)), int(GL.glGenRenderbuffers(1))
    GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, buffer)
    GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, GL.GL_RGBA8, width, height)
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
    GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_RENDERBUFFER, buffer)
    GL.glViewport(3, 4, 50, 60)
    GL.glEnable(GL.GL_SCISSOR_TEST)  # as panes leave it
    GL.glScissor(0, 0, 5, 5)
    renderer = Renderer(three((SUN,)), RenderSettings(), SIZE)
    renderer.draw(rest(), eye())
    renderer.copy_to(framebuffer)
    assert GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING) == framebuffer
    assert list(GL.glGetIntegerv(GL.GL_VIEWPORT)) == [3, 4, 50, 60]
    assert not any(map(GL.glIsEnabled, (GL.GL_DEPTH_TEST, GL.GL_BLEND, GL.GL_CULL_FACE, GL.GL_FRAMEBUFFER_SRGB)))
    shown = np.empty((height, width, 3), np.uint8)
    GL.glReadPixels(0, 0, width, height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE, shown)
    assert np.array_equal(shown[::-1], renderer.image())
    renderer.release()
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, 0)
    GL.glDeleteFramebuffers(1, [framebuffer])
    GL.glDeleteRenderbuffers(1, [buffer])


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_twenty_renderers_leave_nothing_behind_and_draw_the_same() -> None:
    what, look, size = three((SUN, BULB)), RenderSettings(shadow_pixels=256), (320, 240)
    first = shot(what, rest(), eye(), look, size)
    for _ in range(3):
        shot(what, rest(), eye(), look, size)
    gc.collect()
    before = resident()
    for _ in range(20):
        assert np.array_equal(shot(what, rest(), eye(), look, size), first)
    gc.collect()
    assert resident() - before < GROWTH


def test_more_samples_than_there_are_is_as_many_as_there_are() -> None:
    most = int(GL.glGetIntegerv(GL.GL_MAX_SAMPLES))
    many, at_most = (shot(three((SUN,)), rest(), eye(), dataclasses.replace(SHADED, samples=n)) for n in (1000, most))
    assert np.array_equal(many, at_most)


def test_two_renderers_of_one_context_do_not_disturb_each_other() -> None:
    one, other = Renderer(three((SUN,)), FAST, SIZE), Renderer(floor_and_ball(), FAST, SIZE)
    one.draw(rest(), eye())
    image = one.image()
    other.draw(snapshot((0.0, 0.0, 1.0)), eye("top"))
    x, y = eye().pixel(np.array([0.8, 0.1, 0.5]), SIZE)
    part_there = one.pick(x, y).part
    assert part_there is not None and part_there.path == "block"
    assert np.array_equal(one.image(), image)
    one.draw(rest(), eye())
    assert np.array_equal(one.image(), image)
    one.release()
    other.release()


def test_a_scene_of_nothing_is_background() -> None:
    image = shot(scene([], (), 1), snapshot(), eye())
    assert (image == image[0, 0]).all()
