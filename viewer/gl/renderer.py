"""Draws moments of a scene in the current GL context: shadow maps, bodies, ground, ghosts, strokes; and picks."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from OpenGL import GL

from shiftjax.record import record
from shiftjax.viewer.gl.buffers import Batch, GridBuffers, MeshBuffers
from shiftjax.viewer.gl.drawing_state import POINT_PIXELS, gl_state, near_sides_alone
from shiftjax.viewer.gl.framebuffer import REACH, PickBuffer, Picture, ShadowMaps
from shiftjax.viewer.gl.ghost_instances import GhostInstances
from shiftjax.viewer.gl.level_of_detail import refine
from shiftjax.viewer.gl.lighting import MAX_LIGHTS, Lighting
from shiftjax.viewer.gl.outline import HOVERED, MARKED, THIN, WIDTH, OutlineMask, window
from shiftjax.viewer.gl.part_instances import INSTANCE, InstanceRows, PartInstances
from shiftjax.viewer.gl.program import SHADOW_UNIT, Program, UniformBlock
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.camera import FIT, Camera, upright
from shiftjax.viewer.scene.palette import linear
from shiftjax.viewer.scene.scene import Ghosts, RenderSettings, Scene, ScenePart, Snapshot, Strokes

GRID_DEPTH = 1.05  # of the ground grid below the centre of the scene, in radii of the scene
GRID_RADIUS = 25.0  # at which the ground grid has faded, in radii of what the camera shows
LINE_PIXELS = 2.0  # width of a line, at a pixel ratio of 1
DEFINES = {"triangles": (), "lines": ("LINE",), "points": ()}  # of the shaders, by the kind of a mesh
BUFFERS = int(GL.GL_COLOR_BUFFER_BIT) | int(GL.GL_DEPTH_BUFFER_BIT) | int(GL.GL_STENCIL_BUFFER_BIT)
SLOPE_BIAS = (1.5, 3.0)  # glPolygonOffset of the shadow maps
GHOST_LINE = 1.5  # width of outlines of ghosts, at a pixel ratio of 1 [pixels]
STENCILS = 255  # ghosts that are told apart in the stencil buffer
GHOST_BIAS = (1.0, 4.0)  # glPolygonOffset of ghosts: behind equal surfaces of the member shown, without flicker


@record
class PickedPart:
    """What is under the cursor."""

    part: ScenePart | None
    point: np.ndarray | None  # (3,) of the surface seen there, in the world [m]
    ghost: int | None = None  # number of the ghost, where nothing else is
    member: int | None = None  # of the study that the ghost is, where that is known


class Renderer:
    """Draws one scene. Every call needs the GL context that was current at construction."""

    def __init__(self, scene: Scene, look: RenderSettings | None = None, size: tuple[int, int] = (1280, 720)) -> None:
        """size: width and height of the picture in pixels.

        Raises:
            ModelError: the driver cannot create a framebuffer of this size.
        """
        self.look = look or RenderSettings()
        self.draw_calls = 0  # of meshes, in the main pass of the last frame
        self.ratio = 1.0  # pixels of the framebuffer for each of the screen coordinates
        self._share = 1.0  # of its sides in those that it is shown at
        self._programs: dict[tuple[str, ...], Program] = {}
        self._maps: ShadowMaps | None = None
        self._mask: OutlineMask | None = None  # made when something is marked
        self._of_scene: list[Batch | GhostInstances] = []
        self._meshes: list[MeshBuffers] = []
        with gl_state():
            self._picture = Picture(size, self.look.samples)
            self._pick_buffer, self._block, self._grid = PickBuffer(), UniformBlock(), GridBuffers()
            self._stroke = MeshBuffers(shapes.line(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))))
            self._strokes, self._paths = Batch(self._stroke), Batch(self._stroke)
        self._uploaded_paths: Strokes | None = None
        self._light_defines: tuple[str, ...] = ()  # for which the programs were compiled
        self.set_scene(scene)

    def set_scene(self, scene: Scene) -> None:
        """Replaces the scene; programs and shadow maps are kept if its lights are of the same kinds."""
        self.scene, self._parts = scene, PartInstances(scene)
        self._lighting = Lighting(scene.lights, shadows=self.look.shadows)
        self.warnings: tuple[str, ...] = ()
        if self._lighting.left_out:
            names = ", ".join(self._lighting.left_out)
            self.warnings = (f"lights that are not drawn, only {MAX_LIGHTS} are: {names}",)
            warnings.warn(self.warnings[0], stacklevel=3)
        with gl_state():
            known = {mesh.key: mesh for mesh in self._meshes}
            for item in self._of_scene:
                item.release()
            if self._light_defines != self._lighting.defines():
                self._reset_lights()
            self._meshes = [known.pop(mesh.key, None) or MeshBuffers(mesh) for mesh in self._parts.meshes]
            for mesh in known.values():
                mesh.release()
            self._ghosts = GhostInstances({mesh.key: mesh for mesh in self._meshes})
            self._opaque = [Batch(mesh) for mesh in self._meshes]
            # uploaded right before each draw: translucent parts in their order, parts under the cursor
            self._transient = [Batch(mesh) for mesh in self._meshes]
        self._of_scene = [self._ghosts, *self._opaque, *self._transient]
        self._in_maps: tuple[np.ndarray, ...] = ()  # from which the shadow maps were last drawn
        self._last: tuple[InstanceRows, np.ndarray, Snapshot] | None = None  # of the last picture; world to clip space

    def _reset_lights(self) -> None:
        """Frees the programs and shadow maps of the former lights, and creates the maps of the present ones."""
        for program in self._programs.values():
            program.release()
        if self._maps is not None:
            self._maps.release()
        self._programs, self._light_defines = {}, self._lighting.defines()
        layers = self._lighting.layers
        self._maps = ShadowMaps(layers, self.look.shadow_pixels) if layers else None

    @property
    def size(self) -> tuple[int, int]:
        return self._picture.size

    def draw(self, snapshot: Snapshot, camera: Camera) -> None:
        """Draws into the framebuffer of this renderer; `image` and `copy_to` read it."""
        drawn = self._parts.at(snapshot)
        width, height = self.size
        clip = camera.projection(width / height) @ camera.view()
        self._last = drawn, clip, snapshot
        with gl_state(POINT_PIXELS * self.ratio):
            self._upload(drawn)
            refine(self._parts, self._meshes, drawn, clip, self.size, camera)
            self._light(drawn, clip, snapshot, camera)
            self._picture.begin()
            GL.glEnable(GL.GL_FRAMEBUFFER_SRGB)
            GL.glEnable(GL.GL_DEPTH_TEST)
            red, green, blue = linear(np.array(self.look.background)).tolist()
            GL.glClearColor(red, green, blue, 1.0)
            GL.glClear(BUFFERS)
            self.draw_calls = self._draw_batches(self._opaque, self._parts.outside(drawn, clip).tolist())
            GL.glEnable(GL.GL_BLEND)
            GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
            if snapshot.strokes is not None and len(snapshot.strokes.ends):
                self._draw_strokes(snapshot.strokes)
            GL.glDepthMask(False)
            if self.look.grid and (snapshot.ground is not None or not self.scene.terrain):
                self._draw_grid(camera, snapshot.ground)
            if snapshot.paths is not None and len(snapshot.paths.ends):
                self._draw_paths(snapshot.paths)  # without depth: those in one plane would hide each other
            GL.glEnable(GL.GL_CULL_FACE)
            self.draw_calls += self._draw_translucent(drawn, clip)
            if snapshot.ghosts is not None:
                self._draw_ghosts(snapshot.ghosts, snapshot.hidden)
                self.draw_calls += self._ghosts.calls
            if snapshot.symbols is not None and len(snapshot.symbols.ends):
                GL.glDisable(GL.GL_DEPTH_TEST)
                GL.glDisable(GL.GL_CULL_FACE)
                self._draw_strokes(snapshot.symbols)
            GL.glDepthMask(True)
            self._picture.finish()
            self._outline(drawn, clip, snapshot)

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the last picture, first row on top."""
        with gl_state():
            return self._picture.read()

    def copy_to(self, framebuffer: int = 0, left: int = 0, below: int = 0, size: tuple[int, int] | None = None) -> None:
        """Copies the last picture to a framebuffer, such as the window's, its lower left corner at a pixel.

        Args:
            size: that it is to have there [pixels]; its own where left out.
        """
        with gl_state():
            self._picture.copy_to(framebuffer, left, below, size)

    def pick(self, x: float, y: float, size: tuple[int, int] | None = None) -> PickedPart:
        """The nearest visible part at pixel (x, y), from the upper left, of the last picture; else a ghost.

        Lines and points are also found within a few pixels, where nothing else is.

        Args:
            size: in which the picture is shown [pixels]; its own where left out.
        """
        if self._last is None:
            return PickedPart(None, None)
        size = size or self.size
        (drawn, clip, snapshot), (column, row) = self._last, (round(x), round(y))
        middle, point_pixels = _on_screen(column, row, size), POINT_PIXELS * self.ratio * size[0] / self.size[0]
        reach = (REACH + point_pixels) * 2 / np.array(size)
        near = np.flatnonzero(self._parts.near(drawn, clip, middle - reach, middle + reach))
        with gl_state(point_pixels):
            self._block.bind()
            if len(near):
                order = near[np.argsort(self._parts.mesh_of[near], kind="stable")]
                seen = self._seen(
                    (column, row), size, lambda: self._draw_chosen(drawn, order, "PICK"), clip, self._parts.thin
                )
                if seen is not None:
                    return PickedPart(self._parts.parts[seen[0]], seen[1])
            ghosts = snapshot.ghosts
            if ghosts is None:
                return PickedPart(None, None)
            draw = functools.partial(self._draw_ghosts, ghosts, snapshot.hidden, "PICK")
            seen = self._seen((column, row), size, draw, clip, np.zeros(len(ghosts.poses), bool))
        if seen is None:
            return PickedPart(None, None)
        return PickedPart(None, seen[1], seen[0], None if ghosts.members is None else int(ghosts.members[seen[0]]))

    def _seen(self, at: tuple[int, int], size: tuple[int, int], draw: Callable[[], None], clip: np.ndarray,
              thin: np.ndarray) -> tuple[int, np.ndarray] | None:  # fmt: skip
        """Number of what `draw` shows at a pixel of a picture of a size, and the point (3,) of its surface in the
        world [m].

        Args:
            thin: (numbers,) bool, what is found beside itself too.
        """
        column, row = at
        self._pick_buffer.begin(column, row, size)
        GL.glEnable(GL.GL_DEPTH_TEST)
        draw()
        numbers, depths = self._pick_buffer.read()
        pixel = _nearest(numbers, thin)
        if pixel is None:
            return None
        i, k = pixel
        seen = [*_on_screen(column + k - REACH, row + i - REACH, size), 2 * float(depths[i, k]) - 1, 1.0]
        point = np.linalg.solve(clip, np.array(seen))
        return int(numbers[i, k]) - 1, point[:3] / point[3]

    def resize(self, width: int, height: int, ratio: float = 1.0, share: float = 1.0) -> None:
        """Later pictures have this size [pixels].

        Args:
            ratio: of framebuffer pixels to screen coordinates. share: of its sides in those that it is shown at.
        """
        self.ratio, self._share = ratio, share
        if (width, height) != self.size:
            with gl_state():
                picture = Picture((width, height), self.look.samples)
                self._picture.release()
                if self._mask is not None:
                    self._mask.release()
            self._picture, self._last, self._mask = picture, None, None

    def release(self) -> None:
        """Frees all GL objects."""
        gl_objects = [self._picture, self._maps, self._mask, self._pick_buffer, self._block, self._grid, self._strokes,
                self._paths, self._stroke, *self._of_scene, *self._meshes, *self._programs.values()]  # fmt: skip
        for item in gl_objects:
            if item is not None:
                item.release()
        self._programs, self._opaque, self._transient, self._meshes, self._of_scene = {}, [], [], [], []
        self._maps = self._mask = self._last = None

    # -- parts of a picture --------------------------------------------------------------------------------------------

    def _program(self, vertex: str, fragment: str, *extra: str) -> Program:
        """A program variant, compiled when it is first used."""
        key = (vertex, fragment, *extra)
        if key not in self._programs:
            soft = ("SOFT",) if self.look.soft else ()
            self._programs[key] = Program(vertex, fragment, (*self._lighting.defines(), *soft, *extra))
        return self._programs[key]

    def _upload(self, drawn: InstanceRows) -> None:
        for k, group in enumerate(self._parts.groups):
            shown = group[drawn.visible[group]]
            self._opaque[k].upload(drawn.rows[shown[~drawn.translucent[shown]]])

    def _uploaded(self, drawn: InstanceRows, order: np.ndarray) -> Iterator[Batch]:
        """Batches to draw one after another: parts in the given order, neighbours of one mesh in one batch."""
        number = self._parts.mesh_of[order]
        for run in np.split(order, np.flatnonzero(np.diff(number)) + 1):
            if len(run):
                batch = self._transient[self._parts.mesh_of[run[0]]]
                batch.upload(drawn.rows[run])
                yield batch

    def _light(self, drawn: InstanceRows, clip: np.ndarray, snapshot: Snapshot, camera: Camera) -> None:
        """Uploads lights and camera; draws the shadow maps if a light or a shadow caster has moved."""
        casters = self._parts.casts & drawn.visible & ~drawn.translucent
        sphere = self._parts.bounding_sphere(drawn.rows, casters)
        state = self._lighting.at(snapshot.poses, sphere, self._maps.pixels if self._maps else 1)
        eye = np.array([*camera.axes()[2], 0.0]) if camera.orthographic else np.array([*camera.eye, 1.0])
        shown = self._shown(camera)
        settings = (self.look.shininess, _spacing(shown), GRID_RADIUS * shown, self._share)
        up = np.array([*self.scene.up, 0.0]) / np.linalg.norm(self.scene.up)
        screen = (*self.size, 0.5 * LINE_PIXELS * self.ratio, self.ratio)
        outline = linear(np.array(snapshot.outline))
        self._block.upload(np.concatenate(
            [clip.T.ravel(), eye, settings, up, screen, outline, state.lights.ravel(),
             state.layers.transpose(0, 2, 1).ravel()],
            dtype=np.float32,
        ))  # fmt: skip
        if self._maps is None:
            return
        drawn_now = (state.layers, drawn.rows["rows"], casters)
        if len(self._in_maps) == 3 and all(map(np.array_equal, drawn_now, self._in_maps)):
            return
        self._in_maps = drawn_now
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(*SLOPE_BIAS)
        program = self._program("mesh.vert", "mesh.frag", "DEPTH")
        program.use()
        counts = [int(casters[group].sum()) for group in self._parts.groups]
        for layer in range(self._lighting.layers):
            if layer in state.needed:
                self._maps.begin(layer)
                program.set_layer(layer)
                for batch, count in zip(self._opaque, counts, strict=True):
                    if count:
                        batch.draw(count)
            else:
                self._maps.clear_once(layer)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _bind_maps(self) -> None:
        if self._maps is not None:
            GL.glActiveTexture(SHADOW_UNIT)
            GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, self._maps.texture)

    def _draw_batches(self, batches: Iterable[Batch], outside: Iterable[bool] = itertools.repeat(False)) -> int:
        """Draws all batches that are not empty; returns the number of draw calls.

        Args:
            outside: of each batch whether the eye is outside all of it: the far sides of solids are left out, which
                takes a software renderer half of the time of their triangles.
        """
        self._bind_maps()
        calls = 0
        for batch, near_sides in zip(batches, outside, strict=False):
            if batch.count:
                extra = batch.mesh.defines if batch.mesh.kind == "triangles" else ("FLAT", *DEFINES[batch.mesh.kind])
                self._program("mesh.vert", "mesh.frag", *extra).use()
                with near_sides_alone() if near_sides and batch.mesh.bounds_solids else contextlib.nullcontext():
                    batch.draw()
                calls += 1
        return calls

    def _draw_chosen(self, drawn: InstanceRows, order: np.ndarray, define: str) -> None:
        """Parts by their numbers, one mesh after another, for a pass that shows neither colour nor light."""
        for batch in self._uploaded(drawn, order):
            self._program("mesh.vert", "mesh.frag", define, *DEFINES[batch.mesh.kind]).use()
            batch.draw()

    def _draw_ghosts(self, ghosts: Ghosts, hidden: frozenset[str], define: str = "GHOST",
                     only: int | None = None) -> None:  # fmt: skip
        """All ghosts, or `only` the one of a number."""
        if ghosts.outlined and define == "GHOST":
            self._outline_ghosts(ghosts, hidden)
            return
        self._program("mesh.vert", "mesh.frag", define).use()
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(*GHOST_BIAS)
        self._ghosts.draw(ghosts, self.scene.parts, hidden, only)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _outline_ghosts(self, ghosts: Ghosts, hidden: frozenset[str]) -> None:
        """Of each its far sides, a little larger, where its near sides are not (Gooch, Gooch: Non-Photorealistic
        Rendering, 2001, section 7.3). One behind another is seen through it, whole; the member shown hides both."""
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(*GHOST_BIAS)
        GL.glEnable(GL.GL_STENCIL_TEST)
        GL.glStencilOp(GL.GL_KEEP, GL.GL_KEEP, GL.GL_REPLACE)
        near = self._program("mesh.vert", "mesh.frag", "MASK")
        far = self._program("mesh.vert", "mesh.frag", "GHOST", f"HULL {GHOST_LINE}")
        for ghost in range(len(ghosts.poses)):
            number = 1 + ghost % STENCILS
            if ghost and number == 1:
                GL.glClear(GL.GL_STENCIL_BUFFER_BIT)
            for program, face, test, coloured in (
                (near, GL.GL_BACK, GL.GL_ALWAYS, False),
                (far, GL.GL_FRONT, GL.GL_NOTEQUAL, True),
            ):
                program.use()
                GL.glColorMask(*(coloured,) * 4)
                GL.glCullFace(face)
                GL.glStencilFunc(test, number, 0xFF)
                self._ghosts.draw(ghosts, self.scene.parts, hidden, ghost)
        GL.glCullFace(GL.GL_BACK)
        GL.glDisable(GL.GL_STENCIL_TEST)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _outline(self, drawn: InstanceRows, clip: np.ndarray, snapshot: Snapshot) -> None:
        """Bands about what is marked and what is under the cursor, over the finished picture."""
        marked, hovered = (self._parts.of(paths, drawn) for paths in (snapshot.highlighted, snapshot.hovered))
        ghost, ghosts = snapshot.hovered_ghost, snapshot.ghosts
        if not len(marked) and not len(hovered) and ghost is None:
            return
        for capability in (GL.GL_DEPTH_TEST, GL.GL_CULL_FACE, GL.GL_FRAMEBUFFER_SRGB, GL.GL_BLEND):
            GL.glDisable(capability)
        self._mask = self._mask or OutlineMask(self.size, self._picture.samples)
        self._mask.begin()
        for channels, order in ((MARKED, marked), (HOVERED, hovered)):
            self._mask.channel(channels)
            self._draw_chosen(drawn, order, "MASK")
        if ghost is not None and ghosts is not None:
            self._draw_ghosts(ghosts, snapshot.hidden, "MASK", ghost)
        self._mask.finish()
        box = (-np.ones(2), np.ones(2))  # of a ghost the whole picture
        if ghost is None:
            box = self._parts.bounds(drawn, clip, np.concatenate([marked, hovered]))
        self._picture.begin_over()
        for capability in (GL.GL_SCISSOR_TEST, GL.GL_FRAMEBUFFER_SRGB, GL.GL_BLEND):
            GL.glEnable(capability)
        GL.glScissor(*window(*box, self.size, self.ratio))
        self._program("outline.vert", "outline.frag", f"BAND {WIDTH}", f"THIN {THIN}").use()
        self._mask.paint()
        GL.glDisable(GL.GL_SCISSOR_TEST)

    def _draw_translucent(self, drawn: InstanceRows, clip: np.ndarray) -> int:
        """Translucent parts, back to front; returns the number of draw calls."""
        shown = np.flatnonzero(drawn.visible & drawn.translucent)
        depths = self._parts.depths(drawn, clip)[shown]
        return self._draw_batches(self._uploaded(drawn, shown[np.argsort(-depths, kind="stable")]))

    def _draw_strokes(self, strokes: Strokes) -> None:
        """In one call."""
        self._strokes.upload(_lines(strokes))
        self._draw_batches([self._strokes])

    def _draw_paths(self, paths: Strokes) -> None:
        """The same of lines that are uploaded once."""
        if paths is not self._uploaded_paths:
            self._paths.upload(_lines(paths))
            self._uploaded_paths = paths
        self._draw_batches([self._paths])

    def _shown(self, camera: Camera) -> float:
        """Radius of what the camera shows [m], at least that of the scene."""
        return max(self.scene.size, camera.distance * math.sin(camera.view_angle / 2) / FIT)

    def _draw_grid(self, camera: Camera, ground: float | None) -> None:
        """The ground plane at a height along up [m], about the point that the camera looks at."""
        right, forward, up = upright(self.scene.up)
        below = float(np.array(self.scene.centre) @ up) - self.scene.size * GRID_DEPTH
        target = np.array(camera.target)
        middle = target + up * ((below if ground is None else ground) - float(target @ up))
        far = GRID_RADIUS * self._shown(camera)
        corners = far * np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        points = middle + corners @ np.stack([right, forward])
        places = np.concatenate([points @ np.stack([right, forward], axis=1), corners], axis=1)
        self._bind_maps()
        self._program("grid.vert", "grid.frag").use()
        self._grid.draw(points, places)


def _on_screen(column: int, row: int, size: tuple[int, int]) -> np.ndarray:
    """(2,) normalized device coordinates of the middle of a pixel of a picture of a size."""
    width, height = size
    return np.array([2 * (column + 0.5) / width - 1, 1 - 2 * (row + 0.5) / height])


def _lines(strokes: Strokes) -> np.ndarray:
    """(m,) INSTANCE: each is the line from 0 to 1 on x."""
    ends = np.reshape(strokes.ends, (-1, 2, 3))
    rows = np.zeros(len(ends), INSTANCE)
    rows["rows"][:, :, 0], rows["rows"][:, :, 3] = ends[:, 1] - ends[:, 0], ends[:, 0]
    rows["colour"] = linear(strokes.colours)
    return rows


def _nearest(numbers: np.ndarray, thin: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the picked pixel: the middle one, else the nearest one of a line or point (`thin`)."""
    if numbers[REACH, REACH]:
        return REACH, REACH
    rows, columns = np.nonzero(numbers)
    near = [(int(i - REACH) ** 2 + int(k - REACH) ** 2, int(i), int(k)) for i, k in zip(rows, columns, strict=True)
            if thin[int(numbers[i, k]) - 1]]  # fmt: skip
    return min(near)[1:] if near else None


def _spacing(shown: float) -> float:
    """Spacing of the grid lines [m]: a power of ten, 3 to 30 of them in the radius of what is shown."""
    return 10.0 ** math.floor(math.log10(max(shown, 1e-9)) - 0.5)
