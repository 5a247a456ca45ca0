"""Draws moments of a scene in the current GL context: shadow maps, bodies, ground, ghosts, strokes; and picks."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterable, Iterator

import numpy as np
from OpenGL import GL

from shiftjax.record import record
from shiftjax.viewer import shapes
from shiftjax.viewer.camera import Camera, upright
from shiftjax.viewer.colours import linear
from shiftjax.viewer.gl.buffers import Batch, Corners, Shape
from shiftjax.viewer.gl.crowd import INSTANCE, Crowd, Drawn
from shiftjax.viewer.gl.lighting import MOST, Lighting
from shiftjax.viewer.gl.program import SHADOW_UNIT, Block, Program
from shiftjax.viewer.gl.target import REACH, Patch, Picture, ShadowMaps
from shiftjax.viewer.gl.throng import Throng
from shiftjax.viewer.scene import Ghosts, Look, Moment, Part, Scene, Strokes
from shiftjax.viewer.springs import strokes_of

BELOW = 1.05  # radii of the scene's ball from its centre down to the ground grid
WIDE = 25.0  # radii from the grid's middle to where it has faded
POINT_PIXELS, LINE_PIXELS = 5.0, 2.0  # across, at one pixel a point
LINED = {"triangles": (), "lines": ("LINE",), "points": ()}  # defines of the shaders for a kind of mesh
BOTH_BUFFERS = int(GL.GL_COLOR_BUFFER_BIT) | int(GL.GL_DEPTH_BUFFER_BIT)
SLOPE_BIAS = (1.5, 3.0)  # glPolygonOffset of the shadow maps
BEHIND = (
    1.0,
    4.0,
)  # glPolygonOffset of ghosts: one in the shown member's own pose hides behind it and does not flicker


@record
class Pick:
    """What is under the cursor."""

    part: Part | None
    point: np.ndarray | None  # (3,) of the surface seen there, in the world [m]


class Renderer:
    """Pictures of one scene. Every call needs the context current that was so at the start."""

    def __init__(self, scene: Scene, look: Look | None = None, size: tuple[int, int] = (1280, 720)) -> None:
        """size: width and height of the picture in pixels.

        Raises:
            ModelError: a picture of this size cannot be had.
        """
        self.look = look or Look()
        self.draw_calls = 0  # of meshes, in the main pass of the last frame
        self._ratio = 1.0  # pixels a point
        self._programs: dict[tuple[str, ...], Program] = {}
        self._maps: ShadowMaps | None = None
        self._of_scene: list[Batch | Throng] = []
        self._shapes: list[Shape] = []
        with _guest():
            self._picture = Picture(size, self.look.samples)
            self._patch, self._block, self._grid = Patch(), Block(), Corners()
            self._stroke = Shape(shapes.line(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))))
            self._strokes = Batch(self._stroke)
        self._lit: tuple[str, ...] = ()  # lights as the programs were compiled for
        self.take(scene)

    def take(self, scene: Scene) -> None:
        """Shows another scene from now on; programs and shadow maps stay where its lights are of the same kinds."""
        self.scene, self._crowd, self._lighting = scene, Crowd(scene), Lighting(scene.lights, self.look.shadows)
        self.warnings: tuple[str, ...] = ()
        if self._lighting.left_out:
            names = ", ".join(self._lighting.left_out)
            self.warnings = (f"lights that are not drawn, only {MOST} are: {names}",)
            warnings.warn(self.warnings[0], stacklevel=3)
        with _guest():
            known = {shape.key: shape for shape in self._shapes}
            for thing in self._of_scene:
                thing.release()
            if self._lit != self._lighting.defines():
                self._relight()
            self._shapes = [known.pop(mesh.key, None) or Shape(mesh) for mesh in self._crowd.meshes]
            for shape in known.values():
                shape.release()
            by_key = {mesh.key: shape for mesh, shape in zip(self._crowd.meshes, self._shapes, strict=True)}
            self._throng = Throng(by_key)
            self._solid = [Batch(shape) for shape in self._shapes]
            # what is drawn as soon as it is uploaded: see-through parts in their order, parts under the cursor
            self._loose = [Batch(shape) for shape in self._shapes]
        self._of_scene = [self._throng, *self._solid, *self._loose]
        self._mapped: tuple[np.ndarray, ...] = ()  # what the shadow maps show now
        self._last: tuple[Drawn, np.ndarray] | None = None  # of the last picture; (4, 4) world to clip space

    def _relight(self) -> None:
        """Forgets what depends on the kinds of lights, and makes their shadow maps."""
        for program in self._programs.values():
            program.release()
        if self._maps is not None:
            self._maps.release()
        self._programs, self._lit = {}, self._lighting.defines()
        layers = self._lighting.layers
        self._maps = ShadowMaps(layers, self.look.shadow_pixels) if layers else None

    @property
    def size(self) -> tuple[int, int]:
        return self._picture.size

    def draw(self, moment: Moment, camera: Camera) -> None:
        """Draws into this renderer's own framebuffer; `image` and `show` take it from there."""
        drawn = self._crowd.at(moment)
        width, height = self.size
        clip = camera.projection(width / height) @ camera.view()
        self._last = drawn, clip
        with _guest(POINT_PIXELS * self._ratio):
            self._upload(drawn)
            self._light(drawn, clip, moment, camera)
            self._picture.begin()
            GL.glEnable(GL.GL_FRAMEBUFFER_SRGB)
            GL.glEnable(GL.GL_DEPTH_TEST)
            red, green, blue = linear(np.array(self.look.background)).tolist()
            GL.glClearColor(red, green, blue, 1.0)
            GL.glClear(BOTH_BUFFERS)
            self.draw_calls = self._draw_batches(self._solid)
            GL.glEnable(GL.GL_BLEND)
            GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
            for strokes in (strokes_of(self.scene.springs, moment), moment.strokes):
                if strokes is not None and len(strokes.ends):
                    self._draw_strokes(strokes)
            GL.glDepthMask(False)
            if self.look.grid:
                self._draw_grid()
            GL.glEnable(GL.GL_CULL_FACE)
            self.draw_calls += self._draw_glass(drawn, clip)
            if moment.ghosts is not None:
                self._draw_ghosts(moment.ghosts, moment.hidden)
            if moment.signs is not None and len(moment.signs.ends):
                GL.glDisable(GL.GL_DEPTH_TEST)
                GL.glDisable(GL.GL_CULL_FACE)
                self._draw_strokes(moment.signs)
            GL.glDepthMask(True)
            self._picture.finish()

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the last picture, first row on top."""
        with _guest():
            return self._picture.read()

    def show(self, framebuffer: int = 0, left: int = 0, below: int = 0) -> None:
        """Copies the last picture to a framebuffer, such as the window's, its lower left corner at a pixel."""
        with _guest():
            self._picture.show(framebuffer, left, below)

    def pick(self, x: float, y: float) -> Pick:
        """The nearest visible part at pixel (x, y), from the upper left, of the last picture; ghosts are none.

        A line or a point is found some pixels beside itself, where nothing else is.
        """
        if self._last is None:
            return Pick(None, None)
        (drawn, clip), (column, row) = self._last, (round(x), round(y))
        middle = self._on_screen(column, row)
        reach = (REACH + POINT_PIXELS * self._ratio) * 2 / np.array(self.size)
        near = np.flatnonzero(self._crowd.near(drawn, clip, middle - reach, middle + reach))
        if not len(near):
            return Pick(None, None)
        with _guest(POINT_PIXELS * self._ratio):
            self._block.bind()
            self._patch.begin(column, row, self.size)
            GL.glEnable(GL.GL_DEPTH_TEST)
            for batch in self._loaded(drawn, near[np.argsort(self._crowd.mesh_of[near], kind="stable")]):
                self._program("mesh.vert", "mesh.frag", "PICK", *LINED[batch.shape.kind]).use()
                batch.draw()
            numbers, depths = self._patch.read()
        found = self._nearest(numbers)
        if found is None:
            return Pick(None, None)
        i, k = found
        seen = [*self._on_screen(column + k - REACH, row + i - REACH), 2 * float(depths[i, k]) - 1, 1.0]
        point = np.linalg.solve(clip, np.array(seen))
        return Pick(self.scene.parts[int(numbers[i, k]) - 1], point[:3] / point[3])

    def resize(self, width: int, height: int, ratio: float = 1.0) -> None:
        """Later pictures have this size [pixels]; lines are so many times wider than on a plain screen."""
        self._ratio = ratio
        if (width, height) != self.size:
            with _guest():
                picture = Picture((width, height), self.look.samples)
                self._picture.release()
            self._picture, self._last = picture, None

    def release(self) -> None:
        """Frees everything on the graphics card."""
        held = [self._picture, self._maps, self._patch, self._block, self._grid, self._strokes, self._stroke,
                *self._of_scene, *self._shapes, *self._programs.values()]  # fmt: skip
        for thing in held:
            if thing is not None:
                thing.release()
        self._programs, self._solid, self._loose, self._shapes, self._of_scene = {}, [], [], [], []
        self._maps = self._last = None

    # -- parts of a picture --------------------------------------------------------------------------------------------

    def _program(self, vertex: str, fragment: str, *extra: str) -> Program:
        """A variant, compiled when it is first needed."""
        key = (vertex, fragment, *extra)
        if key not in self._programs:
            soft = ("SOFT",) if self.look.soft else ()
            self._programs[key] = Program(vertex, fragment, (*self._lighting.defines(), *soft, *extra))
        return self._programs[key]

    def _upload(self, drawn: Drawn) -> None:
        for k, group in enumerate(self._crowd.groups):
            shown = group[drawn.visible[group]]
            self._solid[k].upload(drawn.rows[shown[~drawn.glass[shown]]])

    def _loaded(self, drawn: Drawn, order: np.ndarray) -> Iterator[Batch]:
        """Batches to be drawn in turn: parts in an order, neighbours of one mesh together."""
        number = self._crowd.mesh_of[order]
        for run in np.split(order, np.flatnonzero(np.diff(number)) + 1):
            if len(run):
                batch = self._loose[self._crowd.mesh_of[run[0]]]
                batch.upload(drawn.rows[run])
                yield batch

    def _light(self, drawn: Drawn, clip: np.ndarray, moment: Moment, camera: Camera) -> None:
        """Lights and camera to the block, and the shadow maps where something has moved."""
        throws = self._crowd.casts & drawn.visible & ~drawn.glass
        ball = self._crowd.ball(drawn.rows, throws)
        lit = self._lighting.at(moment.poses, ball, self._maps.pixels if self._maps else 1)
        eye = np.array([*camera.axes()[2], 0.0]) if camera.orthographic else np.array([*camera.eye, 1.0])
        choice = (self.look.shininess, self._spacing(), WIDE * self.scene.size, 0.0)
        up = np.array([*self.scene.up, 0.0]) / np.linalg.norm(self.scene.up)
        screen = (*self.size, 0.5 * LINE_PIXELS * self._ratio, 0.0)
        self._block.upload(np.concatenate(
            [clip.T.ravel(), eye, choice, up, screen, lit.lights.ravel(), lit.layers.transpose(0, 2, 1).ravel()],
            dtype=np.float32,
        ))  # fmt: skip
        if self._maps is None:
            return
        state = (lit.layers, drawn.rows["rows"], throws)
        if len(self._mapped) == 3 and all(map(np.array_equal, state, self._mapped)):
            return
        self._mapped = state
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(*SLOPE_BIAS)
        program = self._program("mesh.vert", "mesh.frag", "DEPTH")
        program.use()
        counts = [int(throws[group].sum()) for group in self._crowd.groups]
        for layer in range(self._lighting.layers):
            if layer in lit.needed:
                self._maps.begin(layer)
                program.set_layer(layer)
                for batch, count in zip(self._solid, counts, strict=True):
                    if count:
                        batch.draw(count)
            else:
                self._maps.leave_blank(layer)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _bind_maps(self) -> None:
        if self._maps is not None:
            GL.glActiveTexture(SHADOW_UNIT)
            GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, self._maps.texture)

    def _draw_batches(self, batches: Iterable[Batch]) -> int:
        """Draws every batch that has something, and returns the number of draws."""
        self._bind_maps()
        calls = 0
        for batch in batches:
            if batch.count:
                plain = ("TEXTURED",) if batch.shape.texture else ()
                extra = plain if batch.shape.kind == "triangles" else ("FLAT", *LINED[batch.shape.kind])
                self._program("mesh.vert", "mesh.frag", *extra).use()
                batch.draw()
                calls += 1
        return calls

    def _draw_ghosts(self, ghosts: Ghosts, hidden: frozenset[str]) -> None:
        self._program("mesh.vert", "mesh.frag", "GHOST").use()
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(*BEHIND)
        self.draw_calls += self._throng.draw(ghosts, self.scene.parts, hidden)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _draw_glass(self, drawn: Drawn, clip: np.ndarray) -> int:
        """See-through parts, those in the back first; returns the number of draws."""
        shown = np.flatnonzero(drawn.visible & drawn.glass)
        depths = self._crowd.depths(drawn, clip)[shown]
        return self._draw_batches(self._loaded(drawn, shown[np.argsort(-depths, kind="stable")]))

    def _draw_strokes(self, strokes: Strokes) -> None:
        """All of them at once: each is the line from 0 to 1 on x, placed."""
        ends = np.reshape(strokes.ends, (-1, 2, 3))
        rows = np.zeros(len(ends), INSTANCE)
        rows["rows"][:, :, 0], rows["rows"][:, :, 3] = ends[:, 1] - ends[:, 0], ends[:, 0]
        rows["colour"] = linear(strokes.colours)
        self._strokes.upload(rows)
        self._draw_batches([self._strokes])

    def _spacing(self) -> float:
        """Of the grid's lines [m]: a power of ten, three to thirty in the scene's radius."""
        return 10.0 ** math.floor(math.log10(max(self.scene.size, 1e-9)) - 0.5)

    def _draw_grid(self) -> None:
        right, forward, up = upright(self.scene.up)
        middle = np.array(self.scene.centre) - up * self.scene.size * BELOW
        far = WIDE * self.scene.size
        corners = far * np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        points = middle + corners @ np.stack([right, forward])
        places = np.concatenate([points @ np.stack([right, forward], axis=1), corners], axis=1)
        self._bind_maps()
        self._program("grid.vert", "grid.frag").use()
        self._grid.draw(points, places)

    def _on_screen(self, column: int, row: int) -> np.ndarray:
        """(2,) the middle of a pixel, the whole picture being -1 to 1."""
        width, height = self.size
        return np.array([2 * (column + 0.5) / width - 1, 1 - 2 * (row + 0.5) / height])

    def _nearest(self, numbers: np.ndarray) -> tuple[int, int] | None:
        """Row and column of the pixel that counts as picked."""
        if numbers[REACH, REACH]:
            return REACH, REACH
        rows, columns = np.nonzero(numbers)
        near = [(int(i - REACH) ** 2 + int(k - REACH) ** 2, int(i), int(k)) for i, k in zip(rows, columns, strict=True)
                if self.scene.parts[int(numbers[i, k]) - 1].mesh.kind != "triangles"]  # fmt: skip
        return min(near)[1:] if near else None


@contextlib.contextmanager
def _guest(point_pixels: float = POINT_PIXELS) -> Iterator[None]:
    """Leaves framebuffers, viewport and switches as a window's own code expects them."""
    reading = int(GL.glGetIntegerv(GL.GL_READ_FRAMEBUFFER_BINDING))
    drawing = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING))
    viewport = [int(number) for number in GL.glGetIntegerv(GL.GL_VIEWPORT)]
    switches = (GL.GL_BLEND, GL.GL_CULL_FACE, GL.GL_DEPTH_TEST, GL.GL_SCISSOR_TEST, GL.GL_FRAMEBUFFER_SRGB,
                GL.GL_STENCIL_TEST, GL.GL_POLYGON_OFFSET_FILL)  # fmt: skip
    for switch in switches:
        GL.glDisable(switch)
    GL.glDepthMask(True)
    GL.glDepthFunc(GL.GL_LESS)
    GL.glColorMask(True, True, True, True)
    GL.glPolygonMode(GL.GL_FRONT_AND_BACK, GL.GL_FILL)
    GL.glBlendEquation(GL.GL_FUNC_ADD)
    GL.glFrontFace(GL.GL_CCW)
    GL.glCullFace(GL.GL_BACK)
    GL.glClearDepth(1.0)
    GL.glPointSize(point_pixels)
    try:
        yield
    finally:
        for switch in switches:
            GL.glDisable(switch)
        GL.glDepthMask(True)
        GL.glUseProgram(0)
        GL.glBindVertexArray(0)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, reading)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, drawing)
        GL.glViewport(*viewport)
