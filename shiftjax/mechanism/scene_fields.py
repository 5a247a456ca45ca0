"""Fields that many elements have, and those of what is drawn or kept only: lights, terrain, shapes, run settings."""

from __future__ import annotations

from shiftjax.field import Field, Role
from shiftjax.mechanism.records import IDENTITY, ZERO

NAME = Field("name", "unique in its list", "name", required=True)
ACTIVE = Field("active", "false switches it off", "flag", default=True)
COMMENT = Field("comment", "free text", "comment", default="")
T = Field("T", "translation of the origin", "vector", Role.LENGTH, "m", ZERO)
R = Field("R", "rotation matrix by rows, orthonormal within 1e-5", "matrix", default=IDENTITY)
ROTATION = Field("rotation", "rotation vector after R", "vector", Role.ANGLE, "rad", ZERO)
FILES = ("elevation", "diffuse", "specular", "normal", "bump", "property")  # maps of a terrain


def kept(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "kept as it is", "anything") for name in names)


LIGHT = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("type", "of the light", "choice", default="directional", choices=("point", "spot", "directional")),
    Field("parent", "frame that carries it; directional and spot lights shine along its z", "reference"),
    *(Field(f"K{part[0]}", f"{part} colour", "vector") for part in ("ambient", "diffuse", "specular")),
    Field("cone", "half angle of a spot", unit="rad"),
)
TERRAIN = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("parent", "frame that carries it", "reference"),
    Field("coordinate_type", "`sae` where z points down and the first row lies at the least y", "text"),
    Field("interpolation_type", "between samples: bicubic, also where left out, or bilinear", "text"),
    Field("type", "kept as it is", "text"),
    Field("elevation_map", "file of heights", "anything", keys=("elevation_map", "definition", "filename")),
    Field("diffuse_map", "file of colours", "anything", keys=("diffuse_map", "texture", "texture_filename")),
    Field("scale", "extent along x and y", "pair", unit="m"),
    *(Field(f"{axis}_scale", f"extent along {axis}", unit="m", written=False) for axis in "xy"),
    Field("texture_scale", "how often the pictures repeat along x and y", "anything"),
    Field("specular_map", "file of factors of the lights' specular colours", "anything"),
    Field("normal_map", "file of normals: red along x, green along the picture's height, blue up", "anything"),
    *kept(*(f"{kind}_map" for kind in FILES[4:])),
)
SHAPED = (
    COMMENT,
    Field("type", "of the shape", "choice"),
    T,
    R,
    ROTATION,
    Field("colour", "red, green, blue and perhaps opacity, as on a screen", "colour"),
)
RADIUS, LENGTH = (
    Field(name, doc, unit="m", required=True, above=0.0) for name, doc in (("radius", "about z"), ("length", "along z"))
)
GEOMETRIES: dict[str, tuple[Field, ...]] = {  # type -> the fields that only some types have
    "mesh": (
        Field("filename", "the mesh and its companions, in the folder of the model or an include directory", "texts"),
        Field(
            "scale", "factors of the mesh along its x, y, z, other than 0", "vector", unit="1", default=(1.0, 1.0, 1.0)
        ),
    ),
    "box": (Field("size", "along x, y, z", "vector", unit="m", required=True, above=0.0),),
    "plane": (Field("size", "along x, y", "pair", unit="m", required=True, above=0.0),),
    "sphere": (RADIUS,),
    "ellipsoid": (Field("radii", "along x, y, z", "vector", unit="m", required=True, above=0.0),),
    "multisphere": (Field("spheres", "whose hull it is", "spheres", unit="m", required=True, fewest=1),),
    **dict.fromkeys(("cylinder", "cone", "capsule", "arrow"), (RADIUS, LENGTH)),
    "line": (Field("points", "along it", "points", unit="m", required=True, fewest=2),),
    "point_cloud": (Field("points", "of it", "points", unit="m", required=True, fewest=1),),
}
TIMES = (
    Field("time_span", "of the run", unit="s", least=0.0),
    Field("time_step", "between outputs", unit="s", above=0.0),
    Field("relative_error", "the smaller one above 0 is the tolerance of method file", least=0.0),
    Field("absolute_error", "the smaller one above 0 is the tolerance of method file", least=0.0),
    Field("omega_n", "kept, and named in a warning: constraints need no stabilisation", unit="1/s", least=0.0),
)
SOLVING = (
    Field("infinity_norm_multiplier", "m of the repartition rule; 2 where left out", above=0.0),
    Field(
        "contact_detection", "a note of every run where it is on; refused where there is terrain to touch", "anything"
    ),
)
TYPE = Field("type", "kept; there is one solver, and others than rnca are named in a warning", "text")
