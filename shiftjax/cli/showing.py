"""What `view`, `render` and `export` share: which study, which members, how it looks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.ensembles.spec import parse_set
from shiftjax.errors import ModelError
from shiftjax.formats.readers import READERS
from shiftjax.models import names
from shiftjax.viewer import opening
from shiftjax.viewer.camera import VIEWS
from shiftjax.viewer.member_scenes import Design, MemberScenes
from shiftjax.viewer.scene import FAST, RenderSettings, Scene
from shiftjax.viewer.study import Study
from shiftjax.viewer.study_like import StudyLike


def add_beside(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--beside",
        metavar="WHAT",
        help="a second design at the right: the first of a choice in this study, as 3 or worst:1 of kept; another "
        "study or model, STUDY; or of a choice in that one, STUDY@CHOICE",
    )


def add_look(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--size", type=size, default=(1280, 720), metavar="WxH", help="of the picture; default 1280x720")
    add("--view", choices=list(VIEWS), default="iso", help="where the eye stands; default iso")
    add("--no-shadows", action="store_true", help="draw without shadows")
    add("--at-instants", action="store_true", help="draw stored instants only, no poses between them")
    add("--fast", action="store_true", help="plainer pictures for machines without a graphics card")


def new_file(path: str, suffixes: Sequence[str], *, force: bool) -> Path:
    """The place of a file to be written, refused before any time is spent on it.

    Args:
        suffixes: in small letters, which there may be.
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise ModelError(path, f"suffix {target.suffix!r}", known, "The suffix decides the format.")
    if not target.absolute().parent.is_dir():
        raise ModelError(path, "no such folder", "a folder that exists", f"Make {target.parent} first.")
    if target.exists() and not force:
        raise ModelError(path, "something of that name", "a new name", "Use --force to replace it.")
    return target


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


def members_of(study: Study, options: argparse.Namespace) -> tuple[int, np.ndarray]:
    """The member drawn and the ghosts beside it; a choice of which nothing was kept is refused."""
    chosen = kept_of(study, options.member or "kept", "--member")
    ghosts = kept_of(study, options.ghosts, "--ghosts") if options.ghosts else np.zeros(0, np.int64)
    member = int(chosen[0])
    return member, ghosts[ghosts != member]


def kept_of(study: StudyLike, text: str, option: str) -> np.ndarray:
    """The members of a choice that can be drawn; a note tells why others cannot."""
    found = study.drawable(study.choose(text))
    if not len(found.ids):
        kept = ", ".join(map(str, study.kept[:8])) + (" ..." if len(study.kept) > 8 else "")
        todo = "Choose among them, as `worst:5 of kept`, or run again with a larger --keep."
        raise ModelError(f"{option} {text}", found.reason or "no member", f"members {kept}", todo)
    if len(found.missing):
        print(f"note: {option} {text}: {found.reason}", file=sys.stderr)
    return found.ids


@contextmanager
def beside(left: Design, options: argparse.Namespace) -> Iterator[Design | None]:
    """The design of `--beside`: the first member of a choice, within the same study or another one."""
    text: str | None = options.beside
    if text is None:
        yield None
        return
    name, at, choice = text.rpartition("@")
    name, choice = (name, choice) if at else (text, "kept")
    if not _names_a_study(name):
        try:
            found = kept_of(left.study, text, "--beside")
        except ModelError as error:
            allowed = f"STUDY, STUDY@CHOICE or a choice of {left.study.where}: {error.allowed}"
            raise ModelError(f"--beside {text}", error.found, allowed, error.todo) from None
        yield Design(left.scenes, int(found[0]))
        return
    with opening.opened(name, _span(options)) as study:
        study.at_instants = options.at_instants
        right = Design(MemberScenes(study), int(kept_of(study, choice, f"--beside {name}@")[0]))
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
        print(f"warning: {warning}", file=sys.stderr)
