"""`shiftjax view --web`: the page of a study over a local server, for browsers of this machine or through `ssh -L`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shiftjax.cli import common, showing
from shiftjax.cli.ending import Terminated
from shiftjax.ensembles.optimization.store_kind import is_optimization
from shiftjax.errors import ModelError
from shiftjax.viewer.scene.camera import VIEWS
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.web.served_study import ServedStudy, state_of
from shiftjax.viewer.web.server import PageServer, forwarding

WINDOW = {  # options that say nothing of a page, with what they are where they are left out
    "doctor": False, "live": False, "pose": False, "script": None, "vary": [], "step": None, "keys": "playback",
    "beside": None, "size": (1280, 720), "no_shadows": False, "at_instants": False, "fast": False, "follow": None,
    "ground": None,
}  # fmt: skip


def serve(options: argparse.Namespace) -> int:
    """Serves until Ctrl-C; what was given is told then.

    Raises:
        ModelError: options of the window; a study of which nothing can be drawn; a port in use.
    """
    for name, left_out in WINDOW.items():
        if getattr(options, name) != left_out:
            flag = f"--{name.replace('_', '-')}"
            raise ModelError(flag, "with --web", "the window", f"Leave {flag} out, or --web.")
    if options.view not in VIEWS:
        raise ModelError(f"--view {options.view}", "with --web", ", ".join(VIEWS), "Saved views are of the window.")
    if options.study is None:
        raise ModelError("view --web", "no study", "a stored study or a model", "Say which, as `four_bar`.")
    lasting = opening.is_stored(options.study) and not is_optimization(Path(options.study))
    place = Path(options.study) if lasting else None  # that may grow
    _refuse_unbegun(place)
    with showing.opened(options.study, showing.run_options(options), options.start) as study:
        _serve(study, place, options)
    return 0


def _refuse_unbegun(place: Path | None) -> None:
    """Raises where a study goes on of which no member has run yet: there is nothing to draw."""
    state = state_of(place)
    if state.growing and not state.shards:
        raise ModelError(
            str(place), "a study none of whose members has run", "one of which some have", "Wait a little."
        )


def _serve(study: ViewedStudy, place: Path | None, options: argparse.Namespace) -> None:
    member, others = showing.members_of(study, options)
    showing.between_instants(study, member, options)
    served = ServedStudy(study, [member, *others.tolist()], place=place)
    server = PageServer(served, options.port or 0, tell=common.say)
    try:
        common.put(server.address + _fragment(options, member))
        sys.stdout.flush()  # whoever reads it through a pipe waits for it
        common.say("Only who has this address, with its token, is answered; it ends with Ctrl-C.")
        common.say(f"For a browser on another machine, run there first: {forwarding(server.port)}")
        server.wait()
    except Terminated:
        raise
    except KeyboardInterrupt:  # how a server ends
        pass
    finally:
        server.stop()
        common.say(server.summary())


def _fragment(options: argparse.Namespace, member: int) -> str:
    """What the page opens with, as its address says it."""
    words = [f"member={member}"] if options.member else []
    words += [f"view={options.view}"] if options.view != "iso" else []
    return f"#{'&'.join(words)}" if words else ""
