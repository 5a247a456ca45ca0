"""`shiftjax view`: a window on a stored study, on a model that is run first, or on a run that goes on meanwhile; with
`--web` the page of a study over a local server, which needs no graphics: what draws is imported where it is called.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftjax.cli import common, parsing, showing
from shiftjax.ensembles.study.spec import Vary, parse_vary
from shiftjax.errors import ModelError
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.live_channels import followed
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.motion.workbench import WorkbenchSession
from shiftjax.viewer.scene.camera import VIEWS
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.member_scenes import MemberScenes

if TYPE_CHECKING:
    from shiftjax.run.live import Live

STEP = 1e-3  # s


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--doctor", action="store_true", help="say what graphics there are, what is missing and its cure"
    )
    parsing.add_study(parser, needed=False)
    add = parser.add_argument
    add("--web", action="store_true", help="serve the page of the study to a browser of this machine, or by ssh -L")
    add("--port", type=_port, metavar="N", help="of --web: the port; left out, or 0, any that is free")
    add("--live", action="store_true", help="of a model: run it while it is watched, pulled and changed")
    add("--pose", action="store_true", help="a model, or none yet, on the workbench: drag it, change it, run it")
    add("--script", metavar="FILE", help="with --pose: steps that are done first, as the window writes them")
    add("--vary", action="append", default=[], metavar="PATH=low:high", help="live: a slider for this number")
    add("--step", type=parsing.seconds, metavar="H", help="live: step [s]; default 1 ms")
    parsing.add_channel(parser, "of a model: plot this")
    parser.add_argument("--keys", choices=["playback", "workbench"], default="playback", help="which key map")
    showing.add_beside(parser)
    showing.add_camera(parser)
    showing.add_look(parser, files=True)


def _port(text: str) -> int:
    """A port, 0 for any that is free."""
    if text.isascii() and text.isdigit() and int(text) < 1 << 16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port, a whole number from 0 to 65535")


def call(options: argparse.Namespace) -> int:
    if options.web:
        from shiftjax.cli import view_web  # no window, and it brings the server

        return view_web.serve(options)
    if options.port is not None:
        raise ModelError(f"--port {options.port}", "without --web", "a page that is served", "Add --web.")
    if options.doctor:
        from shiftjax.viewer.gl import context

        for line in context.diagnosis():
            common.put(line)
        return 0
    if options.live and options.pose:
        raise ModelError("--pose", "with --live", "one of them", "Leave one of them out.")
    if options.pose:
        return _pose(options)
    if options.study is None:
        raise ModelError("view", "no study", "a stored study or a model", "Say which, as `shiftjax view four_bar`.")
    _of_saved_view(options)
    if options.live and not options.script:
        return _live(options)
    given = [name for name in ("vary", "step") if getattr(options, name)]
    if given:
        raise ModelError(f"--{given[0]}", "without --live", "a live run", "Add --live, or leave it out.")
    if options.script:
        raise ModelError("--script", "without --pose", "a mechanism by hand", "Add --pose, or leave it out.")
    from shiftjax.viewer.gui import app

    with showing.opened(options.study, showing.run_options(options), options.start) as study:
        member, others = showing.members_of(study, options)
        scenes = MemberScenes(study)
        showing.report_warnings(scenes.first)
        note = showing.between_instants(study, member, options)
        with showing.beside(Design(scenes, member), options) as beside:
            choices = _choices(options) | {"member": member, "ghosts": others, "beside": beside}
            app.show(study, scenes.first, note=note, **choices)
    return 0


def _of_saved_view(options: argparse.Namespace) -> None:
    """A saved view in the place of a study: the study that it names, in this view."""
    study = opening.study_of_view(options.study)
    if study and not options.live and options.view == "iso":
        options.study, options.view = study, options.study


def _live(options: argparse.Namespace) -> int:
    """A window on a run that goes on."""
    from shiftjax.viewer.gui import app

    _refuse_stored(options, "--live", ("span", "start", "member", "ghosts", "beside", "hold"))
    sliders = [_slider(text) for text in options.vary]
    live = live_of(options, [slider.path for slider in sliders])
    with Session(live, {s.path: (s.low, s.high) for s in sliders}, options.channel) as session:
        session.history.at_instants = options.at_instants
        scene = MemberScenes(session.history).first
        showing.report_warnings(scene)
        app.show(session.history, scene, live=session, **_choices(options))
    return 0


def _refuse_stored(options: argparse.Namespace, flag: str, names: Sequence[str]) -> None:
    """Raises for a stored study, and for options that only one has."""
    if options.study is not None and opening.is_stored(options.study):
        raise ModelError(options.study, "a stored study", "a model", f"View it without {flag}.")
    if options.view not in VIEWS:
        raise ModelError(f"--view {options.view}", f"with {flag}", "a standard view", "Views are of stored studies.")
    for name in names:
        if getattr(options, name) not in (None, "", []):
            raise ModelError(f"--{name}", f"with {flag}", "other views only", "Leave one of them out.")


def _pose(options: argparse.Namespace) -> int:
    """A window on a model that is posed by hand."""
    taken = ("span", "start", "member", "ghosts", "beside", "hold", "vary", "step", "channel", "drive", "tie", "derive")
    _refuse_stored(options, "--pose", taken)
    if options.study is None and options.view == "iso":
        options.view = "front"  # bars are drawn in a plane of two axes
    from shiftjax.viewer.gui import app

    with workbench_of(options) as session:
        try:
            scene = MemberScenes(session.history).first
            showing.report_warnings(scene)
            app.show(session.history, scene, live=session, **_choices(options))
        finally:
            try:
                written = session.close_saving(Path.cwd())
            except (ModelError, OSError) as error:
                written = f"not written: {error}\nwhat was done:\n{session.script}"
            if written:
                common.say(written)
    return 0


def workbench_of(options: argparse.Namespace) -> WorkbenchSession:
    """The model on the workbench, as the options change it; without one, an empty one."""
    from shiftjax.editing.workbench import Workbench, steps_in_words  # they bring jax, without which a study is viewed
    from shiftjax.ensembles.variants import sweep_variants
    from shiftjax.run.info import info
    from shiftjax.run.live import Live

    model = None if options.study is None else common.open_model(options, options.study)
    changes = {} if model is None else common.assigned(options, model)
    helpers = Helpers(
        run=lambda posed: Live(posed, step=STEP), report=info, variants=sweep_variants, help=steps_in_words()
    )
    bench = Workbench(model)
    if changes:
        bench.do("set", changes)
    if options.script is not None:
        bench.replay(_script(options.script))
    return WorkbenchSession(bench, helpers)


def _script(file: str) -> str:
    """The text of a script.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        todo = "Name a file that the window wrote, NAME_posed.txt."
        raise ModelError(f"--script {file}", str(error), "a text file of steps, one a line", todo) from None


def live_of(options: argparse.Namespace, varied: Sequence[str]) -> Live:
    """The run that is watched, as the options change it; numbers of some paths have sliders."""
    from shiftjax.run.live import Live  # it brings jax, without which a stored study is viewed

    model = common.open_model(options, options.study)
    changes, derive = common.assigned(options, model), common.entries(options.derive, "--derive")
    model = model.replace(changes) if changes else model
    common.say(f"compiling {model.name or options.study} ...")
    wanted = {"channels": followed(model, options.channel), "step": options.step or STEP}
    wanted |= {"drive": common.drives(options), "tie": common.entries(options.tie, "--tie") or None}
    return Live(model, varied, derive=derive, **wanted)


def _choices(options: argparse.Namespace) -> dict[str, Any]:
    """What stored and running studies have in common in the window."""
    camera = {"follow": options.follow or "", "ground": options.ground}
    camera |= {"view": options.view} if options.view in VIEWS else {"saved": options.view}
    return {"look": showing.look_of(options), "keys": options.keys, "size": options.size, **camera}


def _slider(text: str) -> Vary:
    """A `--vary` that says where a slider begins and ends."""
    varied = parse_vary(text)
    if varied.points or varied.distribution != "uniform":
        raise ModelError(f"--vary {varied.path}", text, "PATH=low:high with --live", "A slider has two ends only.")
    return varied.in_si()
