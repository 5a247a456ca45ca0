"""What `view`, `render` and `export` share: which study, which members, how it looks."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.progress import Progress
from shiftjax.ensembles.optimization.store_kind import is_optimization
from shiftjax.ensembles.study.spec import parse_set
from shiftjax.errors import ModelError
from shiftjax.formats.readers import READERS
from shiftjax.models import names
from shiftjax.viewer.export.pose_tracks import WIDE_TURN, widest_turn
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.scene.camera import VIEWS
from shiftjax.viewer.scene.scene import FAST, RenderSettings, Scene
from shiftjax.viewer.study import member_scenes, opening
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.resimulation import named
from shiftjax.viewer.study.study import ViewedStudy

FEWEST = 5  # instants from which poses between them follow


def add_beside(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--beside",
        metavar="WHAT",
        help="a second design at the right: the first of a choice in this study, as 3 or worst:1 of kept; another "
        "study or model, STUDY; or of a choice in that one, STUDY@CHOICE",
    )


def add_look(parser: argparse.ArgumentParser, *, files: bool = False) -> None:
    """files: whether `--view` may be a file of the window."""
    add = parser.add_argument
    add("--size", type=size, default=(1280, 720), metavar="WxH", help="of the picture; default 1280x720")
    if files:
        words = f"where the eye stands: {', '.join(VIEWS)}; or a view saved by the window, NAME.json; default iso"
        add("--view", type=_view, default="iso", metavar="WHAT", help=words)
    else:
        add("--view", choices=list(VIEWS), default="iso", help="where the eye stands; default iso")
    add("--no-shadows", action="store_true", help="draw without shadows")
    add("--at-instants", action="store_true", help="draw stored instants only, no poses between them")
    add("--fast", action="store_true", help="plainer pictures for machines without a graphics card")


def add_camera(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--follow", metavar="BODY", help="move the camera with a body, or with all")
    add("--ground", type=float, metavar="Z", help="height of the ground [m]; default: the lowest point of the motion")


def _view(text: str) -> str:
    """A standard view or the name of a file."""
    if text in VIEWS or text.lower().endswith(".json"):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(VIEWS)}, and no NAME.json")


def size(text: str) -> tuple[int, int]:
    """WIDTHxHEIGHT."""
    parts = text.lower().split("x")
    if len(parts) == 2 and all(p.isascii() and p.isdigit() for p in parts):
        width, height = int(parts[0]), int(parts[1])
        if 16 <= width <= 8192 and 16 <= height <= 8192:
            return width, height
    raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT with both from 16 to 8192")


def run_options(options: argparse.Namespace) -> list[str]:
    """What goes to `shiftjax run` where the study is a model.

    Raises:
        ModelError: an option that says nothing of a stored study, or cannot be read; no time is spent before.
    """
    changes = [name for name in ("channel", *parsing.CHANGES) if getattr(options, name, [])]
    if opening.is_stored(options.study):
        spans = [] if _is_model_beside(options) else ["span"]
        common.refuse(options, [*spans, *changes], f"with the stored study {options.study}", "a model")
        return []
    common.drives(options)
    common.entries(options.derive, "--derive")
    for text in options.set:
        parse_set(text)
    words = (word for name in changes for text in getattr(options, name) for word in (f"--{name}", text))
    return [*_span(options), *words]


def _span(options: argparse.Namespace) -> list[str]:
    """What goes to `shiftjax run` of whatever model is shown."""
    return [] if options.span is None else ["--span", str(options.span)]


def look_of(options: argparse.Namespace) -> RenderSettings:
    return replace(FAST if options.fast else RenderSettings(), shadows=not options.no_shadows)


@contextmanager
def opened(name: str, words: Sequence[str], start: str = "") -> Iterator[ViewedStudy]:
    """The study of that name, see `opening.opened`, with a line and a bar while designs of an optimisation are run."""
    with ExitStack() as stack:
        if not is_optimization(Path(name)):
            yield stack.enter_context(opening.opened(name, words, start=start))
            return
        common.say(f"simulating the designs of {name} ...")
        with Progress("simulating designs") as progress:
            study = stack.enter_context(opening.opened(name, words, progress.update, start))
        yield study


def members_of(study: ViewedStudy, options: argparse.Namespace) -> tuple[int, np.ndarray]:
    """The member drawn and the ghosts beside it, simulated again where their trajectories were not kept; a choice of
    which nothing can be drawn is refused."""
    member = first_of(study, options.member, "--member")
    ghosts = drawable_of(study, options.ghosts, "--ghosts") if options.ghosts else np.zeros(0, np.int64)
    prepare(study, [member, *ghosts.tolist()])
    return member, ghosts[ghosts != member]


def first_of(study: StudyLike, text: str | None, option: str) -> int:
    """The first member of a choice that can be drawn; without one the first that was kept, else of all."""
    text = text or ("kept" if len(study.kept) else "all")
    first = study.drawable(study.choose(text)[:1]).ids
    if not len(first):
        return int(drawable_of(study, text, option)[0])
    say_assumed(study, text, option)
    return int(first[0])


def say_assumed(study: StudyLike, text: str, option: str) -> None:
    """Says what a choice assumes of what is good, where the study says nothing of it."""
    if note := study.assumed(text):
        common.say(f"note: {option} {text}: {note}")


def drawable_of(study: StudyLike, text: str, option: str) -> np.ndarray:
    """The members of a choice that can be drawn, simulated again or not; a note tells why others cannot."""
    say_assumed(study, text, option)
    drawable = study.drawable(study.choose(text))
    if not len(drawable.ids):
        recorded = ", ".join(map(str, study.kept[:8])) + (" ..." if len(study.kept) > 8 else "")
        todo = "Choose others, as `not failed`, or run again with a larger --keep."
        raise ModelError(
            f"{option} {text}", drawable.reason or "no member", f"members {recorded or 'that started'}", todo
        )
    if len(drawable.missing):
        common.say(f"note: {option} {text}: {drawable.reason}")
    return drawable.ids


def prepare(study: StudyLike, members: Sequence[int]) -> None:
    """Waits until members have poses, with a line and a bar of how far the simulation of the others is."""
    again = [int(member) for member in dict.fromkeys(members) if member not in study.kept]
    again = [member for member in again if member not in study.simulated]
    if again:
        what = f"simulating {named(again)} again"
        common.say(f"{what} ...")
        with Progress(what) as progress:
            study.prepare(again, progress.update)
        for note in study.news()[1]:
            common.say(f"warning: {note}")


@contextmanager
def beside(left: Design, options: argparse.Namespace) -> Iterator[Design | None]:
    """The design of `--beside`: the first member of a choice, within the same study or another one. The first design of
    an optimisation has its last one beside it, unless the options say what is shown."""
    text: str | None = options.beside
    if text is None:
        yield None if options.member or options.ghosts else member_scenes.last_beside(left.scenes)
        return
    name, at, choice = text.rpartition("@")
    name, choice = (name, choice) if at else (text, "")
    if not _names_a_study(name):
        try:
            second = first_of(left.study, text, "--beside")
        except ModelError as error:
            allowed = f"STUDY, STUDY@CHOICE or a choice of {left.study.where}: {error.allowed}"
            raise ModelError(f"--beside {text}", error.found, allowed, error.todo) from None
        prepare(left.study, [second])
        yield Design(left.scenes, second)
        return
    with opened(name, _span(options)) as study:
        study.at_instants = options.at_instants
        member = first_of(study, choice, f"--beside {name}@")
        prepare(study, [member])
        right = Design(MemberScenes(study), member)
        report_warnings(right.scene)
        yield right


def _is_model_beside(options: argparse.Namespace) -> bool:
    """Whether `--beside` names a model, which is run as long as `--span` says."""
    text: str = getattr(options, "beside", None) or ""
    name = text.rpartition("@")[0] or text
    return _names_a_study(name) and not opening.is_stored(name)


def _names_a_study(text: str) -> bool:
    """Whether a text is a model or a file; no choice of members looks like one."""
    return text in names() or Path(text).suffix.lower() in (".zarr", ".csv", *READERS)


def report_warnings(scene: Scene) -> None:
    for warning in scene.warnings:
        common.say(f"warning: {warning}")


def between_instants(study: ViewedStudy, member: int, options: argparse.Namespace) -> str:
    """Whether poses between stored instants are shown: as the options say, and not of a study that has too few.

    Returns:
        a note where they may be others than are drawn, "" else; it is printed, too.
    """
    few = len(study.time) < FEWEST
    study.at_instants = options.at_instants or few
    turn, note = widest_turn(study.track(member)), ""
    if few:
        note = f"{len(study.time)} instants are stored and nothing between them is known: only they are shown"
    elif turn > WIDE_TURN:
        note = f"a body of {study.title(member)} turns by {math.degrees(turn):.0f} degrees from one instant to the next"
        note += ": whole turns between them are not seen"
    if note:
        note += "; run again with a smaller --output-step, such as 0.02"
        common.say(f"note: {note}")
    return note
