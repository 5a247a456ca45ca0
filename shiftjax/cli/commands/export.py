"""`shiftjax export`: members as a table, the whole store as NetCDF, or a motion as glTF, COLLADA or a page."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from shiftjax.cli import common, parsing
from shiftjax.ensembles.optimization.store_kind import is_optimization, refuse_start
from shiftjax.ensembles.store import store, tables
from shiftjax.errors import ModelError


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_study(parser)
    add = parser.add_argument
    add("--csv", metavar="FILE", help="write the table of members (.csv): design, metrics, accuracy, status")
    add("--parquet", metavar="FILE", help="the same as Parquet (.parquet), units in the metadata")
    add("--netcdf", metavar="FILE", help="write the whole store as NetCDF (.nc)")
    add("--glb", metavar="FILE", help="write an animated glTF (.glb)")
    add("--dae", metavar="FILE", help="write an animated COLLADA file (.dae), which is read as the model, too")
    add(
        "--html",
        metavar="FILE",
        help="write one page for a browser (.html): motions, and all members of a stored study",
    )
    line = "of --html of a stored study: members whose numbers are in the page, of more as many at random; 0 for none"
    add("--rows", type=_rows, metavar="N", help=f"{line}; default 50000")
    line = "of --html of a stored study: members that the page simulates itself when they are chosen, of more as many"
    add("--simulate", type=_rows, nargs="?", const=True, metavar="N", help=f"{line} evenly spaced; without N 1000")
    add("--force", action="store_true", help="replace FILE where it exists")


def call(options: argparse.Namespace) -> int:
    wanted = {".csv": options.csv, ".parquet": options.parquet, ".nc": options.netcdf}
    targets = {
        suffix: tables.check_target(name, suffix, force=options.force)
        for suffix, name in wanted.items()
        if name is not None
    }
    drawn = any(name is not None for name in (options.glb, options.dae, options.html))
    if not targets and not drawn:
        allowed = "--csv, --parquet, --netcdf, --glb, --dae, --html, one or several"
        raise ModelError("export", "no file to write", allowed, "Say what to write.")
    if options.rows is not None and options.html is None:
        raise ModelError("--rows", "without --html", "a page of a stored study", "Add --html, or leave it out.")
    if options.simulate is not None and options.html is None:
        raise ModelError("--simulate", "without --html", "a page of a stored study", "Add --html, or leave it out.")
    if targets:
        mistake = "with --csv, --parquet or --netcdf, which are of stored studies"
        common.refuse(options, ("span", *parsing.CHANGES), mistake, "--glb, --dae or --html of a model")
        with _stored(options.study, options.start) as place:
            tree = store.read(place)
            for target in targets.values():
                tables.export(tree, target, force=options.force)
                common.say(f"written: {target}")
    if drawn:
        from shiftjax.cli import export_scene  # it brings the viewer's packages, which tables do not need

        export_scene.write(options)
    return 0


def _rows(text: str) -> int:
    """A whole number from 0."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")


def _stored(name: str, start: str) -> AbstractContextManager[str | Path]:
    """The store of that name; of an optimisation one of its designs, which another process runs."""
    if not is_optimization(Path(name)):
        refuse_start(name, start)
        return nullcontext(name)
    common.say(f"simulating the designs of {name} ...")
    from shiftjax.ensembles.optimization import trail  # takes 1.5 s, for no other store

    return trail.simulated(name, start=start)
