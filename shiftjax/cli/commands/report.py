"""`shiftjax report`: a stored study explained on one page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from shiftjax.cli import common
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.optimization.optimum_page import write_optimum
from shiftjax.ensembles.optimization.store_kind import is_optimization
from shiftjax.ensembles.report.writing import check_target, write
from shiftjax.ensembles.store import store
from shiftjax.formats.files import load
from shiftjax.plugins import need_plugins


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("store", metavar="STORE", help="what `sweep --out` or `optimize --out` wrote")
    add("--out", default="report.html", metavar="FILE", help="the page; default report.html")
    add("--png", metavar="FOLDER", help="write the figures as pictures, too")
    add("--title", metavar="TEXT", help="of the page; left out, the model's name")
    add("--force", action="store_true", help="replace FILE and FOLDER where they exist")


def call(options: argparse.Namespace) -> int:
    check_target(options.out, options.png, force=options.force)
    more = {"title": options.title, "force": options.force}
    if is_optimization(Path(options.store)):
        write_optimum(Optimum(options.store), options.out, options.png, **more)
    else:
        tree = store.read(options.store)
        need_plugins(options.store, tree.attrs)
        write(tree, load(json.loads(tree.attrs["model"])), options.out, options.png, **more)
    for written in (options.out, *([options.png] if options.png else [])):
        common.say(f"written: {written}")
    return 0
