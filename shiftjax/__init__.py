"""Ensembles of mechanisms with exact loops: thousands of runs at once, each with its own accuracy figures."""

# Every name is loaded on first use, so that `import shiftjax` is quick. `_PUBLIC` lists them: `help`, `dir` and
# `__all__` follow from it. Type checkers need the imports below it, too; a test compares the two.

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiftjax.errors import ModelError as _ModelError
from shiftjax.errors import installing as _installing
from shiftjax.version import VERSION as __version__
from shiftjax.viewing import answer_with as _answer_with

_PUBLIC = {  # group -> name -> (module, first line of its help)
    "Models": {
        "load": ("shiftjax.formats", "The model of a library name, a file or a dict in any of the three dialects."),
        "save": (
            "shiftjax.formats",
            "Writes the model in the v2.0 dialect; reading it gives an equal model. An old file is replaced whole.",
        ),
        "Model": (
            "shiftjax.mechanism.model",
            "A mechanism as the user wrote it, in SI units; equality ignores name, version, source and warnings.",
        ),
        "Editor": (
            "shiftjax.editing.editor",
            "A mechanism that is changed step by step: bodies stay where they stand, and everything can be taken back.",
        ),
        "Poser": (
            "shiftjax.editing.posing.poser",
            "A mechanism that is posed by hand: loops stay closed, limits and stops hold, what is locked stays.",
        ),
        "Workbench": (
            "shiftjax.editing.workbench",
            "A mechanism that is changed and posed by hand: every step can be taken back, and is a line of one script.",
        ),
        "ModelBuilder": (
            "shiftjax.formats.builder",
            "A model being made; `build` reads it as a file is read, with the same errors.",
        ),
        "solid": (
            "shiftjax.formats.sections.solids",
            "The solid that a shape bounds, with its offset `T`, `R`, `rotation` on the body.",
        ),
        "solid_of_mesh": (
            "shiftjax.formats.sections.solids",
            "The solid inside a closed mesh; a closed mesh inside another one, turned inside out, is a hollow.",
        ),
        "denavit_hartenberg": ("shiftjax.formats.denavit_hartenberg", "An arm from a Denavit-Hartenberg table."),
        "load_plugin": (
            "shiftjax.plugins",
            "Loads a module that enters parts of its own into the tables: kinds, channels, metrics, methods, readers.",
        ),
        "info": (
            "shiftjax.run.info",
            "What a model is made of: the report of `shiftjax info --json`; coordinates are counted in speeds.",
        ),
        "absolute": (
            "shiftjax.bodies.absolute",
            "A model in coordinates of its bodies: residuals and Jacobian of all joints and constraints.",
        ),
        "BodyCoordinates": (
            "shiftjax.bodies.absolute",
            "A model in coordinates of its bodies, as `absolute` gives it.",
        ),
        "GradientWarning": ("shiftjax.errors", "A gradient that is less than it seems, and why."),
        "ModelError": ("shiftjax.errors", "Invalid input: states where, what was found, what is allowed, what to do."),
    },
    "Running": {
        "simulate": ("shiftjax.gradients.simulate", "Simulates a model, or many variants of it at once."),
        "assemble": (
            "shiftjax.run.assemble",
            "Closes the loops of a model, or of many variants of it, and goes no step.",
        ),
        "branches": (
            "shiftjax.kinematics.traced_branches",
            "All assemblies of a mechanism, or of many variants of it, at given inputs.",
        ),
        "read_trajectory": ("shiftjax.kinematics.trajectory", "The poses of a CSV table, a pose a line."),
        "inverse_dynamics": (
            "shiftjax.inverse.inverse_dynamics",
            "Inverse and hybrid dynamics: the forces that a known motion takes, and what is free meanwhile.",
        ),
        "configuration": (
            "shiftjax.access.configuration",
            "A state of a model of which all can be asked: frames, Jacobians, matrices of motion, forces, energies.",
        ),
        "Configuration": (
            "shiftjax.access.configuration",
            "A state of a model, or one of each of B members, of which everything can be asked.",
        ),
        "FrameOn": (
            "shiftjax.access.frame_kinds",
            "A frame that is fixed in another one: an end effector, a sensor; `replace` gives it another offset.",
        ),
        "MovingFrame": (
            "shiftjax.access.frame_kinds",
            "A frame that moves in another one as is said, whatever the mechanism does.",
        ),
        "Live": ("shiftjax.run.live", "A running simulation of one design."),
        "compile": ("shiftjax.run.step_function", "Compiles one step of a model."),
        "Simulator": ("shiftjax.run.step_function", "A model compiled for stepping."),
        "ConstantSpeed": ("shiftjax.constraints.drives", "f(t) = offset + speed t, in rad or m, per second."),
        "Harmonic": (
            "shiftjax.constraints.drives",
            "f(t) = offset + rate t + amplitude sin(frequency t + phase), in rad or m, rad/s.",
        ),
        "Polynomial": ("shiftjax.constraints.drives", "f(t) = c_0 + c_1 t + c_2 t^2 + ..., in rad or m, seconds."),
        "Table": (
            "shiftjax.constraints.drives",
            "A cubic spline through values at times, its second derivative continuous, in rad or m, seconds.",
        ),
        "AccelerationTable": (
            "shiftjax.constraints.drives",
            "Accelerations at times, with straight lines between: it is their second integral, in rad or m, seconds.",
        ),
        "PoseUniform": (
            "shiftjax.constraints.pose_drives",
            "A motion of constant acceleration: p + v t + a t^2 / 2, turned by R exp(w t + b t^2 / 2).",
        ),
        "PoseHarmonic": (
            "shiftjax.constraints.pose_drives",
            "A motion about a pose by sines: position + amplitude sin(frequency t + phase), R exp(amplitude sin(...)).",
        ),
        "PoseTable": (
            "shiftjax.constraints.pose_drives",
            "A motion through poses at times by cubic splines, of places and of quaternions that are then made units.",
        ),
        "TimeFunction": (
            "shiftjax.constraints",
            "A function of time on lane scalars with its two derivatives [rad or m, per second, per second squared].",
        ),
        "CoordinateFunction": (
            "shiftjax.constraints",
            "A constraint f(q, t) = 0 between joints of one coordinate each.",
        ),
        "Event": (
            "shiftjax.mechanism.events",
            "An instant at which an expression of channels comes to zero: noted, the end of a member, or of a law.",
        ),
        "Schedule": (
            "shiftjax.run.advance.schedule",
            "The partitions and moved steps of a run, with which `simulate` repeats it.",
        ),
        "Vary": ("shiftjax.ensembles.study.spec", "One varied number of a study."),
        "sample": (
            "shiftjax.ensembles.study.sample",
            "The designs of an ensemble: values of every varied path, one for each member.",
        ),
        "rod": (
            "shiftjax.ensembles.study.rod",
            "What `simulate(derive=...)` needs for a uniform round rod along an axis of its body.",
        ),
    },
    "Kinematics": {
        "follow": (
            "shiftjax.kinematics.paths.traced_paths",
            "The poses of a mechanism along a path of its drivers, of one design or of many.",
        ),
        "singularities": (
            "shiftjax.kinematics.singularities",
            "Where on a path of drivers the loops lose rank, in the order of the path.",
        ),
        "Singularity": ("shiftjax.kinematics.singularities", "A pose at which loops lose rank."),
        "point_curve": (
            "shiftjax.kinematics.point_curve",
            "The curve of a point of a body through the motion of a mechanism of one freedom.",
        ),
        "PointCurve": ("shiftjax.kinematics.point_curve", "The curve of a point, of a branch of a mechanism."),
        "travel": (
            "shiftjax.kinematics.ranges.travel",
            "How far a joint can be moved from where it stands, before its loops can no longer be closed.",
        ),
        "inverse_kinematics": (
            "shiftjax.kinematics.positioning.inverse_kinematics",
            "Poses at which loops close and goals are met, the more important ones first, of one design or of many.",
        ),
        "InverseKinematics": (
            "shiftjax.kinematics.positioning.inverse_kinematics",
            "Poses of B members, or of one without a member axis.",
        ),
        "FrameGoal": ("shiftjax.kinematics.positioning.goals", "A frame at a place, along axes, or both."),
        "CenterGoal": ("shiftjax.kinematics.positioning.goals", "The centre of mass of some bodies at a place."),
        "JointGoal": ("shiftjax.kinematics.positioning.goals", "A coordinate of a joint at a value."),
        "FunctionGoal": (
            "shiftjax.kinematics.positioning.goals",
            "A number of one's own that follows from the pose, at a value or in a region.",
        ),
        "PotentialGoal": (
            "shiftjax.kinematics.positioning.goals",
            "The least potential energy, of gravity and of all springs and conservative loads; alone on its level.",
        ),
        "JointTravel": (
            "shiftjax.kinematics.ranges.travel",
            "How far a joint can be moved, of B designs, or of one without a member axis.",
        ),
        "workspace": (
            "shiftjax.kinematics.workspaces.workspace",
            "What a frame, or any two or three coordinates, of a mechanism can reach.",
        ),
        "ReachableSpace": (
            "shiftjax.kinematics.workspaces.table",
            "What a mechanism reaches, in two or three coordinates.",
        ),
        "ReachableSpaces": ("shiftjax.kinematics.workspaces.many", "What B designs of a mechanism reach."),
        "BoundaryCurve": (
            "shiftjax.kinematics.workspaces.table",
            "A piece of a curve over which the number of poses changes.",
        ),
        "families": (
            "shiftjax.families",
            "Planar linkages of one freedom, each with a topology of its own, simulated in one call.",
        ),
        "equilibrium": (
            "shiftjax.statics.equilibrium",
            "Where a mechanism stays at rest under gravity, springs and loads, of one design or of many.",
        ),
        "Equilibrium": (
            "shiftjax.statics.equilibria",
            "Where B designs are in equilibrium, or one without a member axis.",
        ),
        "load_path": (
            "shiftjax.statics.loads.load_path",
            "Equilibria followed along a load, through snaps and buckling, of one design or of many.",
        ),
        "LoadPath": (
            "shiftjax.statics.loads.load_paths",
            "Curves of equilibria of one design or of many: C curves of n poses at most.",
        ),
        "modes": (
            "shiftjax.statics.modes",
            "Small motions of a mechanism about its equilibrium or a stated pose, of one design or of many.",
        ),
        "mode_motion": (
            "shiftjax.statics.mode_motion",
            "One mode of small motions over a period, large enough to be seen.",
        ),
        "frequency_response": (
            "shiftjax.statics.response",
            "How coordinates answer to forces along coordinates that oscillate a little, about an equilibrium.",
        ),
        "FrequencyResponse": (
            "shiftjax.statics.response",
            "Responses of B designs, or of one without a member axis, at F frequencies.",
        ),
        "steady_motion": (
            "shiftjax.statics.steady",
            "Where a mechanism stays while drivers move it at constant speeds, and the small motions about that.",
        ),
        "SteadyMotion": (
            "shiftjax.statics.steady",
            "Steady motions of B designs, or of one without a member axis; n independent coordinates, which stand.",
        ),
        "Modes": (
            "shiftjax.statics.small_motions",
            "Small motions of B designs about a pose, or of one without a member axis; k freedoms.",
        ),
    },
    "Studies": {
        "Definition": (
            "shiftjax.ensembles.study.definition",
            "A study, as words; everything but the model may be left out.",
        ),
        "sweep": ("shiftjax.ensembles.execution.sweep", "Runs a study, or what is missing of one."),
        "Study": ("shiftjax.ensembles.stored_study", "A study in its store, complete or not."),
        "optimize": (
            "shiftjax.ensembles.optimization.optimize",
            "Makes the objective of a study small, from many starts at once, each by itself.",
        ),
        "Optimum": ("shiftjax.ensembles.optimization.optimum", "An optimisation in its store that has ended."),
        "sensitivity": (
            "shiftjax.ensembles.sensitivities.slopes",
            "The slopes of all metrics of a study with all its varied numbers, into its store.",
        ),
        "Sensitivity": ("shiftjax.ensembles.sensitivities.slopes", "The slopes of a study."),
        "fisher": (
            "shiftjax.ensembles.fisher_information",
            "Fisher information of parameters in measurements with independent normal errors.",
        ),
    },
    "Results": {
        "Result": ("shiftjax.run.results.result", "The outcome of `simulate`."),
        "InverseDynamics": (
            "shiftjax.inverse.inverse_dynamics",
            "The outcome of `inverse_dynamics`: n instants of B members, or of one without a member axis.",
        ),
        "Interrupted": (
            "shiftjax.run.results.interrupted",
            "Ctrl-C, or another signal that raises KeyboardInterrupt, while `simulate` ran.",
        ),
        "Outcome": (
            "shiftjax.outcome",
            "How a run ended: 0 good; below 0 finished with a warning; above 0 ended early.",
        ),
        "store": (
            "shiftjax.ensembles.store",
            "Results on disk: written by `run --out` and `sweep --out`. Host only, no jax.",
        ),
    },
    "Extending: tables that new entries are put into, and what an entry is": {
        "KINDS": ("shiftjax.joints", "Every joint kind by its name; assign to a new name to add one."),
        "JointKind": (
            "shiftjax.joints",
            "A joint kind: a sequence of primitive motions from the parent's frame to the child's.",
        ),
        "check_joint": (
            "shiftjax.contracts.joint_contract",
            "Tries a kind of joint, of a plug-in or of the package, in all that joints are for.",
        ),
        "FORCES": ("shiftjax.forces", "Every force kind by its name; assign to a new name to add one."),
        "ForceKind": ("shiftjax.forces", "A kind of force: declared by class attributes, computed by `apply`."),
        "CONSTRAINTS": ("shiftjax.constraints", "Every constraint kind by its name; assign to a new name to add one."),
        "ConstraintKind": (
            "shiftjax.constraints",
            "A kind of constraint: declared by class attributes, computed by `rows`.",
        ),
        "METHODS": ("shiftjax.run.programs.integrators", "Every method by its name; assign to a new name to add one."),
        "Method": (
            "shiftjax.kernels.step_program",
            "A method by the instructions between the accepted state and the projection that ends every step.",
        ),
        "BACKENDS": ("shiftjax.kernels.backends", "Every backend by its name; assign to a new name to add one."),
        "Kernel": (
            "shiftjax.kernels.contract",
            "A backend for lane programs. One object serves all programs of a run.",
        ),
        "CHANNELS": ("shiftjax.measures.channels", "Every channel by its name; assign to a new name to add one."),
        "Quantity": ("shiftjax.measures.channel", "A kind of channel: what is recorded of an object."),
        "METRICS": ("shiftjax.measures.metrics", "Every metric by its name; assign to a new name to add one."),
        "MetricKind": (
            "shiftjax.measures.metric",
            "How a metric is computed: from all accepted steps, without a trajectory.",
        ),
        "FrameKind": (
            "shiftjax.access.frame_kinds",
            "A kind of frame, for users to write their own: its base, its numbers, and its motion in the base.",
        ),
        "READERS": ("shiftjax.formats", "Every reader of files by its name; assign to a new name to add one."),
    },
}
_HOME = {name: home for group in _PUBLIC.values() for name, (home, _) in group.items()}
_USE = """
A model is a list of bodies and joints, read from a file or made in Python. `simulate` runs it, or thousands of variants
of it, and returns a `Result`. Wrong input raises `ModelError`: where, what was found, what is allowed, what to do.

    model = shiftjax.load("four_bar")
    result = shiftjax.simulate(model, span=1.0, vary={"coupler:tip.T[0]": [0.45, 0.5]}, channels=["rocker_pivot.q"])
"""
_LINES = {group: [f"    {name:<18}  {line}" for name, (_, line) in names.items()] for group, names in _PUBLIC.items()}
_LISTS = ["\n".join([group, *lines]) for group, lines in _LINES.items()]
__doc__ = "\n".join([__doc__ or "", _USE, "\n\n".join(_LISTS), ""])

if TYPE_CHECKING:
    import shiftjax.families as families  # noqa: F401
    from shiftjax.access.configuration import Configuration as Configuration
    from shiftjax.access.configuration import configuration as configuration
    from shiftjax.access.frame_kinds import FrameKind as FrameKind
    from shiftjax.access.frame_kinds import FrameOn as FrameOn
    from shiftjax.access.frame_kinds import MovingFrame as MovingFrame
    from shiftjax.bodies.absolute import BodyCoordinates as BodyCoordinates
    from shiftjax.bodies.absolute import absolute as absolute
    from shiftjax.constraints import CONSTRAINTS as CONSTRAINTS
    from shiftjax.constraints import ConstraintKind as ConstraintKind
    from shiftjax.constraints import CoordinateFunction as CoordinateFunction
    from shiftjax.constraints import TimeFunction as TimeFunction
    from shiftjax.constraints.drives import AccelerationTable as AccelerationTable
    from shiftjax.constraints.drives import ConstantSpeed as ConstantSpeed
    from shiftjax.constraints.drives import Harmonic as Harmonic
    from shiftjax.constraints.drives import Polynomial as Polynomial
    from shiftjax.constraints.drives import Table as Table
    from shiftjax.constraints.pose_drives import PoseHarmonic as PoseHarmonic
    from shiftjax.constraints.pose_drives import PoseTable as PoseTable
    from shiftjax.constraints.pose_drives import PoseUniform as PoseUniform
    from shiftjax.contracts.joint_contract import check_joint as check_joint
    from shiftjax.editing.editor import Editor as Editor
    from shiftjax.editing.posing.poser import Poser as Poser
    from shiftjax.editing.workbench import Workbench as Workbench
    from shiftjax.ensembles.execution.sweep import sweep as sweep
    from shiftjax.ensembles.fisher_information import fisher as fisher
    from shiftjax.ensembles.optimization.optimize import optimize as optimize
    from shiftjax.ensembles.optimization.optimum import Optimum as Optimum
    from shiftjax.ensembles.sensitivities.slopes import Sensitivity as Sensitivity
    from shiftjax.ensembles.sensitivities.slopes import sensitivity as sensitivity
    from shiftjax.ensembles.store import store as store
    from shiftjax.ensembles.stored_study import Study as Study
    from shiftjax.ensembles.study.definition import Definition as Definition
    from shiftjax.ensembles.study.rod import rod as rod
    from shiftjax.ensembles.study.sample import sample as sample
    from shiftjax.ensembles.study.spec import Vary as Vary
    from shiftjax.errors import GradientWarning as GradientWarning
    from shiftjax.errors import ModelError as ModelError
    from shiftjax.forces import FORCES as FORCES
    from shiftjax.forces import ForceKind as ForceKind
    from shiftjax.formats import READERS as READERS
    from shiftjax.formats import load as load
    from shiftjax.formats import save as save
    from shiftjax.formats.builder import ModelBuilder as ModelBuilder
    from shiftjax.formats.denavit_hartenberg import denavit_hartenberg as denavit_hartenberg
    from shiftjax.formats.sections.solids import solid as solid
    from shiftjax.formats.sections.solids import solid_of_mesh as solid_of_mesh
    from shiftjax.gradients.simulate import simulate as simulate
    from shiftjax.inverse.inverse_dynamics import InverseDynamics as InverseDynamics
    from shiftjax.inverse.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from shiftjax.joints import KINDS as KINDS
    from shiftjax.joints import JointKind as JointKind
    from shiftjax.kernels.backends import BACKENDS as BACKENDS
    from shiftjax.kernels.contract import Kernel as Kernel
    from shiftjax.kernels.step_program import Method as Method
    from shiftjax.kinematics.paths.traced_paths import follow as follow
    from shiftjax.kinematics.point_curve import PointCurve as PointCurve
    from shiftjax.kinematics.point_curve import point_curve as point_curve
    from shiftjax.kinematics.positioning.goals import CenterGoal as CenterGoal
    from shiftjax.kinematics.positioning.goals import FrameGoal as FrameGoal
    from shiftjax.kinematics.positioning.goals import FunctionGoal as FunctionGoal
    from shiftjax.kinematics.positioning.goals import JointGoal as JointGoal
    from shiftjax.kinematics.positioning.goals import PotentialGoal as PotentialGoal
    from shiftjax.kinematics.positioning.inverse_kinematics import InverseKinematics as InverseKinematics
    from shiftjax.kinematics.positioning.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from shiftjax.kinematics.ranges.travel import JointTravel as JointTravel
    from shiftjax.kinematics.ranges.travel import travel as travel
    from shiftjax.kinematics.singularities import Singularity as Singularity
    from shiftjax.kinematics.singularities import singularities as singularities
    from shiftjax.kinematics.traced_branches import branches as branches
    from shiftjax.kinematics.trajectory import read_trajectory as read_trajectory
    from shiftjax.kinematics.workspaces.many import ReachableSpaces as ReachableSpaces
    from shiftjax.kinematics.workspaces.table import BoundaryCurve as BoundaryCurve
    from shiftjax.kinematics.workspaces.table import ReachableSpace as ReachableSpace
    from shiftjax.kinematics.workspaces.workspace import workspace as workspace
    from shiftjax.measures.channel import Quantity as Quantity
    from shiftjax.measures.channels import CHANNELS as CHANNELS
    from shiftjax.measures.metric import MetricKind as MetricKind
    from shiftjax.measures.metrics import METRICS as METRICS
    from shiftjax.mechanism.events import Event as Event
    from shiftjax.mechanism.model import Model as Model
    from shiftjax.outcome import Outcome as Outcome
    from shiftjax.plugins import load_plugin as load_plugin
    from shiftjax.run.advance.schedule import Schedule as Schedule
    from shiftjax.run.assemble import assemble as assemble
    from shiftjax.run.info import info as info
    from shiftjax.run.live import Live as Live
    from shiftjax.run.programs.integrators import METHODS as METHODS
    from shiftjax.run.results.interrupted import Interrupted as Interrupted
    from shiftjax.run.results.result import Result as Result
    from shiftjax.run.step_function import Simulator as Simulator
    from shiftjax.run.step_function import compile as compile
    from shiftjax.statics.equilibria import Equilibrium as Equilibrium
    from shiftjax.statics.equilibrium import equilibrium as equilibrium
    from shiftjax.statics.loads.load_path import load_path as load_path
    from shiftjax.statics.loads.load_paths import LoadPath as LoadPath
    from shiftjax.statics.mode_motion import mode_motion as mode_motion
    from shiftjax.statics.modes import modes as modes
    from shiftjax.statics.response import FrequencyResponse as FrequencyResponse
    from shiftjax.statics.response import frequency_response as frequency_response
    from shiftjax.statics.small_motions import Modes as Modes
    from shiftjax.statics.steady import SteadyMotion as SteadyMotion
    from shiftjax.statics.steady import steady_motion as steady_motion

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftjax' has no attribute {name!r}")
    home = import_module(_HOME[name])
    if home.__name__ == f"{__name__}.{name}":  # `families`: a package
        return home
    value = getattr(home, name) if hasattr(home, name) else import_module(f"{_HOME[name]}.{name}")  # `store`: a module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _view(what: Any, members: Any, height: int, rows: int, server: bool) -> Any:
    """`view` of models, results and studies, answered by the viewer, which is loaded now."""
    try:
        views = import_module("shiftjax.viewer.web.notebook" if server else "shiftjax.viewer.views")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("shiftjax"):
            raise
        todo = _installing("web" if server else "viewer")
        raise _ModelError("view", f"no Python package {error.name!r}", "the viewer's packages", todo) from None
    if isinstance(what, import_module("shiftjax.mechanism.model").Model):
        what = import_module("shiftjax.run.assemble").assemble(what, keep="all")
    return views.view(what, members, height, rows)


_answer_with(_view)
