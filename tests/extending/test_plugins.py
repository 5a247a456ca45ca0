"""Plug-ins through real commands and processes: files, modules, entry points, studies, stores, members run again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shiftjax.formats import save
from shiftjax.formats.builder import ModelBuilder
from tests.extensions import bristle, cam, contact, gear, maxwell, screw, slot, stop  # noqa: F401
from tests.extensions.mechanisms import CASES
from tests.support.models.mechanisms import rod

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "tests" / "extensions"
STUDY = """
model = "arm.json"
span = 0.05
step = 1e-3
output_step = 1e-3
channels = ["pivot.q"]
metrics = {largest = "maximum(pivot.q)"}
keep = "none"
[vary]
"end.k" = [1e3, 1e4, 1e5]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pendulum that meets a stop, a study of it, and the file of the stop's kind, as a user has them."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_velocity=2.0)
    a.force("end", "my_stop", joint="pivot", lower=-1.0, upper=0.05, k=1e4)
    save(builder.build(), tmp_path / "arm.json")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    shutil.copy(EXTENSIONS / "stop.py", tmp_path / "my_parts.py")
    return tmp_path


def process(folder: Path, *words: str, paths: tuple[Path, ...] = ()) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of Python in a folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths)))}
    environment.pop("SHIFTJAX_PLUGINS", None)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def shell(folder: Path, *words: str, paths: tuple[Path, ...] = ()) -> tuple[int, str, str]:
    return process(folder, "-m", "shiftjax", *words, paths=paths)


READING = """
import sys
from shiftjax.cli import main

for name in sys.argv[1:]:
    assert main(["info", f"{name}.json", "--plugin", f"./my_{name}.py"]) == 0
"""


def test_a_command_reads_a_model_with_a_part_of_a_file(tmp_path: Path) -> None:
    """One process reads all of them, one after the other: a kind is known from its file on, not before."""
    for name, case in CASES.items():
        shutil.copy(EXTENSIONS / case.file, tmp_path / f"my_{name}.py")
        save(case.model(), tmp_path / f"{name}.json")
    code, out, err = process(tmp_path, "-c", READING, *CASES)
    assert code == 0 and out.count(" of freedom") == len(CASES), err


def test_a_command_runs_with_a_plugin_and_not_without(folder: Path) -> None:
    """By path or by the name of a module; without it the kind is unknown, by name."""
    words = ("run", "arm.json", "--span", "0.05", "--channel", "pivot.q", "--json")
    code, out, err = shell(folder, *words, "--plugin", "./my_parts.py")
    assert code == 0, err
    again = shell(folder, *words, "--plugin=my_parts", paths=(folder,))
    assert again[0] == 0 and json.loads(out)["channels"] == json.loads(again[1])["channels"]
    code, _, err = shell(folder, "info", "arm.json")
    assert code == 2 and "'my_stop'" in err and "Traceback" not in err


def test_a_command_takes_methods_metrics_channels_and_formats_of_files(folder: Path) -> None:
    """Several plug-ins of one line; their words stand in its options and in the name of its file."""
    files = ("stop.py", "butcher.py", "wear.py", "spin.py", "lines_format.py")
    plugins = [word for name in files for word in ("--plugin", str(EXTENSIONS / name))]
    asked = ("--channel", "rod.spin", "--metric", "way=wear(pivot.q)", "--method", "butcher", "--span", "0.05")
    code, out, err = shell(folder, "run", "arm.json", *asked, "--json", *plugins)
    assert code == 0, err
    document = json.loads(out)
    assert document["metrics"]["way"] > 0.05 and "rod.spin" in document["channels"]
    chosen = ("--method", "bs32", "--tolerance", "1e-6", "--plugin", str(EXTENSIONS / "bogacki_shampine.py"))
    code, out, err = shell(folder, "run", "arm.json", "--span", "0.05", *chosen, *plugins[:2])
    assert code == 0 and "tolerance 1e-06, bs32" in out, err
    (folder / "arm.lines").write_text("body upper 1.0 0 0 -0.5\njoint top Ry fixed 0 0 1 upper 0.5\n", encoding="utf-8")
    code, out, err = shell(folder, "info", "arm.lines", *plugins)
    assert code == 0 and "1 degree of freedom" in out, err


def test_a_plugin_that_fails_is_told_by_name(folder: Path) -> None:
    (folder / "broken.py").write_text("import no_such_package\n", encoding="utf-8")
    (folder / "parts").mkdir()
    (folder / "parts" / "json.py").write_text("", encoding="utf-8")
    for given, words in (
        ("./broken.py", "plug-in ./broken.py: found ModuleNotFoundError: No module named 'no_such_package'"),
        ("./missing.py", "plug-in ./missing.py: found no such file"),
        ("no_such_module", "plug-in no_such_module: found ModuleNotFoundError"),
        ("parts/json.py", "plug-in parts/json.py: found a file with the name of the module json"),
    ):
        code, _, err = shell(folder, "info", "pendulum", "--plugin", given)
        assert code == 2 and words in err and "Traceback" not in err, err


def installed(folder: Path, name: str, module: str) -> Path:
    """A folder like one of site-packages in which a package has an entry point."""
    place = folder / "site" / f"{name}-1.0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (place / "entry_points.txt").write_text(f"[shiftjax]\nparts = {module}\n", encoding="utf-8")
    return place.parent


def test_an_entry_point_is_loaded_before_a_model_is_read(folder: Path) -> None:
    site = installed(folder, "stops", "my_parts")
    code, _, err = shell(folder, "info", "arm.json", paths=(site, folder))
    assert code == 0, err
    (folder / "my_parts.py").unlink()
    code, _, err = shell(folder, "info", "arm.json", paths=(site,))
    assert code == 2 and "plug-in parts of stops: found ModuleNotFoundError" in err and "Traceback" not in err


WORKERS = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import shiftjax
from shiftjax.viewer.study.resimulation import Resimulation
from shiftjax.viewer.study.study import ViewedStudy

if __name__ == "__main__":
    shiftjax.load_plugin("./my_parts.py")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        study = shiftjax.sweep("study.toml", "out.zarr", executor=pool, shard=2)
    stored = ViewedStudy.open("out.zarr")
    again = Resimulation("out.zarr")
    again.request([2])
    again.wait([2])
    print(again.result(2).channels["pivot.q"].max(), stored.metrics["largest"][2])  # of instants; of curves
    again.close()
"""


ELSEWHERE = """
from pathlib import Path

from shiftjax.cli import main
from shiftjax.ensembles.execution.sweep import run_shard
from shiftjax.forces import FORCES

assert main(["report", "out.zarr"]) == 2
away = Path("my_parts.py").rename("away.py")
assert main(["top", "out.zarr", "largest"]) == 0, "a table of numbers needs no plug-in"
away.rename("my_parts.py")
assert "my_stop" not in FORCES
run_shard("out.zarr", 0)
assert "my_stop" in FORCES
"""  # a process that knows the store alone, as a worker on another machine


def test_a_study_in_other_processes_and_its_members_again(folder: Path) -> None:
    """Workers of an executor and the viewer's child have the plug-in of their parent; the store names it to others."""
    (folder / "workers.py").write_text(WORKERS, encoding="utf-8")
    code, out, err = process(folder, "workers.py")
    assert code == 0, err
    largest, stored = map(float, out.split())
    assert stored - 1e-4 < largest <= stored and largest > 0.05
    code, _, err = process(folder, "-c", ELSEWHERE)
    assert code == 0, err
    assert "my_parts.py, which are not loaded" in err and "--plugin" in err and "Traceback" not in err
    moved = folder / "elsewhere"
    moved.mkdir()
    (folder / "my_parts.py").rename(moved / "my_parts.py")
    code, _, err = shell(
        folder, "sweep", "study.toml", "--out", "out.zarr", "--resume", "--plugin", "elsewhere/my_parts.py"
    )
    assert code == 0, err
