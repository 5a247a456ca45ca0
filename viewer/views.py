"""A result or a stored study as a page for notebooks, browsers and windows: what the methods `view` give."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError, need_count, wrong
from shiftjax.record import record
from shiftjax.run.results.result import Result
from shiftjax.viewer.export.study_numbers import numbers_of
from shiftjax.viewer.export.web_page import page_of
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

MOST_MEMBERS = 12  # of a page, which holds the motion of each
LOWEST = 200  # pixels


@record
class View:
    """A moving picture of members of a study, as one page with sliders for member and time.

    In a notebook it is shown where a cell ends with it. Elsewhere `show` opens it in the browser, `window` opens the
    window of `shiftjax view`, which also picks, measures and compares; `save` writes the page.

    Attributes:
        title: the model's name.
        members: their numbers, in the order of the slider.
        page: the whole page, HTML that needs nothing else.
        remarks: what is left out, for the reader.
        height: of the frame in a notebook [pixels].
    """

    title: str
    members: tuple[int, ...]
    page: str
    remarks: tuple[str, ...]
    height: int
    source: Result | Path

    def __repr__(self) -> str:
        numbers = ", ".join(map(str, self.members[:6])) + (", ..." if len(self.members) > 6 else "")
        what = f"members {numbers}" if len(self.members) > 1 else f"member {numbers}"
        return f"View({self.title}: {what}; .show() opens a browser, .window() a window, .save(path) writes the page)"

    def _repr_html_(self) -> str:
        inside = self.page.replace("&", "&amp;").replace('"', "&quot;")
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" width="100%" height="{self.height}" '
            f'style="border:1px solid #c8d1db;border-radius:6px" srcdoc="{inside}"></iframe>'
        )

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the page, NAME.html, which plays in any browser.

        Raises:
            ModelError: another suffix, no such folder, or a file of that name without `force`.
        """
        target = Path(path)
        if target.suffix.lower() != ".html":
            raise ModelError(str(path), f"suffix {target.suffix!r}", ".html", "Name the page NAME.html.")
        if not target.absolute().parent.is_dir():
            raise ModelError(str(path), "no such folder", "a folder that exists", f"Make {target.parent} first.")
        if target.exists() and not force:
            raise ModelError(str(path), "something of that name", "a new name", "Use force=True to replace it.")
        target.write_text(self.page, encoding="utf-8")
        return target

    def show(self) -> Path:
        """Opens the page in the browser of this machine; returns the file that it is in, which stays there."""
        target = Path(tempfile.mkdtemp(prefix="shiftjax-")) / "view.html"
        self.save(target)
        webbrowser.open(target.as_uri())
        return target

    def window(self, *options: str) -> None:
        """Opens the window of `shiftjax view` on the first member and returns when it is closed.

        Args:
            options: of that command, as "--fast".

        Raises:
            ModelError: the window cannot be opened, as where there is no display.
        """
        with tempfile.TemporaryDirectory(prefix="shiftjax-") as folder:
            stored = self.source if isinstance(self.source, Path) else store.write(self.source, f"{folder}/run.zarr")
            words = ["view", str(stored), "--member", str(self.members[0]), *options]
            done = subprocess.run(
                [sys.executable, "-m", "shiftjax", *words], stderr=subprocess.PIPE, text=True, check=False
            )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
            raise ModelError("window", reason, "a machine with a display", "Look at `shiftjax view --doctor`.")


def view(what: Result | str | Path, members: int | str | Sequence[int], height: int, rows: int = 0) -> View:
    """The page of a result, or of a stored study.

    Args:
        what: a result in memory, or the path of a store.
        members: a choice as of `shiftjax view --member`, as "worst:5 of kept", or numbers; "" for those whose poses
            were kept, or the first one of a store that kept none. Of many that can be drawn the page holds the first
            `MOST_MEMBERS`. What was not kept is simulated again by another process.
        height: of the frame [pixels].
        rows: of a store: members whose numbers are in the page at most, see `numbers_of`.

    Raises:
        ModelError: a height below `LOWEST`, rows below 0, no such member, none that can be drawn, no store.
    """
    need_count("view: height", height, LOWEST)
    need_count("view: rows", rows, 0)
    if not isinstance(what, Result):
        return _view(ViewedStudy.open(what), Path(what), members, height, rows)
    if len(what.poses) or not any(True for _ in what.model.bodies()):
        return _view(ViewedStudy.of(what), what, members, height)
    with tempfile.TemporaryDirectory(prefix="shiftjax-") as folder:  # read by the process that simulates again
        return _view(ViewedStudy.open(store.write(what, f"{folder}/result.zarr")), what, members, height)


def _view(
    study: ViewedStudy, source: Result | Path, members: int | str | Sequence[int], height: int, rows: int = 0
) -> View:
    drawable = study.drawable(wanted(study, members))
    if not len(drawable.ids):
        why = study.message(int(drawable.missing[0])) if len(drawable.missing) else ""
        where = f"view: members {members}" if members != "" else "view"
        raise ModelError(where, drawable.reason or "no member", "members that started", why or "Choose others.")
    chosen = [int(member) for member in drawable.ids[:MOST_MEMBERS]]
    try:
        study.prepare(chosen)
    finally:
        study.close()
    stored = MemberScenes(study)
    scenes, tracks = {k: stored.scene(k) for k in chosen}, {k: study.track(k) for k in chosen}
    title = study.model.name or (source.stem if isinstance(source, Path) else "model")
    numbers = numbers_of(study, rows, chosen)
    what = "members" if numbers is None else "members move in this page"
    few = [f"{len(chosen)} of {len(drawable.ids)} {what}"] if len(chosen) < len(drawable.ids) else []
    notes = [*few, *([drawable.reason] if len(drawable.missing) else []), *study.news()[1]]
    notes += [study.assumed(members)] if isinstance(members, str) and study.assumed(members) else []
    page, remarks = page_of(
        scenes[chosen[0]], study.time, tracks, title, scenes=scenes, study=study, alone=True, notes=notes,
        numbers=numbers,
    )  # fmt: skip
    return View(title, tuple(chosen), page, remarks, height, source)


def wanted(study: ViewedStudy, members: int | str | Sequence[int]) -> np.ndarray:
    """(k,) numbers of the members that are asked for."""
    if not isinstance(members, str):
        try:
            chosen = np.atleast_1d(np.asarray(members))
        except (ValueError, TypeError, MemoryError):  # lists of several lengths, what JAX traces, `range(10**12)`
            chosen = np.zeros((0, 0))
        if chosen.ndim > 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise wrong("view: members", members, "a choice of members, as text, or their numbers")
        return chosen.astype(np.int64)
    if members:
        return study.choose(members)
    return study.kept if len(study.kept) else study.choose("all")[:1]
