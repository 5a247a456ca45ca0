"""The key by which compiled code is found again: it changes with any file of physics, and with nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from shiftjax.formats.files import load
from shiftjax.run.programs import setup
from shiftjax.run.start.prepare import prepare

package = Path(setup.__file__).resolve().parents[2]
assert package == Path(sys.argv[1]) / "shiftjax", package
prepared = prepare(load("four_bar"), {})

def key():
    setup.source_hash.cache_clear()
    return prepared.setup.identity()

first, changed = key(), {}
for file in sorted(package.rglob("*.py")):
    text = file.read_bytes()
    file.write_bytes(text + b"\\n# another comment\\n")
    changed[file.relative_to(package).as_posix()] = key() != first
    file.write_bytes(text)
assert key() == first
print(json.dumps(changed))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> dict[str, bool]:
    """File of the package -> whether a change of it changes the key, tried on a copy."""
    where = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "shiftjax", where / "shiftjax", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(where)], capture_output=True, text=True, cwd=where, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_file_of_physics_changes_the_key(changed: dict[str, bool]) -> None:
    rooms = ("joints/", "forces/", "constraints/", "topology/", "dynamics/", "measures/", "run/", "mechanism/")
    physics = [file for file in changed if file.startswith(rooms) or file in ("algebra.py", "rotations.py")]
    assert len(physics) > 50
    assert all(changed[file] for file in physics), [file for file in physics if not changed[file]]


def test_what_decides_no_number_keeps_the_key(changed: dict[str, bool]) -> None:
    others = [file for file in changed if file.startswith(("cli/", "ensembles/", "formats/", "models/", "viewer/"))]
    assert len(others) > 50
    assert not any(changed[file] for file in others), [file for file in others if changed[file]]
