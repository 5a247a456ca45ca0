"""`shiftjax export`: an animated glTF, or one page that plays in any browser; no graphics needed."""

from __future__ import annotations

import argparse
import sys

from shiftjax.cli import showing
from shiftjax.errors import ModelError
from shiftjax.viewer import opening
from shiftjax.viewer.export import gltf, html
from shiftjax.viewer.member_scenes import MemberScenes


def define(parser: argparse.ArgumentParser) -> None:
    showing.add_study(parser)
    parser.add_argument("--glb", metavar="FILE", help="write an animated glTF (.glb)")
    parser.add_argument("--html", metavar="FILE", help="write one page that plays in a browser (.html)")
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def call(options: argparse.Namespace) -> int:
    wanted = {".glb": options.glb, ".html": options.html}
    targets = {
        suffix: showing.new_file(name, (suffix,), force=options.force)
        for suffix, name in wanted.items()
        if name is not None
    }
    if not targets:
        raise ModelError("export", "neither --glb nor --html", "one of them or both", "Say what to write.")
    with opening.opened(options.study, showing.run_options(options)) as study:
        stored = MemberScenes(study)
        showing.report_warnings(stored.first)
        member, others = showing.members_of(study, options)
        tracks = {k: study.track(k) for k in (member, *map(int, others))}
        scene, scenes = stored.scene(member), {k: stored.scene(k) for k in tracks}
        remarks: tuple[str, ...] = ()
        if ".glb" in targets:
            remarks += gltf.write_glb(scene, study.time, tracks, targets[".glb"], scenes=scenes)
        if ".html" in targets:
            title = study.model.name or str(options.study)
            remarks += html.write_html(scene, study.time, tracks, targets[".html"], title, scenes=scenes)
    for remark in dict.fromkeys(remarks):
        print(f"note: {remark}", file=sys.stderr)
    for written in targets.values():
        print(f"written: {written}", file=sys.stderr)
    return 0
