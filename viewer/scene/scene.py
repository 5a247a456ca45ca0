"""What is drawn, as plain records of NumPy arrays: meshes fixed to nodes, lights, and one picture's worth of choices.

A *node* is ground (number 0) or a body; its pose is (7,): position of its origin in the world [m], then a unit
quaternion, w first. Everything that decides how a picture looks is here, so that a window, a file without a display and
an exported page show the same.
"""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

import numpy as np

from shiftjax.record import record

Colour = tuple[float, float, float, float]  # red, green, blue, opacity in 0..1, sRGB
Direction = tuple[float, float, float]
GROUND = 0
OUTLINE: Colour = (1.0, 0.45, 0.0, 1.0)  # about what is highlighted


@record
class Texture:
    """An image mapped onto a mesh."""

    pixels: np.ndarray  # (h, w, 4) uint8, first row on top


class Detail(Protocol):
    """What makes a mesh finer or coarser for a picture."""

    def refined(
        self, key: str, clip: np.ndarray, size: tuple[int, int], nearest: float, before: object
    ) -> tuple[object, Mesh] | None:
        """What the mesh is to be made of, and itself, without pictures; None where that is as `before`.

        Args:
            key: of the mesh. clip: (4, 4) its coordinates to clip space. size: of the picture [pixels].
            nearest: least w of clip space in the picture. before: the first of what the last call returned, or None.
        """
        ...


@record
class Mesh:
    """Triangles, lines or points in their own coordinates [m]. Equal keys mean equal arrays."""

    key: str
    vertices: np.ndarray  # (n, 3) float32
    indices: np.ndarray  # (m, 3) of triangles, (m, 2) of lines or (m, 1) of points, uint32
    normals: np.ndarray  # (n, 3) float32, unit; zeros for lines and points
    uv: np.ndarray | None = None  # (n, 2) float32, (0, 0) at the lower left of the texture
    texture: Texture | None = None
    normal_map: Texture | None = None  # red along x of the mesh, green along the picture's height, blue outwards
    specular_map: Texture | None = None  # factors of the specular colours of lights
    detail: Detail | None = None

    @property
    def kind(self) -> str:
        return {3: "triangles", 2: "lines", 1: "points"}[self.indices.shape[1]]


@record
class ScenePart:
    """A mesh on a node."""

    mesh: Mesh
    node: int
    transform: np.ndarray  # (4, 4) float64, mesh coordinates to node coordinates; may scale
    colour: Colour
    path: str  # of the body, joint, frame or light that it shows
    kind: str = "body"  # "body", "ground", "joint", "spring" (forces), "light", "frame", "centre", "shape"
    shadow: bool = True  # whether it casts one


@record
class SceneLight:
    """A Phong light on a node. Directional and spot lights shine along `direction`."""

    path: str
    type: str  # "point", "spot" or "directional"
    node: int
    position: Direction  # in node coordinates [m]
    direction: Direction  # unit, in node coordinates
    ambient: Direction  # Ka, as in the file: linear
    diffuse: Direction  # Kd
    specular: Direction  # Ks
    cone: float = 0.5  # half angle of a spot [rad]
    shadow: bool = True  # whether bodies cast shadows in it


@record
class SceneSpring:
    """A restraint, or a rod, between points of two nodes. Its length varies, so it is not a `ScenePart`."""

    path: str
    kind: str  # "spring", "damper", "friction" or "rod"
    nodes: tuple[int, int]
    points: tuple[Direction, Direction]  # each in its node's coordinates [m]
    axis: Direction | None  # unit, in the first node's coordinates: the component of the distance that it acts on
    across: (
        Direction  # unit, in the first node's coordinates: orientation of its mesh about the line between the points
    )
    radius: float  # [m]
    slenderness: float = 8.0  # length over radius at which its wire is round


@record
class Scene:
    """A model prepared for drawing at any poses."""

    nodes: tuple[str, ...]  # paths; the first one is "fixed"
    parts: tuple[ScenePart, ...]
    lights: tuple[SceneLight, ...]
    up: Direction  # opposite to gravity, +z where there is none
    size: float  # of the model [m]: radius of a bounding sphere at the first poses
    centre: Direction  # of that sphere, in the world
    warnings: tuple[str, ...] = ()
    springs: tuple[SceneSpring, ...] = ()

    @property
    def terrain(self) -> bool:
        """Whether the model brings its own ground: parts of ground that cast no shadow."""
        return any(part.kind == "ground" and not part.shadow for part in self.parts)


@record
class RenderSettings:
    """Settings of the renderer that do not change during playback."""

    shadows: bool = True
    shadow_pixels: int = 2048  # side of a shadow map
    soft: bool = True  # percentage-closer filtering with nine samples instead of one
    samples: int = 4  # of multisampling; 1 for none
    grid: bool = True
    background: Direction = (0.85, 0.89, 0.94)  # sRGB
    shininess: float = 40.0


FAST = RenderSettings(shadow_pixels=1024, soft=False, samples=1)  # for software renderers and tests


@record
class Ghosts:
    """Other members, drawn translucent."""

    poses: np.ndarray  # (M, nodes, 7)
    colours: np.ndarray  # (M, 4)
    parts: tuple[tuple[ScenePart, ...], ...] = ()  # (M) of each ghost; empty: those of the scene
    members: np.ndarray | None = None  # (M,) ids in their study
    outlined: bool = False  # whether their outlines are drawn alone


@record
class Strokes:
    """Coloured line segments in the world: traces, arrows, axes."""

    ends: np.ndarray  # (m, 2, 3) [m]
    colours: np.ndarray  # (m, 4)


@record
class Snapshot:
    """What is drawn at one instant."""

    poses: np.ndarray  # (nodes, 7), ground first
    hidden: frozenset[str] = frozenset()  # paths, or `kind:NAME`, that are neither drawn nor cast shadows
    highlighted: frozenset[str] = frozenset()  # paths that an outline is drawn about
    hovered: frozenset[str] = frozenset()  # paths with a thin outline
    hovered_ghost: int | None = None  # the number among the ghosts of the one with a thin outline
    outline: Colour = OUTLINE
    colours: dict[str, Colour] = field(default_factory=dict)  # path -> colour instead of that of the part
    opacity: dict[str, float] = field(default_factory=dict)  # path, or `kind:NAME` -> factor; the last one counts
    ghosts: Ghosts | None = None
    strokes: Strokes | None = None
    paths: Strokes | None = None  # lines that are the same object, and not written to, until they change
    symbols: Strokes | None = None  # drawn over everything, without depth test
    ground: float | None = None  # height of the ground plane along up [m]; None: below the scene, or its terrain
