"""The shape of the repository: floors of imports, links, packages, sizes, names."""

import ast
import collections
import functools
import graphlib
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("kernels", "ensembles", "viewer", "models", "docs")

# Lowest floor first. A file imports from its own floor (without circles) and from the floors below.
FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "algebra",
        "disk_cache",
        "errors",
        "expressions",
        "field",
        "lanes",
        "markup",
        "memory_cache",
        "models",
        "numerics",
        "outcome",
        "plan_elements",
        "plugins",
        "poses",
        "quantities",
        "record",
        "registry",
        "rotations",
        "splines",
        "height_fields",
        "shield",
        "time_laws",
        "version",
        "viewing",
        "watching",
    ),
    ("kernels",),
    ("joints",),
    ("forces", "constraints"),
    ("mechanism",),
    ("formats",),
    ("topology",),
    ("dynamics",),
    ("measures",),
    ("run",),
    ("access",),
    ("bodies",),
    ("gradients",),
    ("editing", "families", "inverse", "kinematics", "statics"),
    ("ensembles",),
    ("viewer",),
    ("bench",),
    ("docs",),
    ("contracts",),
    ("cli",),
    ("__init__", "__main__"),
)
FLOOR = {name: k for k, names in enumerate(FLOORS) for name in names}

# The rooms of a folder, lowest first: a file imports from its own room and from those before it. The files that stand
# beside rooms, such as a front door or a window put together, may be anywhere as long as no circle comes of it.
ROOMS: dict[str, tuple[str, ...]] = {
    "editing": ("posing", "velocities"),
    "ensembles": ("study", "store", "report", "execution", "sensitivities", "optimization"),
    "formats": ("examples", "values", "sections", "robots"),
    "formats.robots": ("urdf", "mjcf", "sdf"),
    "gradients": ("start", "jumps", "forward", "reverse"),
    "kernels": ("elementary", "llvm", "pivoting", "gpu", "wasm"),
    "kinematics": ("paths", "ranges", "positioning", "workspaces"),
    "kinematics.positioning": ("solving", "results"),
    "statics": ("loads",),
    "run": ("programs", "closing", "start", "assemblies", "advance", "results", "travel"),
    "viewer": ("scene", "assimp", "members", "motion", "study", "gl", "export", "web", "gui"),
    "run.advance": ("inputs", "singular"),
    "viewer.gui": ("state", "actions", "picture", "widgets", "panes"),
    "viewer.gui.actions": ("members", "saving", "workbench"),
    "viewer.gui.state": ("typed", "study", "derived"),
    "viewer.gui.panes": ("study", "posing"),
}

# Files that may import inside a function, and what: the package's front door, the command table, jax at the first
# traced value, the optional plotting library.
LAZY = {
    "shiftjax/__init__.py": {"shiftjax"},
    "shiftjax/bench/rivals/race.py": {"shiftjax"},  # other codes, where they are installed
    "shiftjax/cli/__init__.py": {"shiftjax"},
    "shiftjax/cli/commands/export.py": {"shiftjax"},  # tables need none of the viewer's packages
    "shiftjax/cli/export_scene.py": {"shiftjax"},  # jax and the compiler, for pages that simulate alone
    "shiftjax/cli/commands/run.py": {"shiftjax"},  # stored studies, half a second, for members of them alone
    "shiftjax/cli/running.py": {"shiftjax"},  # stores, where something is written
    "shiftjax/cli/commands/view.py": {"shiftjax"},
    "shiftjax/lanes/outside.py": {"jax"},  # only for functions written with `jax.numpy`
    "shiftjax/run/results/result.py": {"shiftjax"},  # xarray and pandas take longer to load than a warm start
    "shiftjax/run/results/plotting.py": {"matplotlib"},
    "shiftjax/kinematics/workspaces/drawing.py": {"matplotlib"},
    "shiftjax/statics/loads/load_plot.py": {"matplotlib"},
    "viewer/scene/terrains/terrain.py": {"PIL"},  # of the extra `viewer`; models without a raster are drawn without it
    "viewer/study/opening.py": {"shiftjax"},  # histories of optimisations take 1.5 s to import
    "kernels/pivoting/elimination.py": {"shiftjax"},  # few matrices need no compiler: 0.25 s of the viewer's start
    "kernels/backends.py": {"shiftjax"},  # of other backends than that of a run, which takes half a second with jax
    "kernels/gpu/cuda_device.py": {"cuda"},  # optional: only where a GPU is asked for
    "ensembles/picture.py": {"matplotlib"},
    "ensembles/study/design_table.py": {"pyarrow"},  # optional: only where a table is a Parquet file
    "ensembles/execution/distribute.py": {"distributed"},
    "ensembles/store/tables.py": {"pyarrow"},
    "ensembles/report/figures.py": {"matplotlib"},
    "ensembles/report/overview_figure.py": {"matplotlib"},
    "ensembles/report/page.py": {"plotly"},
    "ensembles/report/influences.py": {"SALib"},
    "ensembles/report/style.py": {"matplotlib"},
}
LAZY_EVERYWHERE = {"glfw", "OpenGL", "pyassimp"}

# Classes that are two sides of one thing: laws of time are also drives, a step stands in Python and in the language of
# LLVM, a protocol has an implementation above it.
TWO_SIDES = {
    "Harmonic": {"time_laws", "constraints.drives"},
    "Polynomial": {"time_laws", "constraints.drives"},
    "Table": {"time_laws", "constraints.drives"},
    "AccelerationTable": {"time_laws", "constraints.drives"},
    "Attempt": {"kernels.step_loop", "kernels.llvm.stepper"},
    "Programs": {"run.advance.ensemble", "run.programs.lane_program"},
}
PRONOUNS = {"found", "own", "told", "said", "kept", "held", "mine", "theirs", "ours"}  # of whatever is at hand
# Files from the ground to a command: 12 up to a run; one for kinds of constraints that are written on a base, one for a
# workbench, which is an editor and a poser in turn.
DEPTH = 19
HARD_LIMIT = 500  # lines a file
FUNCTION_LIMIT = 60  # lines a function body
ROOM_LIMIT = 25  # files a folder, its `__init__` among them


def sources() -> dict[str, Path]:
    """Module name -> file, of every module of the package, each file once."""
    found: dict[str, Path] = {}
    for folder in ("shiftjax", *LINKED):
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT)
            if inside.parts[0] == "shiftjax" and len(inside.parts) > 2 and inside.parts[1] in LINKED:
                continue  # the link of a folder that is visited by itself
            parts = inside.with_suffix("").parts
            parts = parts if parts[0] == "shiftjax" else ("shiftjax", *parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


SOURCES = sources()


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room(module: str) -> str:
    """The name on the list of floors that a module belongs to."""
    parts = module.split(".")
    return "__init__" if len(parts) == 1 else parts[1]


def imports(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Every imported module, a name imported from a package taken as a module where it is one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node, full if full in SOURCES else str(node.module)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@functools.cache
def imported(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, str], ...]:
    """Those of a file."""
    return tuple(imports(parsed(path)))


def own(module: str) -> bool:
    return module == "shiftjax" or module.startswith("shiftjax.")


def test_every_module_has_a_floor() -> None:
    missing = sorted({room(m) for m in SOURCES} - set(FLOOR))
    assert not missing, f"no floor for {missing}: add them to FLOORS where they belong"


def test_imports_go_down() -> None:
    wrong = [
        f"{relative(path)}:{node.lineno} imports {target}"
        for module, path in SOURCES.items()
        if module != "shiftjax"
        for node, target in imported(path)
        if own(target) and FLOOR[room(target)] > FLOOR[room(module)]
    ]
    assert not wrong, "\n".join(wrong)


def inside(folder: str) -> Iterator[tuple[str, str, str]]:
    """Every import between two entries of a folder, rooms or files: the one, the other, and where."""
    prefix = f"shiftjax.{folder}."
    for module, path in SOURCES.items():
        for node, target in imported(path) if module.startswith(prefix) else ():
            one, other = (name.removeprefix(prefix).split(".")[0] for name in (module, target))
            if target.startswith(prefix) and one != other:
                yield one, other, f"{relative(path)}:{node.lineno} imports {target}"


@pytest.mark.parametrize("folder", ROOMS)
def test_imports_between_rooms_go_down(folder: str) -> None:
    rooms, graph = ROOMS[folder], graphlib.TopologicalSorter[str]()
    wrong = []
    for one, other, where in inside(folder):
        graph.add(one, other)
        if one in rooms and other in rooms and rooms.index(other) > rooms.index(one):
            wrong.append(where)
    assert not wrong, "\n".join(wrong)
    if folder != "run":  # its options, which all of it takes whole, name the schedule of its room `advance`
        graph.prepare()  # CycleError where files beside rooms close a circle of rooms


def test_every_room_stands_in_a_list() -> None:
    """A folder with several rooms says which of them is above which."""
    packages = {m.removeprefix("shiftjax.") for m, p in SOURCES.items() if p.name == "__init__.py"} - {"shiftjax"}
    parents = [name.rpartition(".")[0] for name in packages if "." in name]
    assert {folder for folder in parents if parents.count(folder) > 1} <= set(ROOMS)
    for folder, rooms in ROOMS.items():
        assert {name.rpartition(".")[2] for name in packages if name.rpartition(".")[0] == folder} == set(rooms)


def test_nothing_imports_the_front_door_or_by_position() -> None:
    wrong = []
    for path in SOURCES.values():
        for node, target in imported(path):
            by_position = isinstance(node, ast.ImportFrom) and node.level > 0
            front_door = (isinstance(node, ast.ImportFrom) and node.module == "shiftjax") or target == "shiftjax"
            bare = target.split(".")[0] in LINKED
            if by_position or bare or front_door:
                wrong.append(f"{relative(path)}:{node.lineno} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_no_circles() -> None:
    edges = {m: {t for _, t in imported(p) if t in SOURCES and t != m} for m, p in SOURCES.items()}
    edges.pop("shiftjax")  # its names load on first use
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module in done or module not in edges:
            return
        for target in edges[module]:
            visit(target, (*trail, module))
        done.add(module)

    for module in edges:
        visit(module, ())


def chains() -> dict[str, tuple[str, ...]]:
    """Module -> its longest chain of imports, lowest first."""
    edges = {m: {t for _, t in imported(p) if t in SOURCES and t != m} for m, p in SOURCES.items() if m != "shiftjax"}

    @functools.cache
    def chain(module: str) -> tuple[str, ...]:
        below = [chain(t) for t in sorted(edges[module]) if t in edges]
        return (*max(below, key=len, default=()), module)

    return {module: chain(module) for module in edges}


def test_a_line_is_understood_through_few_files() -> None:
    """The longest chain of imports, type imports counted; `pytest -s` shows it and the floors."""
    longest = max(chains().values(), key=len)
    print("\n" + "\n".join(f"{k:2} {' '.join(names)}" for k, names in enumerate(FLOORS)))
    print(f"longest chain, {len(longest)}: {' > '.join(longest)}")
    assert len(longest) <= DEPTH


def test_imports_stand_at_the_top() -> None:
    wrong = []
    for path in SOURCES.values():
        allowed = LAZY.get(relative(path), set()) | LAZY_EVERYWHERE
        inner = any(node.col_offset for node, _ in imported(path))
        for function in ast.walk(parsed(path)) if inner else ():
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                wrong += [
                    f"{relative(path)}:{node.lineno} imports {target} inside {function.name}"
                    for node, target in imports(function)
                    if target.split(".")[0] not in allowed
                ]
    assert not wrong, "\n".join(wrong)


def test_import_module_is_only_in_the_front_doors() -> None:
    users = {
        relative(path)
        for path in SOURCES.values()
        if any(word in path.read_text(encoding="utf-8") for word in ("import_module(", "__import__("))
    }
    # The last is a table as that of commands: what a kind of study does stands on more files than what runs studies.
    doors = {"shiftjax/__init__.py", "shiftjax/cli/__init__.py", "ensembles/__init__.py", "ensembles/study/posed.py"}
    assert users <= doors | {"shiftjax/plugins.py"}, "what users name is no module of the package"


def test_sizes() -> None:
    files = [*SOURCES.values(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    wrong = [relative(p) for p in files if len(p.read_text(encoding="utf-8").splitlines()) > HARD_LIMIT]
    assert not wrong, f"over {HARD_LIMIT} lines: {wrong}"


def test_no_room_is_crowded() -> None:
    """Where more than a score of files lie side by side, nobody knows them all: they form rooms."""
    folders = collections.Counter(relative(p.parent) for p in [*SOURCES.values(), *(ROOT / "tests").rglob("*.py")])
    crowded = {folder: count for folder, count in folders.items() if count > ROOM_LIMIT}
    assert not crowded, f"over {ROOM_LIMIT} files: {crowded}"


def test_function_sizes() -> None:
    wrong = []
    for path in SOURCES.values():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                told = ast.get_docstring(node) is not None and len(node.body) > 1  # help is no code
                lines = (node.body[-1].end_lineno or 0) - node.body[told].lineno + 1
                if lines > FUNCTION_LIMIT:
                    wrong.append(f"{relative(path)}:{node.lineno} {node.name}: {lines} lines")
    assert not wrong, "\n".join(wrong)


def test_files_begin_with_what_they_are() -> None:
    wrong = [relative(p) for p in SOURCES.values() if ast.get_docstring(parsed(p)) is None]
    assert not wrong, f"no docstring: {wrong}"


def test_a_class_name_means_one_thing() -> None:
    """No class has the name of another one, anywhere in the house, but those that are two sides of one thing."""
    places: dict[str, set[str]] = {}
    for module, path in SOURCES.items():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(module.removeprefix("shiftjax."))
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == TWO_SIDES


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Variables and parameters, with the lines that give them a value; fields of a class are none."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    lines = [line for node in classes for line in node.body if isinstance(line, ast.Assign | ast.AnnAssign)]
    fields = {id(name) for line in lines for name in ast.walk(line)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_variables_are_named_for_what_they_are() -> None:
    """A word that is right for whatever is at hand tells nothing, and two of them in one function are mixed up."""
    wrong = [
        f"{relative(path)}:{line} {name}: say what it is"
        for module, path in SOURCES.items()
        if module != "shiftjax.errors"  # `ModelError.found`, as it is printed
        for name, line in bound_names(parsed(path))
        if name in PRONOUNS
    ]
    assert not wrong, "\n".join(wrong)


def test_identifiers_are_ascii() -> None:
    wrong = [
        f"{relative(path)}:{node.lineno} {node.id}"
        for path in SOURCES.values()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Name) and not node.id.isascii()
    ]
    assert not wrong, "\n".join(wrong)


def test_the_package_list_is_complete() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packages = {m for m, p in SOURCES.items() if p.name == "__init__.py"}
    folders = {m if p.name == "__init__.py" else m.rpartition(".")[0] for m, p in SOURCES.items()}
    assert folders == packages, f"folders without __init__.py: {sorted(folders - packages)}"
    assert set(settings["packages"]) == packages
    assert settings["package-dir"] == {f"shiftjax.{name}": name for name in LINKED}


@pytest.mark.parametrize("name", LINKED)
def test_links_are_in_place(name: str) -> None:
    link = ROOT / "shiftjax" / name
    assert link.is_symlink() and str(link.readlink()) == f"../{name}"


def test_front_door_exports_what_it_says() -> None:
    shiftjax = importlib.import_module("shiftjax")
    listed = shiftjax.__all__
    assert sorted(listed) == sorted(set(listed))
    for name in listed:
        assert getattr(shiftjax, name) is not None
    assert set(shiftjax._HOME) | {"__version__"} == set(listed)
    typed = {
        alias.asname: inner.module if isinstance(inner, ast.ImportFrom) else alias.name
        for node in ast.walk(parsed(ROOT / "shiftjax" / "__init__.py"))
        if isinstance(node, ast.If)
        for inner in ast.walk(node)
        if isinstance(inner, ast.ImportFrom | ast.Import)
        for alias in inner.names
    }
    assert typed == shiftjax._HOME, "what a type checker sees differs from what is exported"
    with pytest.raises(AttributeError, match="nonsense"):
        shiftjax.nonsense  # noqa: B018


def test_packages_export_what_they_say() -> None:
    for module, path in SOURCES.items():
        if path.name != "__init__.py" or module == "shiftjax":
            continue
        package = importlib.import_module(module)
        for name in getattr(package, "__all__", ()):
            assert hasattr(package, name), f"{module}.__all__ names {name}, which it does not have"


def flags(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The positional parameters that are true or false, by their annotation or by their default."""
    places = [*function.args.posonlyargs, *function.args.args]
    defaults = [None] * (len(places) - len(function.args.defaults)) + list(function.args.defaults)
    for place, default in zip(places, defaults, strict=True):
        words = ast.unparse(place.annotation) if place.annotation else ""
        known = isinstance(default, ast.Constant) and isinstance(default.value, bool)
        if known or words in ("bool", "bool | None", "Optional[bool]"):
            yield place.arg


def public_functions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Functions and methods that others call, by name; `__init__` and its like are called by the class's name."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not node.name.startswith("_") or node.name.startswith("__"):
                yield inside + node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{inside}{node.name}.")


def test_flags_are_given_by_name() -> None:
    """A call such as `write(result, path, True)` says nothing to its reader."""
    wrong = [
        f"{relative(path)}:{node.lineno} {name}: {flag} is positional"
        for path in SOURCES.values()
        for name, node in public_functions(parsed(path).body)
        for flag in flags(node)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(a, on=True): ...", ["on"]),
        ("def f(on: bool, a=1): ...", ["on"]),
        ("def f(on: bool | None = None, /): ...", ["on"]),
        ("def f(a: int = 1, *, on: bool = True): ...", []),
        ("def _f(on: bool): ...", []),
        ("class A:\n    def __init__(self, on: bool): ...\n    def g(self, on=False): ...", ["on", "on"]),
        ("class A:\n    on: bool = True", []),
    ],
)
def test_flags_are_found(text: str, found: list[str]) -> None:
    assert [flag for _, node in public_functions(ast.parse(text).body) for flag in flags(node)] == found
