"""What `shiftjax export` draws: an animated glTF or COLLADA file, or a page for any browser; no graphics needed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from shiftjax.cli import common, showing
from shiftjax.cli.progress import Progress
from shiftjax.errors import ModelError
from shiftjax.viewer.export import collada, gltf, web_page
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.packed_numbers import StudyNumbers
from shiftjax.viewer.export.page_members import further
from shiftjax.viewer.export.simulation import page_runs
from shiftjax.viewer.export.study_numbers import ROWS, numbers_of
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy


def write(options: argparse.Namespace) -> None:
    """Writes what --glb, --dae and --html name."""
    wanted = {".glb": options.glb, ".dae": options.dae, ".html": options.html}
    targets = {
        suffix: common.new_file(name, (suffix,), force=options.force)
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
        if ".dae" in targets:
            scenes, model = {k: stored.scene(k) for k in tracks}, study.model_of(member)
            target = targets[".dae"]
            remarks += collada.write_dae(scenes[member], study.time, tracks, target, model, scenes=scenes, study=study)
        if ".html" in targets:
            alone = rows > 0 and not options.ghosts and not options.member
            more, notes = further(study, member) if alone else ([], [])
            tracks |= {k: study.track(k) for k in more}
            scenes = {k: stored.scene(k) for k in tracks}
            numbers = numbers_of(study, rows, list(tracks))
            runs, left_out = simulated(options, study, numbers, stored)
            remarks += web_page.write_html(
                scenes[member], study.time, tracks, targets[".html"], study.model.name or str(options.study),
                scenes=scenes, study=study, alone=bool(more or runs), notes=[*notes, *left_out], numbers=numbers,
                runs=runs,
            )  # fmt: skip
    for remark in dict.fromkeys(remarks):
        common.say(f"note: {remark}")
    for written in targets.values():
        common.say(f"written: {written}")


def simulated(
    options: argparse.Namespace,
    study: ViewedStudy,
    numbers: StudyNumbers | None,
    scenes: MemberScenes,
) -> tuple[Callable[[Pack], dict[str, Any]] | None, list[str]]:
    """What packs the members that a page simulates itself, None where it is not to, and what the page says of that.

    Args:
        numbers: of the table of the page.

    Raises:
        ModelError: a study that a page does not follow, or that is none.
    """
    if options.simulate is None:
        return None, []
    if numbers is None:
        fault = f"{options.study}, of which the page has no table"
        raise ModelError("--simulate", fault, "a stored study of several members", "Leave it out.")
    from shiftjax.ensembles.execution.page_lanes import lane_runs  # it brings jax, which no other page needs

    most = page_runs.SIMULATED if options.simulate is True else options.simulate
    members, notes = page_runs.chosen(numbers.members, numbers.unstarted, most)
    if not members:
        return None, notes
    with Progress("simulating members of the page") as progress:
        channels, free = page_runs.recorded(study), study.free_numbers()
        points, _ = page_runs.bar_ends(study)
        runs = lane_runs(options.study, members, channels, study.nodes[1:], points, free, progress.update)
    if not page_runs.slider_ranges(runs, study):
        reason = (
            runs.designs if isinstance(runs.designs, str) else "the members that it simulates have the same numbers"
        )
        notes.append(f"the page has no sliders for designs: {reason}")
    return lambda pack: page_runs.packed_runs(runs, study, scenes, pack), notes


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
