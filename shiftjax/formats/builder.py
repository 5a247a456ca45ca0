"""Models from Python: the same records as from a file, by the same reader and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from shiftjax.formats import load
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, IDENTITY, ORIGIN, ZERO, FrameRef, Inertia

Ref = str | tuple[str, str] | FrameRef  # a body (its origin), (body, frame), or a reference of another model
Numbers = Sequence[float] | np.ndarray
ENTRIES = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")


def _ref(ref: Ref) -> list[Any]:
    """A reference as the file writes it; a body is a name of the local assembly or a full path with ":"."""
    if isinstance(ref, FrameRef):
        ref = (ref.body, ref.frame)
    body, frame = (ref, ORIGIN) if isinstance(ref, str) else ref
    return [body.replace("`", "").split(":"), frame]


def _frames(frames: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Frames by name: T alone, or an object of T, R and rotation."""
    return [
        {"name": name, **value} if isinstance(value, Mapping) else {"name": name, "T": value}
        for name, value in frames.items()
    ]


def _geometry(geometry: Any) -> list[Any]:
    """Shapes as a file has them: strings alone are one mesh, a single shape is a list of one."""
    if isinstance(geometry, str | Mapping):
        geometry = [geometry]
    if all(isinstance(item, str) for item in geometry):
        return [{"type": "mesh", "filename": list(geometry)}]
    return list(geometry)


def _inertia(inertia: Numbers | Mapping[str, float] | Inertia) -> dict[str, float]:
    if isinstance(inertia, Inertia):
        return asdict(inertia)
    if isinstance(inertia, Mapping):
        return dict(inertia)
    return dict(zip(ENTRIES, inertia, strict=False))


class AssemblyBuilder:
    """An assembly being made; every method returns the builder, but `assembly` the new inner one."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    def _add(self, key: str, values: Mapping[str, Any]) -> AssemblyBuilder:
        kept = {name: value for name, value in values.items() if value is not None}
        self.entry.setdefault(key, []).append(kept)
        return self

    def body(
        self,
        name: str,
        *,
        mass: float = 1.0,
        center_of_mass: Numbers = ZERO,
        inertia: Numbers | Mapping[str, float] | Inertia = (1.0, 1.0, 1.0),
        frames: Mapping[str, Any] | None = None,
        geometry: str | Mapping[str, Any] | Sequence[str] | Sequence[Mapping[str, Any]] | None = None,
        collision_geometry: str | None = None,
        active: bool = True,
        comment: str | None = None,
    ) -> AssemblyBuilder:
        """Adds a body.

        Args:
            name: its name.
            mass: [kg].
            center_of_mass: (3,) from its origin along its axes [m].
            inertia: Ixx, Iyy, Izz and perhaps Ixy, Iyz, Izx about the centre of mass [kg m^2], or a dict of these,
                or what `shiftjax.solid` found.
            frames: T (3,) [m] by name, or a dict of T, R, rotation by name.
            geometry: names of a mesh file and its companions, or shapes as in a file, such as
                {"type": "box", "size": (1, 2, 3), "T": (0, 0, 0.5)} [m, rad].
            collision_geometry: "convex_hull", "ellipsoid" or "sphere".
            active: False switches it off.
            comment: free text.
        """
        values = {
            "name": name,
            "center_of_mass": center_of_mass,
            "inertia": {"mass": mass, **_inertia(inertia)},
            "frames": _frames(frames or {}),
            "geometry": _geometry(geometry) if geometry else None,
            "collision_geometry": collision_geometry,
            "active": active,
            "comment": comment,
        }
        return self._add("bodies", values)

    def joint(
        self,
        name: str,
        type: str = "Rx",
        *,
        parent: Ref = FIXED,
        child: Ref,
        axis: str | Numbers | None = None,
        initial_displacement: float | Mapping[str, Any] = 0.0,
        initial_velocity: float | Numbers = 0.0,
        stiffness: Numbers | None = None,
        damping: Numbers | None = None,
        active: bool = True,
        comment: str | None = None,
    ) -> AssemblyBuilder:
        """Adds a joint from a frame of the parent to a frame of the child; stiffness and damping ascend."""
        values = {
            "name": name,
            "type": type,
            "parent": _ref(parent),
            "child": _ref(child),
            "axis": axis,
            "initial_displacement": initial_displacement,
            "initial_velocity": initial_velocity,
            "stiffness": stiffness,
            "damping": damping,
            "active": active,
            "comment": comment,
        }
        return self._add("joints", values)

    def restraint(
        self,
        name: str,
        type: str,
        *,
        coefficients: Sequence[Numbers],
        joint: str | None = None,
        frames: tuple[Ref, Ref] | None = None,
        distance_type: str | None = None,
        knot_points: Numbers = (),
        active: bool = True,
        comment: str | None = None,
    ) -> AssemblyBuilder:
        """Adds a spring, damper or friction on a joint or between two frames; coefficients descend."""
        values = {
            "name": name,
            "type": type,
            "joint": joint,
            "body_frame_pair": [_ref(ref) for ref in frames] if frames is not None else None,
            "distance_type": distance_type,
            "knot_points": knot_points,
            "coefficients": coefficients,
            "active": active,
            "comment": comment,
        }
        return self._add("restraints", values)

    def force_module(self, type: str, **values: Any) -> AssemblyBuilder:
        """Adds a tire or pid, kept as given."""
        return self._add("force_modules", {"type": type, **values})

    def include(self, name: str, file: str, *, parent: Ref | None = None, active: bool = True) -> AssemblyBuilder:
        """Adds the assemblies of a file; its ground becomes the parent frame."""
        values = {"name": name, "include": file, "parent": None if parent is None else _ref(parent), "active": active}
        return self._add("assemblies", values)

    def assembly(self, name: str, *, active: bool = True, comment: str | None = None) -> AssemblyBuilder:
        """Adds an inner assembly and returns its builder."""
        entry = {"name": name, "active": active} | ({} if comment is None else {"comment": comment})
        self.entry.setdefault("assemblies", []).append(entry)
        return AssemblyBuilder(entry)


class ModelBuilder:
    """A model being made; `build` reads it as a file is read, with the same errors."""

    def __init__(self, *, gravity: Numbers = (0.0, 0.0, 9.81), comment: str | None = None) -> None:
        self.parameters: dict[str, Any] = {"version": "2.0", "gravity": gravity}
        self.document: dict[str, Any] = {"model_parameters": self.parameters, "assemblies": []}
        if comment is not None:
            self.document["comment"] = comment

    def settings(
        self,
        *,
        span: float | None = None,
        output_step: float | None = None,
        infinity_norm_multiplier: float | None = None,
        integrator: str = "rk4",
        **more: float,
    ) -> ModelBuilder:
        """Sets the defaults of a run: span [s], output step [s], multiplier of the repartition rule."""
        self.parameters["integrators"] = [{"type": integrator, "time_span": span, "time_step": output_step, **more}]
        if infinity_norm_multiplier is not None:
            self.parameters["solvers"] = [{"type": "rnca", "infinity_norm_multiplier": infinity_norm_multiplier}]
        return self

    def frame(
        self, name: str, *, T: Numbers = ZERO, R: Sequence[Numbers] = IDENTITY, rotation: Numbers = ZERO
    ) -> ModelBuilder:
        """Adds a frame of ground."""
        self.document.setdefault("frames", []).append({"name": name, "T": T, "R": R, "rotation": rotation})
        return self

    def light(self, name: str, type: str = "point", *, parent: Ref = FIXED, **values: Any) -> ModelBuilder:
        """Adds a light (Ka, Kd, Ks, cone)."""
        entry = {"name": name, "type": type, "parent": _ref(parent), **values}
        self.document.setdefault("lights", []).append(entry)
        return self

    def terrain(self, name: str, *, parent: Ref = FIXED, **values: Any) -> ModelBuilder:
        """Adds a terrain, kept as given."""
        self.document.setdefault("terrain", []).append({"name": name, "parent": _ref(parent), **values})
        return self

    def assembly(self, name: str, *, active: bool = True, comment: str | None = None) -> AssemblyBuilder:
        """Adds an assembly and returns its builder."""
        return AssemblyBuilder(self.document).assembly(name, active=active, comment=comment)

    def include(self, name: str, file: str, *, parent: Ref | None = None) -> ModelBuilder:
        """Adds the assemblies of a file."""
        AssemblyBuilder(self.document).include(name, file, parent=parent)
        return self

    def build(self) -> Model:
        """The model; ModelError where something does not fit."""
        return load(self.document)
