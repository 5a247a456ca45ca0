"""What a server gives of a study: its page, the numbers of all members, the motion of any, and what is new in a store
that grows. Everything but `progress` is called by one thread at a time.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.store import checksums, study_store
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.run.results.labelled import MISSING_TEXT
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.packed_numbers import StudyNumbers, packed
from shiftjax.viewer.export.study_numbers import numbers_of
from shiftjax.viewer.export.web_page import Served, motions_of, page_of
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

SCRIPT, WAITING = "served.js", "it has not run yet"
REPLACED = "The store was replaced while it was served: this is the study that is there now"


@record
class StoreState:
    """How far the study of a store has come: whether it goes on, and how many shards are done."""

    growing: bool
    shards: int


def state_of(place: Path | None) -> StoreState:
    """The state of the store at a place; of what is no study, and without a place, nothing goes on.

    Raises:
        ModelError: no store there, or a damaged one.
    """
    if place is None or place.suffix != ".zarr":
        return StoreState(False, 0)
    about = checksums.attributes_of(place)
    if not study_store.is_study(about):
        return StoreState(False, 0)
    return StoreState(study_store.is_running(about), len(study_store.done(place)))


def _stamp(place: Path) -> tuple[int, ...] | None:
    """Changes where the root of a store is written; None where there is nothing."""
    try:
        folder, root = place.stat(), (place / checksums.METADATA).stat()
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, root.st_ino, root.st_mtime_ns


def _identity(place: Path, stamp: tuple[int, ...]) -> tuple[Any, ...]:
    """Of the store at a place, of that stamp: another one has another folder, or is of another study. A study that
    grows stays one.

    Raises:
        ModelError: a damaged one.
    """
    about = checksums.attributes_of(place)
    words = about[study_store.STUDY_DIGEST] if study_store.is_study(about) else json.dumps(about, sort_keys=True)
    return *stamp[:2], words


def _with_waiting(numbers: StudyNumbers) -> StudyNumbers:
    """The numbers of a study that goes on: of members that have not run, that is said, and not that they failed."""
    waiting = np.array([reason == MISSING_TEXT for reason in numbers.reasons], bool)
    reasons = tuple(WAITING if waits else reason for waits, reason in zip(waiting, numbers.reasons, strict=True))
    return dataclasses.replace(numbers, reasons=reasons, unstarted=numbers.unstarted & ~waiting)


class ServedStudy:
    """A study as a server gives it.

    Attributes:
        study: as it was opened last.
        revision: of its numbers, higher where more members have run.
    """

    def __init__(
        self, study: ViewedStudy, members: Sequence[int], *, place: Path | None = None, alone: bool = False
    ) -> None:
        """
        Args:
            members: whose motion is in the page from the beginning: the first is solid. They have poses.
            place: of the store, where it may grow.
            alone: the first is shown until others are switched on; else these are ghosts beside it.

        Raises:
            ModelError: no member can be drawn.
        """
        self.study, self.revision, self._members, self._place = study, 0, [int(k) for k in members], place
        self._alone = alone or len(members) == 1
        self._state = state_of(place)
        self._stamp = None if place is None else _stamp(place)
        self._identity = None if self._stamp is None or place is None else _identity(place, self._stamp)
        self._since = 0  # the first revision of the store that is there
        self._first_scenes = self._scenes = MemberScenes(study)
        self._script = (files("shiftjax.viewer.web") / SCRIPT).read_text(encoding="utf-8")
        self._notes: list[str] = []
        self._replaced: list[str] = []
        self._noting = threading.Lock()  # guards them
        self._page: tuple[object, str] = (None, "")
        self._numbers: tuple[int, bytes] = (-1, b"")

    @property
    def growing(self) -> bool:
        """Whether more members may come."""
        return self._state.growing

    @property
    def title(self) -> str:
        """Of the page."""
        return self.study.model.name or Path(self.study.where).stem

    def page(self) -> str:
        """The page, with the motion of the first members.

        Raises:
            ModelError: a store that cannot be read.
        """
        version = (self.revision, self.growing)
        if self._page[0] != version:
            scenes = {k: self._scenes.scene(k) for k in self._members}
            tracks = {k: self.study.track(k) for k in self._members}
            about = {"revision": self.revision, "growing": self.growing}
            text, _ = page_of(
                scenes[self._members[0]], self.study.time, tracks, self.title, scenes=scenes, study=self.study,
                alone=self._alone, notes=[*self._replaced, *self._news()], served=Served(self._script, about),
            )  # fmt: skip
            self._page = (version, text)
        return self._page[1]

    def numbers(self) -> bytes:
        """The numbers of all members, see `Pack.block`.

        Raises:
            ModelError: a store that cannot be read.
        """
        if self._numbers[0] != self.revision:
            numbers, pack = numbers_of(self.study, self.study.members), Pack()
            numbers = numbers and _with_waiting(numbers)
            about = {"study": packed(numbers, pack) if numbers else None, "revision": self.revision}
            about["remarks"] = [*numbers.remarks] if numbers else []
            self._numbers = (self.revision, pack.block(about))
        return self._numbers[1]

    # -- one member --------------------------------------------------------------------------------------------------

    def ask(self, member: int) -> None:
        """Has a member simulated again that was not kept, without waiting for it.

        Args:
            member: one of the study.

        Raises:
            ModelError: it has no motion.
        """
        where = f"{self.study.where}: member {member}"
        message = self.study.message(member)
        if int(self.study.status[member]) == int(Outcome.interrupted) and message in ("", MISSING_TEXT):
            raise ModelError(where, "one that has not run", "one that has", "Wait for it, or resume the study.")
        drawable = self.study.drawable([member])
        if not len(drawable.ids):
            raise ModelError(where, "no motion", "a member that started", message or drawable.reason)
        if len(drawable.again):
            self.study.request(drawable.again)

    def awaited(self, member: int) -> bool:
        """Whether a member is being simulated again, none that the present study has not; from any thread."""
        study = self.study
        return member < study.members and study.awaited([member])

    def progress(self) -> str:
        """What is being simulated again and how far it is; from any thread."""
        text, notes = self.study.news()
        with self._noting:
            self._notes += notes
        return f"{text[:1].upper()}{text[1:]}" if text else "Its motion is on its way"

    def _news(self) -> list[str]:
        """What there was to be said of members since the last call, as that one differs from what is stored."""
        self.progress()
        with self._noting:
            notes, self._notes = self._notes, []
        return notes

    def motion(self, member: int) -> bytes:
        """The motion of a member that is there, see `motions_of`.

        Raises:
            ModelError: it could not be simulated again, or a store that cannot be read.
        """
        scene, track = self._scenes.scene(member), self.study.track(member)
        return motions_of(scene, self.study.time, {member: track}, {member: scene}, self.study, self._news())

    # -- a store that grows ------------------------------------------------------------------------------------------

    def renew(self) -> None:
        """Opens the store again where more of its study is done than was, or where another one has taken its place.

        Raises:
            ModelError: a store that cannot be read.
        """
        if self._place is None or (stamp := _stamp(self._place)) is None:
            return  # what was read of a store that was moved away stays
        if stamp == self._stamp and not self.growing:
            return
        identity, state = _identity(self._place, stamp), state_of(self._place)
        replaced = identity != self._identity
        if replaced or state != self._state:
            study = ViewedStudy.open(self._place, where=self.study.where)
            study.at_instants = self.study.at_instants
            if replaced:
                self._take(study)
            else:
                study.lacking.resimulation = self.study.lacking.resimulation  # with what it has in memory
                self.study, self._scenes = study, self._first_scenes.alike(study)
            self._state, self.revision = state, self.revision + 1
            self._since = self.revision if replaced else self._since
        self._stamp, self._identity = stamp, identity

    def _take(self, study: ViewedStudy) -> None:
        """A study of another store: nothing of the one before is of it.

        Raises:
            ModelError: no member of it can be drawn.
        """
        scenes = MemberScenes(study)
        members = [k for k in self._members if k in study.kept] or [scenes.number]
        self.study.close()
        self.study, self._scenes, self._first_scenes, self._members = study, scenes, scenes, members
        self._replaced = [REPLACED]

    def refuse_outdated(self, revision: int | None) -> None:
        """Raises where a page of that revision is of the study that was here before this one."""
        if revision is not None and revision < self._since:
            allowed = "pages of the study that is there now"
            raise ModelError(self.study.where, "a page of the study that was there before", allowed, "Reload the page.")

    def text(self) -> str:
        """How far a study is that grows, "" of others."""
        if not self.growing:
            return ""
        done = int((self.study.status != int(Outcome.interrupted)).sum())
        return f"{done} of {self.study.members} members have run"

    def close(self) -> None:
        """Ends the process that simulates members again."""
        self.study.close()
