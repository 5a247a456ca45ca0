"""What `shiftjax export` draws: an animated glTF, or one page that plays in any browser; no graphics needed."""

from __future__ import annotations

import argparse

from shiftjax.cli import common, showing
from shiftjax.viewer.export import gltf, web_page
from shiftjax.viewer.study.member_scenes import MemberScenes


def write(options: argparse.Namespace) -> None:
    """Writes what --glb and --html name."""
    wanted = {".glb": options.glb, ".html": options.html}
    targets = {
        suffix: showing.new_file(name, (suffix,), force=options.force)
        for suffix, name in wanted.items()
        if name is not None
    }
    with showing.opened(options.study, showing.run_options(options), options.start) as study:
        member, others = showing.members_of(study, options)
        stored = MemberScenes(study)
        showing.report_warnings(stored.first)
        tracks = {k: study.track(k) for k in (member, *map(int, others))}
        scene, scenes = stored.scene(member), {k: stored.scene(k) for k in tracks}
        remarks: tuple[str, ...] = ()
        if ".glb" in targets:
            remarks += gltf.write_glb(scene, study.time, tracks, targets[".glb"], scenes=scenes, study=study)
        if ".html" in targets:
            title = study.model.name or str(options.study)
            remarks += web_page.write_html(
                scene, study.time, tracks, targets[".html"], title, scenes=scenes, study=study
            )
    for remark in dict.fromkeys(remarks):
        common.say(f"note: {remark}")
    for written in targets.values():
        common.say(f"written: {written}")
