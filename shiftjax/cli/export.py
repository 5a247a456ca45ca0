"""`shiftjax export`: an animated glTF, or one page that plays in any browser; no graphics needed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shiftjax.cli import showing
from shiftjax.errors import ModelError
from shiftjax.viewer import opening
from shiftjax.viewer.export import gltf, html


def define(parser: argparse.ArgumentParser) -> None:
    showing.add_study(parser)
    parser.add_argument("--glb", metavar="FILE", help="write an animated glTF (.glb)")
    parser.add_argument("--html", metavar="FILE", help="write one page that plays in a browser (.html)")
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def call(options: argparse.Namespace) -> int:
    targets = {suffix: target(getattr(options, suffix[1:]), suffix, options.force) for suffix in (".glb", ".html")}
    if not any(targets.values()):
        raise ModelError("export", "neither --glb nor --html", "one of them or both", "Say what to write.")
    with opening.opened(options.study, showing.run_options(options)) as study:
        scene = opening.staged(study)
        showing.say_warnings(scene)
        member, others = showing.members_of(study, options)
        tracks = {k: study.track(k) for k in (member, *map(int, others))}
        remarks: tuple[str, ...] = ()
        if targets[".glb"]:
            remarks += gltf.write_glb(scene, study.time, tracks, targets[".glb"])
        if targets[".html"]:
            title = study.model.name or str(options.study)
            remarks += html.write_html(scene, study.time, tracks, targets[".html"], title)
    for remark in dict.fromkeys(remarks):
        print(f"note: {remark}", file=sys.stderr)
    for written in filter(None, targets.values()):
        print(f"written: {written}", file=sys.stderr)
    return 0


def target(name: str | None, suffix: str, force: bool) -> Path | None:
    """Where to write, refused before any time is spent."""
    if name is None:
        return None
    path = Path(name)
    if path.suffix.lower() != suffix:
        raise ModelError(f"--{suffix[1:]} {name}", f"suffix {path.suffix!r}", suffix, f"Write to NAME{suffix}.")
    if not path.absolute().parent.is_dir():
        raise ModelError(name, "no such folder", "a folder that exists", f"Make {path.parent} first.")
    if path.exists() and not force:
        raise ModelError(name, "something of that name", "a new name", "Use --force to replace it.")
    return path
