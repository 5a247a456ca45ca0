"""The key by which compiled code is found again: it changes with any file of physics, and with nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PHYSICS = ("joints/", "forces/", "constraints/", "topology/", "dynamics/", "measures/", "run/", "mechanism/")
PHYSICS += ("algebra.py", "rotations.py")
OTHERS = ("cli/", "ensembles/", "formats/", "models/", "viewer/")
SCRIPT = f"""
import json, sys
from pathlib import Path
from shiftjax.formats.files import load
from shiftjax.run.programs import setup
from shiftjax.run.start.prepare import prepare

package = Path(setup.__file__).resolve().parents[2]
assert package == Path(sys.argv[1]) / "shiftjax", package
prepared = prepare(load("four_bar"), {{}})

def key():
    setup.source_hash.cache_clear()
    return prepared.setup.identity()

def edit(file):
    file.write_bytes(file.read_bytes() + b"\\n# another comment\\n")

files = {{file.relative_to(package).as_posix(): file for file in sorted(package.rglob("*.py"))}}
physics = [name for name in files if name.startswith({PHYSICS})]
others = [name for name in files if name.startswith({OTHERS})]
read_bytes, texts, changed = Path.read_bytes, {{}}, None

def reading(file):  # and noting what is read
    texts[file] = read_bytes(file)
    return texts[file] + b"#" if file == changed else texts[file]

Path.read_bytes = reading
first = key()
without_effect = [name for name in physics if files[name] not in texts]
for name in physics[::20]:  # of those that are read; a key takes 20 ms
    changed = files[name]
    if key() == first:
        without_effect.append(name)
changed = None
assert key() == first
Path.read_bytes = read_bytes
for name in others:  # all at once: hashing takes 20 ms
    edit(files[name])
print(json.dumps([len(physics), without_effect, len(others), key() == first]))
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory) -> tuple[int, list[str], int, bool]:
    """Of a copy: files of physics, those of them whose change keeps the key, other files, whether all these keep it."""
    where = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "shiftjax", where / "shiftjax", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(where)], capture_output=True, text=True, cwd=where, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_file_of_physics_changes_the_key(tried: tuple[int, list[str], int, bool]) -> None:
    count, without_effect, _, _ = tried
    assert count > 50 and not without_effect


def test_what_decides_no_number_keeps_the_key(tried: tuple[int, list[str], int, bool]) -> None:
    _, _, count, same = tried
    assert count > 50 and same
