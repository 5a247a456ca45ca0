"""What may be imported without jax, and what without GL and plotting packages, each in a fresh process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JAX_FREE = (
    "shiftjax",
    "shiftjax.record",
    "shiftjax.errors",
    "shiftjax.plugins",
    "shiftjax.outcome",
    "shiftjax.algebra",
    "shiftjax.joints",
    "shiftjax.forces",
    "shiftjax.constraints",
    "shiftjax.mechanism.model",
    "shiftjax.formats",
    "shiftjax.formats.builder",
    "shiftjax.formats.sections.solids",
    "shiftjax.models",
    "shiftjax.run.results.result",
    "shiftjax.run.simulate",
    "shiftjax.run.assemble",
    "shiftjax.kinematics.paths.follow",
    "shiftjax.ensembles.execution.sweep",
    "shiftjax.cli.commands.run",
    "shiftjax.cli.commands.check",
    "shiftjax.topology.analysis",
    "shiftjax.topology.plan",
    "shiftjax.topology.partition",
    "shiftjax.ensembles.store.store",
    "shiftjax.ensembles.study.designs",
    "shiftjax.ensembles.study.sample",
    "shiftjax.ensembles.study.study_file",
    "shiftjax.ensembles.report",
    "shiftjax.ensembles.store.tables",
    "shiftjax.ensembles.store.top",
    "shiftjax.viewer",
    "shiftjax.viewer.assimp",
    "shiftjax.viewer.scene.building",
    "shiftjax.viewer.motion.curves",
    "shiftjax.viewer.export.collada",
    "shiftjax.viewer.export.gltf",
    "shiftjax.viewer.export.page_writing",
    "shiftjax.viewer.export.web_page",
    "shiftjax.viewer.rendering",
    "shiftjax.viewer.gui.state.state",
    "shiftjax.viewer.motion.live_history",
    "shiftjax.viewer.study.opening",
    "shiftjax.viewer.motion.session",
    "shiftjax.viewer.study.study",
    "shiftjax.viewer.views",
    "shiftjax.viewer.web.notebook",
    "shiftjax.cli",
)


def fresh(code: str) -> list[str]:
    """Runs code in a fresh process and returns the first parts of the names of all modules it loaded."""
    tail = "\nimport json, sys\nprint()\nprint(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


FREE = """
import importlib, sys
for module in {modules}:
    importlib.import_module(module)
    assert not {{"jax", "jaxlib"}} & sys.modules.keys(), f"{{module}} imports jax"
"""


def test_jax_free() -> None:
    """One process imports all: what the last of them has not loaded, none of them loads."""
    fresh(FREE.format(modules=JAX_FREE))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["models"], ["run", "--help"]])
def test_these_commands_start_without_jax(arguments: list[str]) -> None:
    loaded = fresh(f"from shiftjax.cli import main\nassert main({arguments!r}) == 0")
    if arguments[0] != "run":  # the file of `run` calls the simulation
        assert "jax" not in loaded


def test_the_core_imports_neither_gl_nor_plotting() -> None:
    """S30: the simulation runs where no GL, GUI or plotting package exists."""
    refuse = (
        "import sys\nfor name in ('glfw', 'OpenGL', 'pyassimp', 'imgui_bundle', 'matplotlib', 'PIL'):\n"
        "    sys.modules[name] = None\n"
    )
    fresh(
        refuse
        + "import shiftjax.run.simulate, shiftjax.run.topology_report, shiftjax.cli, shiftjax.ensembles.store.store"
    )
