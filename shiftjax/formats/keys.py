"""Every key of the three dialects, by the object it stands in, and misspellings met in public files."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHAPES: dict[str, frozenset[str]] = {  # type of a geometry -> the keys that only some types have
    "mesh": _set("filename"),
    "box": _set("size"),
    "plane": _set("size"),
    "sphere": _set("radius"),
    "ellipsoid": _set("radii"),
    "multisphere": _set("spheres"),
    "cylinder": _set("radius length"),
    "cone": _set("radius length"),
    "capsule": _set("radius length"),
    "arrow": _set("radius length"),
    "line": _set("points"),
    "point_cloud": _set("points"),
}

KEYS: dict[str, frozenset[str]] = {
    "the root": _set("$schema comment model_parameters fixed frames lights terrain assemblies"),
    "model_parameters": _set(
        "version units gravity include_dir include_directories simulation solver integrator logger "
        "solvers integrators loggers"
    ),
    "units": _set("angle length mass time"),
    "fixed": _set("frames lights terrain"),
    "an assembly": _set("comment name active bodies joints restraints assemblies force_modules include parent"),
    "a body": _set(
        "comment name active frames center_of_mass mass moment_of_inertia inertia definition geometry "
        "collision_geometry"
    ),
    "an inertia": _set("mass Ixx Iyy Izz Ixy Iyz Izx"),
    **{f"a geometry of type {type}": own | _set("comment type T R rotation colour") for type, own in SHAPES.items()},
    "a frame": _set("comment name T R rotation"),
    "a placement": _set("T R rotation"),
    "a joint": _set(
        "comment name active type axis initial_displacement initial_velocity stiffness damping damping_coefficients "
        "body_frame_pairs parent child"
    ),
    "a restraint": _set("comment name active type joint body_frame_pair distance_type knot_points coefficients"),
    "a light": _set("comment name active type parent Ka Kd Ks cone"),
    "a terrain": _set(
        "comment name active parent coordinate_type interpolation_type type definition elevation_map filename texture "
        "texture_filename diffuse_map scale x_scale y_scale texture_scale specular_map normal_map bump_map property_map"
    ),
    "a tire": _set("comment name active type tire_type wheel_body definition use_transient_slip"),
    "a pid": _set("comment name active type p i d target input output"),
    "a pid's input": _set("type body_frame_pair dof coordinate_system target_type joint"),
    "a pid's output": _set("type joint"),
    "simulation": _set(
        "comment integration_type time_span time_step relative_error absolute_error omega_n infinity_norm_multiplier "
        "out_file contact_detection"
    ),
    "a solver": _set("comment type infinity_norm_multiplier contact_detection"),
    "an integrator": _set(
        "comment type time_span time_step relative_error absolute_error omega_n integral_gain omega_n_max"
    ),
    "a logger": _set("comment type filename csv_logfile timestamp_logfile logfile"),
}

# what public files write -> what they mean, by object
MISSPELT: dict[str, dict[str, str]] = {
    "a joint": {"aixs": "axis", "body_frame_pair": "body_frame_pairs"},
    "an assembly": {"restraint": "restraints"},
    "a restraint": {"body_frame_pairs": "body_frame_pair"},
}

# v0.2 simulation block -> list of v2.0 and key there
SIMULATION = {
    "integration_type": ("integrators", "type"),
    "time_span": ("integrators", "time_span"),
    "time_step": ("integrators", "time_step"),
    "relative_error": ("integrators", "relative_error"),
    "absolute_error": ("integrators", "absolute_error"),
    "omega_n": ("integrators", "omega_n"),
    "infinity_norm_multiplier": ("solvers", "infinity_norm_multiplier"),
    "contact_detection": ("solvers", "contact_detection"),
    "out_file": ("loggers", "csv_logfile"),
}
