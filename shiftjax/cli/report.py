"""`shiftjax report`: a stored study explained on one page."""

from __future__ import annotations

import argparse
import json
import sys

from shiftjax.ensembles import store
from shiftjax.ensembles.report.writing import check_target, write
from shiftjax.formats.files import load


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("store", metavar="STORE", help="what `sweep --out` wrote")
    add("--out", default="report.html", metavar="FILE", help="the page; default report.html")
    add("--png", metavar="FOLDER", help="write the figures as pictures, too")
    add("--title", metavar="TEXT", help="of the page; left out, the model's name")
    add("--force", action="store_true", help="replace FILE and FOLDER where they exist")


def call(options: argparse.Namespace) -> int:
    check_target(options.out, options.png, force=options.force)
    tree = store.read(options.store)
    model = load(json.loads(tree.attrs["model"]))
    write(tree, model, options.out, options.png, title=options.title, force=options.force)
    for written in (options.out, *([options.png] if options.png else [])):
        print(f"written: {written}", file=sys.stderr)
    return 0
