"""`shiftjax view`: a window on a stored study, or on a model that is run first."""

from __future__ import annotations

import argparse

from shiftjax.cli import showing
from shiftjax.errors import ModelError
from shiftjax.viewer import opening
from shiftjax.viewer.designs import Design
from shiftjax.viewer.gl import context
from shiftjax.viewer.gui import app


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--doctor", action="store_true", help="say what graphics there are, what is missing and its cure"
    )
    showing.add_study(parser, needed=False)
    parser.add_argument("--keys", choices=["playback", "workbench"], default="playback", help="which key map")
    showing.add_beside(parser)
    showing.add_look(parser)


def call(options: argparse.Namespace) -> int:
    if options.doctor:
        print("\n".join(context.report()))
        return 0
    if options.study is None:
        raise ModelError("view", "no study", "a stored study or a model", "Say which, as `shiftjax view four_bar`.")
    with opening.opened(options.study, showing.run_options(options)) as study:
        scene = opening.staged(study)
        showing.say_warnings(scene)
        member, others = showing.members_of(study, options)
        with showing.beside(Design(study, scene, member), options) as beside:
            app.show(study, scene, member=member, ghosts=others, look=showing.look_of(options), keys=options.keys,
                     beside=beside)  # fmt: skip
    return 0
