"""The table of a study's keys: what each holds, its unit, default, schema and an example. All else follows from it.

`Definition` takes its fields' checks from here, `study_file` the JSON Schema, `study_reference` the page of the
documentation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.ensembles.study.correlation import correlation
from shiftjax.ensembles.study.goal_words import LIMITS as WAY
from shiftjax.ensembles.study.goal_words import SCHEMA as GOAL
from shiftjax.ensembles.study.goal_words import goal_of, limits_of
from shiftjax.ensembles.study.keeping import keep_words
from shiftjax.ensembles.study.motion_words import motion
from shiftjax.ensembles.study.optimization_words import SCHEMA as OPTIMIZE
from shiftjax.ensembles.study.optimization_words import wanted
from shiftjax.ensembles.study.path_words import is_path, places
from shiftjax.ensembles.study.rankings import ENDS, JUDGED
from shiftjax.ensembles.study.spec import NUMBERS, SPREADING, assigned, varied
from shiftjax.errors import ModelError, need, need_count, need_mapping, need_number, one_of, refuse_text, shown
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kinematics.workspaces.space_words import SCHEMA as WORKSPACE
from shiftjax.kinematics.workspaces.space_words import space_of
from shiftjax.measures.aims import GOOD, aim_of
from shiftjax.measures.equations import equation
from shiftjax.mechanism.events import ACTIONS, DIRECTIONS, event_of, is_off
from shiftjax.mechanism.events import MOST as MOST_INSTANTS
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.advance.settings import SINGULAR
from shiftjax.run.programs.integrators import FILE, METHODS

_BARE = re.compile(r"[A-Za-z0-9_-]+")
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
ABOVE_ZERO = {"type": "number", "exclusiveMinimum": 0}
TEXTS = {"type": "array", "items": TEXT}
KINDS = ("run", "follow", "travel", "ik", "workspace")  # of studies
VALUES = {"type": "array", "items": {"anyOf": [NUMBER, TEXT]}, "minItems": 1}


@record
class Key:
    """A key of a study.

    Attributes:
        name: in the file and in Python.
        check: (key path, value) -> the value in the form that a definition holds; raises `ModelError`.
        schema: JSON Schema of its value.
        doc: a sentence.
        default: what it means to leave it out.
        example: of the line or lines of a file.
        unit: of its number.
    """

    name: str
    check: Callable[[str, Any], Any]
    schema: Mapping[str, Any]
    doc: str
    default: str
    example: str
    unit: str = ""


def inside(table: str, name: str) -> str:
    """The key path of an entry of a table, as TOML writes it."""
    return f"{table}.{name}" if _BARE.fullmatch(name) else f'{table}."{name}"'


def _model(where: str, value: Any) -> Any:
    need(where, value, (str, Mapping, Model), "a library name, the path of a model file, or in Python a Model")
    return value


def _count(least: int) -> Callable[[str, Any], int]:
    def check(where: str, value: Any) -> int:
        need_count(where, value, least)
        return int(value)

    return check


def _seconds(where: str, value: Any) -> Any:
    need_number(where, value, "a positive number of seconds", above=0.0)
    return value


def _tolerance(where: str, value: Any) -> Any:
    need_number(where, value, "a positive number", above=0.0)  # how small it may be depends on the precision
    return value


def _limit(where: str, value: Any) -> Any:
    """A positive number, inf for no limit; JSON says it as a text."""
    if value == "inf" or (isinstance(value, float) and value == math.inf):
        return math.inf
    need_number(where, value, "a positive number, or inf for no limit", above=0.0)
    return value


def _text(where: str, value: Any) -> Any:
    need(where, value, str, "a text")
    return value


def _branch(where: str, value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        todo = "Take one of those that `shiftjax branches MODEL` shows."
        raise ModelError(where, shown(value), "the name of a branch, a text", todo)
    return value.strip()


def _texts(where: str, value: Any) -> Any:
    refuse_text(where, value)
    return tuple(value)


def _flag(where: str, value: Any) -> Any:
    need(where, value, bool, "true or false")
    return value


def _method(where: str, value: Any) -> Any:
    one_of(where, value, [*METHODS, FILE])  # as they are now: those of plug-ins are among them
    return value


def _word(known: tuple[str, ...]) -> Callable[[str, Any], Any]:
    def check(where: str, value: Any) -> Any:
        one_of(where, value, known)
        return value

    return check


def _entries(check: Callable[[str, str, Any], Any]) -> Callable[[str, Any], Any]:
    """A table, each of whose values is checked with its key path and its name."""

    def every(where: str, value: Any) -> Any:
        need_mapping(where, value)
        return {name: check(inside(where, name), name, inner) for name, inner in value.items()}

    return every


def _vary(where: str, path: str, value: Any) -> Any:
    varied(path, value, where)
    return value


def _set(where: str, path: str, value: Any) -> Any:
    assigned(value, where)
    return value


def _formula(where: str, path: str, value: Any) -> Any:
    need(where, value, str, 'a formula as a text, as "7.8 * {rod:tip.T[0]}"')
    return value


def _drive(where: str, joint: str, value: Any) -> Any:
    if is_path(value):
        places(value, where)
    elif not (
        isinstance(value, str | Mapping) and "file" in value
    ):  # a file is read where it is needed, in the folder of the study
        motion(value, where)
    return value


def _tie(where: str, name: str, value: Any) -> Any:
    need(where, value, str, 'an equation as a text, as "left.q == -2 * right.q"')
    equation(value, where)
    return value


def _switch(where: str, path: str, value: Any) -> Any:
    values = [value] if isinstance(value, bool) else value
    flags = isinstance(values, list | tuple) and all(isinstance(flag, bool) for flag in values)
    if not flags or not values or len(set(values)) < len(values):
        raise ModelError(where, shown(value), "true, false or [true, false]", "List each state once.")
    return list(values)


def _goal(where: str, name: str, value: Any) -> Any:
    if not name.isidentifier():
        raise ModelError(where, f"the name {name!r}", "letters, digits and _", "Call it something else.")
    goal_of(value, where)
    return value


def _limits(where: str, path: str, value: Any) -> Any:
    limits_of(value, where)
    return value


def _workspace(where: str, value: Any) -> Any:
    if value:
        space_of(value, where)
    return value


def _metric(where: str, name: str, value: Any) -> Any:
    if not name.strip() or "/" in name:
        raise ModelError(where, f"the name {name!r}", "a name without /", "Call it something.")
    if not isinstance(value, str):
        need(where, value, Mapping, 'a text, as "maximum(tip.position[2])", or a table with the key of')
        need(inside(where, "of"), value.get("of"), str, "what the metric is of, a text")
        aim_of(value, where)
    return value


def _event(where: str, name: str, value: Any) -> Any:
    if is_off(value):
        return False  # of the model's file: files of studies have no word for nothing
    event_of(name, value, where)
    return value


def _optimize(where: str, value: Any) -> Any:
    need_mapping(where, value)
    if value:
        wanted(value, where)
    return value


def _correlation(where: str, value: Any) -> Any:
    need(where, value, Mapping, "a table of pairs, or of paths and matrix")
    correlation(value, where)
    return value


def _table_schema(inner: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": dict(inner)}


def _law_schema(law: str) -> dict[str, Any]:
    """JSON Schema of the table of one law."""
    properties: dict[str, Any] = {"distribution": {"const": law}, "unit": TEXT}
    properties |= dict.fromkeys(NUMBERS[law], NUMBER)
    wanted = [name for name in NUMBERS[law] if name != "mode"]
    if law == "grid":
        properties["points"], wanted = {"type": "integer", "minimum": 1}, [*wanted, "points"]
    elif law == "list":
        properties["values"], wanted = VALUES, [*wanted, "values"]
    else:
        properties["sampling"] = {"enum": list(SPREADING)}
    if law not in ("uniform", "grid", "list"):  # these are known without the word
        wanted.append("distribution")
    return {"type": "object", "properties": properties, "required": wanted, "additionalProperties": False}


PAIR = {"type": "array", "prefixItems": [TEXT, TEXT, NUMBER], "minItems": 3, "maxItems": 3}
CORRELATION = {
    "type": "object",
    "properties": {
        "pairs": {"type": "array", "items": PAIR},
        "paths": TEXTS,
        "matrix": {"type": "array", "items": {"type": "array", "items": NUMBER}},
    },
    "additionalProperties": False,
}


def _extremes(more: dict[str, Any]) -> dict[str, Any]:
    """The schema of members that are ranked by metrics: a table, or several."""
    extreme = {
        "type": "object",
        "properties": {"metric": TEXT, "count": {"type": "integer", "minimum": 1}, **more},
        "required": ["metric", "count"],
        "additionalProperties": False,
    }
    return {"anyOf": [extreme, {"type": "array", "items": extreme}]}


MEMBERS = {
    "anyOf": [
        {"enum": ["all", "none"]},
        {"type": "string", "pattern": "^every [1-9][0-9]*$"},
        {"type": "integer", "minimum": 0},
        {"type": "array", "items": {"type": "integer", "minimum": 0}},
    ]
}
RANKED = {"type": "string", "pattern": f"^({'|'.join(ENDS)}):[1-9][0-9]*(:| +by +).+$"}
KEEP_TABLE = {
    "type": "object",
    "properties": {
        "members": MEMBERS,
        **{end: _extremes({"good": {"enum": list(GOOD)}} if end in JUDGED else {}) for end in ENDS},
    },
    "additionalProperties": False,
}
LIMITS = {"type": "array", "items": {"anyOf": [NUMBER, TEXT]}, "minItems": 2, "maxItems": 2}
METRIC = {
    "anyOf": [
        TEXT,
        {"type": "object", "properties": {"of": TEXT, "good": {"enum": list(GOOD)}, "limits": LIMITS},
         "required": ["of"]},
    ]
}  # fmt: skip
EVENT = {
    "anyOf": [
        TEXT,
        {"type": "object", "additionalProperties": False, "required": ["of"],
         "properties": {"of": TEXT, "direction": {"enum": list(DIRECTIONS)}, "action": {"enum": list(ACTIONS)},
                        "capacity": {"type": "integer", "minimum": 1, "maximum": MOST_INSTANTS},
                        "values": {"type": "object", "additionalProperties": {"anyOf": [NUMBER, TEXT]}}}},
        {"const": False},
    ]
}  # fmt: skip
DRIVE = {"anyOf": [TEXT, NUMBER, VALUES, {"type": "object", "properties": {"type": TEXT}, "required": ["type"]}]}
FLAGS = {"anyOf": [FLAG, {"type": "array", "items": FLAG, "minItems": 1, "maxItems": 2, "uniqueItems": True}]}
LIMIT = {"anyOf": [ABOVE_ZERO, {"const": "inf"}]}

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("model", _model, TEXT, "what is simulated: a name of the library, or a file beside the study",
            "required", 'model = "four_bar"'),
        Key("kind", _word(KINDS), {"enum": list(KINDS)},
            "what is done with each member: `run` it in time, `follow` its poses along the places of `[drive]`, of "
            "whose parameter metrics are, as of `shiftjax.follow`, take the `travel` of the joints that its metrics "
            "name, as of `shiftjax.travel`, put it where `[goals]` want it, as `shiftjax.inverse_kinematics` does "
            "(`ik`), or measure its `workspace`, as of `shiftjax.workspace`", "`run`", 'kind = "follow"'),
        Key("span", _seconds, ABOVE_ZERO, "duration of every run", "the model file's", "span = 2.0", "s"),
        Key("step", _seconds, ABOVE_ZERO, "step of the integration",
            "1 ms, or the next smaller whole fraction of the output step", "step = 1e-3", "s"),
        Key("output_step", _seconds, ABOVE_ZERO, "time between recorded instants, a whole multiple of the step",
            "the model file's, else the first and the last instant", "output_step = 0.01", "s"),
        Key("tolerance", _tolerance, ABOVE_ZERO,
            "in place of a step: what each step may be off by, in rad or parts of the model's length; every "
            "member takes steps as large as that allows", "steps of one size", "tolerance = 1e-8"),
        Key("method", _method, {"enum": [*METHODS, FILE]},
            "how it is integrated; euler is semi-implicit, implicit_euler and rosenbrock are for stiff models, dopri5 "
            "is that of a tolerance, which rosenbrock takes, too, file what the model file's integrator asks for, with "
            "its errors as tolerance",
            "`rk4`, with a tolerance `dopri5`", 'method = "rk4"'),
        Key("precision", _word(tuple(DTYPES)), {"enum": list(DTYPES)}, "of the numbers of a run", "`f64`",
            'precision = "f64"'),
        Key("backend", _text, TEXT, "the machine: cpu, gpu or xla",
            "cpu, or where a GPU is that for large portions", 'backend = "cpu"'),
        Key("samples", _count(1), {"type": "integer", "minimum": 1},
            "how many values of all drawn numbers, at every point of the grid", "required where something is drawn",
            "samples = 1000"),
        Key("seed", _count(0), {"type": "integer", "minimum": 0}, "of the draws; the same seed gives the same designs",
            "0", "seed = 7"),
        Key("table", _text, TEXT,
            "a .csv or .parquet file of designs, one a line; its columns are paths of numbers, in SI", "none",
            'table = "designs.csv"'),
        Key("channels", _texts, TEXTS, "what is recorded of the members that are kept", "none",
            'channels = ["rocker_pivot.q"]'),
        Key("hold", _texts, TEXTS, "joints that keep their place while loops are closed", "none",
            'hold = ["crank_pivot"]'),
        Key("branch", _branch, TEXT,
            "the assembly branch on which members begin, by its name as of `shiftjax branches`",
            "that of the model file", 'branch = "+-"'),
        Key("assemble_only", _flag, FLAG,
            "loops are closed and nothing is run: which designs are possible, and where they stand", "`false`",
            "assemble_only = true"),
        Key("strict_start", _flag, FLAG, "members whose stated start the loops do not allow are not run", "`false`",
            "strict_start = true"),
        Key("strict_inertia", _flag, FLAG, "members with moments of inertia that no body has are not run", "`false`",
            "strict_inertia = true"),
        Key("singular", _word(SINGULAR), {"enum": list(SINGULAR)},
            "what members do at singular poses: pass them, or stop before them", "`pass`", 'singular = "stop"'),
        Key("energy_limit", _limit, LIMIT, "energy error above which a member is inaccurate", "1e-3",
            "energy_limit = 1e-4"),
        Key("gap_limit", _limit, LIMIT, "the same for its gap, in parts of the model's length", "1e-6, in f32 1e-5",
            "gap_limit = 1e-8"),
        Key("angle_limit", _limit, LIMIT,
            "the same for the estimated error of its coordinates, in rad or parts of the model's length", "1e-3",
            "angle_limit = 1e-2"),
        Key("accuracy", _word(ACCURACIES), {"enum": list(ACCURACIES)},
            "what that estimate rests on: `local`, the energy and single steps; `all`, a run of every member at half "
            "the step; `sampled`, those of a sample of the study and of members that are doubted", "`sampled`",
            'accuracy = "all"'),
        Key("vary", _entries(_vary),
            _table_schema({"anyOf": [TEXT, VALUES, *map(_law_schema, NUMBERS)]}),
            "number path -> how it varies: a text of `--vary`, a list of values, or a table of a law and its numbers",
            "nothing varies", '[vary]\n"coupler.mass" = "0.5:2~sobol"\n"rocker.mass" = "1:0.1~normal"',
            "SI, or stated"),
        Key("correlation", _correlation, CORRELATION,
            "between drawn numbers: `pairs` of two paths and a correlation, or `paths` and a `matrix`", "none",
            '[correlation]\npairs = [["coupler.mass", "rocker.mass", 0.8]]'),
        Key("switch", _entries(_switch), _table_schema(FLAGS),
            "assembly, body, joint, force, constraint or driver -> on and off: an axis outside of all others", "none",
            '[switch]\ncrank_pivot_drive = [true, false]'),
        Key("set", _entries(_set), _table_schema({"anyOf": [NUMBER, TEXT]}),
            "number path -> value of all members", "as in the model", '[set]\n"crank.mass" = "800 g"', "SI, or stated"),
        Key("derive", _entries(_formula), _table_schema(TEXT),
            "number path -> a formula that it follows from, number paths in braces", "none",
            '[derive]\n"rocker.center_of_mass[0]" = "{rocker:tip.T[0]} / 2"', "SI"),
        Key("drive", _entries(_drive), _table_schema(DRIVE),
            "joint -> its motion: a text of `--drive`, a constant speed, or a table of its type and numbers; where "
            "members are followed its places, `from:to:count` or a list", "none",
            '[drive]\ncrank_pivot = "harmonic(amplitude=0.3, frequency=2)"', "SI, or stated"),
        Key("tie", _entries(_tie), _table_schema(TEXT),
            "name -> an equation of coordinates of joints, `JOINT.q`, and the time `t`, that always holds", "none",
            '[tie]\ngear = "rocker_pivot.q == 0.5 * crank_pivot.q"', "SI"),
        Key("goals", _entries(_goal), _table_schema(GOAL),
            "what is wanted of poses, of `kind = \"ik\"`: name -> a `frame` with a place `T`, a rotation vector `R`, a "
            "`coordinate` or an expression `of` channels with a `value`, the `center` of mass with a `T`, or "
            "`potential`; with `level`, `weight`, `box` and all else of a goal. The place is the point `points.NAME`, "
            "the value the parameter `parameters.NAME`, which vary as any numbers do", "none",
            '[goals.reach]\nframe = "tool"\nT = [0.3, 0, "200 mm"]', "SI, or stated"),
        Key("limits", _entries(_limits), _table_schema(WAY),
            'coordinate -> its lower and upper end, `"-"` for none, above all goals', "those of the model",
            '[limits]\nelbow = ["-90deg", "90deg"]', "SI, or stated"),
        Key("tries", _count(1), {"type": "integer", "minimum": 1},
            "from how many poses members begin that miss a goal", "1", "tries = 10"),
        Key("workspace", _workspace, WORKSPACE,
            'what a workspace is of, of `kind = "workspace"`: its `coordinates`, a frame or two or three of `FRAME.x`, '
            "`FRAME.y`, `FRAME.z` and joints; with a `box` and `points` of a grid, `stops`, `inscribed`, "
            "`orientations`, `searched`, as of `shiftjax.workspace`", "required there",
            '[workspace]\ncoordinates = "arm:fore:tip"\ninscribed = true', "SI, or stated"),
        Key("metrics", _entries(_metric), _table_schema(METRIC),
            'name -> what is computed of every member: a text, or a table of it as `of`, which values are `good` '
            '("small" or "large") and between which `limits` they should be', "none",
            '[metrics]\nswing = "peak_to_peak(rocker_pivot.q)"'),
        Key("events", _entries(_event), _table_schema(EVENT),
            'name -> an expression of channels whose zeros are located within steps: a text, or a table of it as `of`, '
            'the `direction` ("any", "up", "down"), the `action` ("mark"; "stop", which ends the member there; "set", '
            'which gives numbers the `values` from there on) and the `capacity`, how many instants are '
            "noted; `false` switches one of the model's file off",
            "those of the model's file",
            '[events]\nlow = { of = "rocker_pivot.v", direction = "up" }'),
        Key("keep", lambda where, value: keep_words(value, where),
            {"anyOf": [*MEMBERS["anyOf"], RANKED, KEEP_TABLE]},
            "whose trajectories are kept: `members`, and the `worst`, `best`, `largest` and `smallest` of metrics",
            "`members = 64`; none where members are ranked by metrics",
            '[keep]\nmembers = "every 10"\nworst = { metric = "swing", count = 5 }'),
        Key("optimize", _optimize, OPTIMIZE, "what `shiftjax optimize` makes small, and how", "nothing is optimised",
            '[optimize]\nobjective = "swing"\nmethod = "adam"\niterations = 50'),
    )
}  # fmt: skip
