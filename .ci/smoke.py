"""Runs against the installed wheel, from a folder that is not the repository."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import shiftjax

home = Path(shiftjax.__file__).parent
assert "site-packages" in home.parts, f"the smoke test must see the wheel, not {home}"
for leaked in ("kernels", "ensembles", "models", "viewer", "tests"):
    spec = find_spec(leaked)
    assert spec is None, f"{leaked} leaked to the top level: {spec}"


def command(*arguments: str) -> str:
    done = subprocess.run(["shiftjax", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"shiftjax {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


assert shiftjax.__version__ in command("--version")
assert "four_bar" in command("models")
assert json.loads(command("info", "four_bar", "--json"))["rank"] == 3
run = json.loads(command("run", "four_bar", "--span", "0.1", "--json"))
assert run["status"] == "ok" and run["certificate"]["gap"] < 1e-9, run
command(
    "sweep", "four_bar", "--vary", "model_parameters.gravity[2]=9:10~sobol", "--samples", "16",
    "--span", "0.1", "--out", "study.zarr",
)  # fmt: skip
page = Path(command("docs", "statuses", "--print", "--out", "pages").strip())
assert page.is_file() and (page.parent / "pictures" / "turn.svg").is_file(), "the wheel lacks pages or pictures"
print(f"smoke test passed: shiftjax {shiftjax.__version__} on Python {sys.version.split()[0]}")
