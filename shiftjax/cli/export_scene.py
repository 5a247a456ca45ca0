"""What `shiftjax export` draws: an animated glTF, or one page that plays in any browser; no graphics needed."""

from __future__ import annotations

import argparse

from shiftjax.cli import common, showing
from shiftjax.errors import ModelError
from shiftjax.spacing import evenly_spaced
from shiftjax.viewer.export import gltf, web_page
from shiftjax.viewer.export.study_numbers import ROWS, numbers_of
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

MOTIONS = 12  # in the page of a study that is not told which; 50 kB each


def write(options: argparse.Namespace) -> None:
    """Writes what --glb and --html name."""
    wanted = {".glb": options.glb, ".html": options.html}
    targets = {
        suffix: showing.new_file(name, (suffix,), force=options.force)
        for suffix, name in wanted.items()
        if name is not None
    }
    rows = _rows(options)
    with showing.opened(options.study, showing.run_options(options), options.start) as study:
        member, others = showing.members_of(study, options)
        stored = MemberScenes(study)
        showing.report_warnings(stored.first)
        tracks = {k: study.track(k) for k in (member, *map(int, others))}
        remarks: tuple[str, ...] = ()
        if ".glb" in targets:
            scenes = {k: stored.scene(k) for k in tracks}
            target = targets[".glb"]
            remarks += gltf.write_glb(scenes[member], study.time, tracks, target, scenes=scenes, study=study)
        if ".html" in targets:
            further = rows > 0 and not options.ghosts and not options.member
            more, notes = _further(study, member) if further else ([], [])
            tracks |= {k: study.track(k) for k in more}
            scenes = {k: stored.scene(k) for k in tracks}
            numbers = numbers_of(study, rows, list(tracks))
            remarks += web_page.write_html(
                scenes[member], study.time, tracks, targets[".html"], study.model.name or str(options.study),
                scenes=scenes, study=study, alone=bool(more), notes=notes, numbers=numbers,
            )  # fmt: skip
    for remark in dict.fromkeys(remarks):
        common.say(f"note: {remark}")
    for written in targets.values():
        common.say(f"written: {written}")


def _rows(options: argparse.Namespace) -> int:
    """Members whose numbers are in the page at most; none of a model.

    Raises:
        ModelError: a number is given for a model.
    """
    if opening.is_stored(options.study):
        return ROWS if options.rows is None else options.rows
    if options.rows is not None:
        raise ModelError(f"--rows {options.rows}", f"with the model {options.study}", "a stored study", "Leave it out.")
    return 0


def _further(study: ViewedStudy, member: int) -> tuple[list[int], list[str]]:
    """Members whose motion is in the page of a study beside the one that is shown: of those that were kept all, or some
    evenly spaced ones, and what the page says of that."""
    able = study.drawable(study.kept).ids
    chosen = able[evenly_spaced(len(able), MOTIONS)]
    notes = [f"{len(chosen)} of {len(able)} kept members move in this page"] if len(chosen) < len(able) else []
    return [int(k) for k in chosen if k != member], notes
