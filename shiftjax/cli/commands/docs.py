"""`shiftjax docs`: opens the documentation, which the package carries and which needs no network."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from shiftjax.cli import common
from shiftjax.disk_cache import folder as cache_folder
from shiftjax.docs import plain_html
from shiftjax.docs.pages import PAGES
from shiftjax.errors import ModelError, nearest


def define(parser: argparse.ArgumentParser) -> None:
    names = [Path(name).stem for name in PAGES]
    parser.add_argument("page", metavar="PAGE", nargs="?", default="index", help=f"one of {', '.join(names)}")
    parser.add_argument("--out", metavar="FOLDER", help="write the pages there; left out, into the user's cache folder")
    parser.add_argument("--print", action="store_true", help="print where the page is and open no browser")


def call(options: argparse.Namespace) -> int:
    names = {Path(name).stem: name for name in PAGES}
    if options.page not in names:
        todo = nearest(options.page, names) or "Leave it out for the first page."
        raise ModelError("shiftjax docs", f"page {options.page!r}", ", ".join(names), todo)
    folder = Path(options.out) if options.out else cache_folder() / "docs"
    try:
        plain_html.write(folder)
    except OSError as error:
        where, reason = f"shiftjax docs, {folder}", error.strerror or str(error)
        raise ModelError(where, reason, "a folder that can be written", "Name one with --out.") from None
    path = (folder / plain_html.address(names[options.page])).resolve()
    if options.print or not webbrowser.open(path.as_uri()):
        common.put(str(path))
    return 0
