"""The pages of the documentation, in order, and the Markdown of each: files, notebooks, and pages made of docstrings.

MkDocs (`.ci/docs_hook.py`) and `shiftjax docs` (`plain_html.py`) both take the pages from here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shiftjax.docs.api import api
from shiftjax.docs.catalogue import catalogue
from shiftjax.docs.metrics import metrics
from shiftjax.docs.notebook import markdown
from shiftjax.docs.statuses import statuses

FOLDER = Path(__file__).resolve().parent
PAGES = {  # file -> title; a new page is a line here
    "index.md": "Overview",
    "quickstart.md": "Quick start",
    "tutorial.ipynb": "Tutorial: from a sketch to a sweep",
    "window.md": "The window",
    "conventions.md": "Signs and conventions",
    "paths.md": "Paths and channels",
    "parameters.md": "Parameters and points",
    "starts.md": "Starts, holds and branches",
    "branches.md": "Assembly modes",
    "drives.md": "Drives and loads",
    "kinematics.md": "Kinematics: where a mechanism can go",
    "inverse_kinematics.md": "Inverse kinematics",
    "editing.md": "Changing a mechanism by steps",
    "linkage_design.md": "Designing a crank-rocker",
    "statics.md": "Statics: equilibria, loads and small motions",
    "inverse_dynamics.md": "Inverse and hybrid dynamics",
    "families.md": "Linkage families",
    "configurations.md": "Frames, matrices and forces",
    "bodies.md": "Coordinates of bodies",
    "metrics.md": "Metrics",
    "events.md": "Events",
    "gradients.md": "Gradients",
    "libraries.md": "With other libraries of JAX",
    "studies.md": "Studies",
    "scale.md": "A million runs on 100 nodes",
    "gpu.md": "On a GPU",
    "optimization.md": "Optimisation and sensitivity",
    "possible_designs.md": "Which designs are possible",
    "reports.md": "Reports and tables",
    "reference_studies.md": "Reference studies",
    "accuracy.md": "Accuracy",
    "statuses.md": "Statuses",
    "catalogue.md": "Catalogue",
    "format.md": "File format",
    "other_formats.md": "Robots of other formats",
    "extending.md": "Extending",
    "how.md": "How it works",
    "features.md": "Features",
    "comparison.md": "Comparison with MuJoCo",
    "benchmarks.md": "Benchmarks",
    "api.md": "Python reference",
    "contributing.md": "Contributing",
}
MADE = {  # pages that no file holds: they are always the program's own
    "api.md": lambda: api(sys.modules["shiftjax"]),
    "catalogue.md": catalogue,
    "metrics.md": metrics,
    "statuses.md": statuses,
}
PICTURES = (".png", ".svg")


def target(name: str) -> str:
    """The name under which a page is a Markdown page: that of a notebook ends in .md there."""
    return Path(name).with_suffix(".md").as_posix()


def text(name: str) -> str:
    """The Markdown of a page of `PAGES`."""
    if name in MADE:
        return MADE[name]()
    source = (FOLDER / name).read_text(encoding="utf-8")
    return markdown(source) if name.endswith(".ipynb") else source


def pictures() -> list[Path]:
    """The files that pages show."""
    return sorted(path for path in FOLDER.rglob("*") if path.suffix in PICTURES)
