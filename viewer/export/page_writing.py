"""The page of a stored study, written by a thread that reads a study of its own, so that a window goes on meanwhile."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.export.page_members import further
from shiftjax.viewer.export.study_numbers import ROWS, numbers_of
from shiftjax.viewer.export.web_page import page_of
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy


class Cancelled(Exception):
    """Somebody does not want the page any more."""


class InterruptibleStudy(ViewedStudy):
    """A study that looks, whenever poses are asked for, whether to go on.

    Attributes:
        look: raises where not.
    """

    look: Callable[[], None] = staticmethod(lambda: None)

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray:
        self.look()
        return super().poses(member, t)


class PageWriting:
    """A page that is being written; the file is there when all of it is.

    Attributes:
        path: of the file.
    """

    def __init__(self, study: ViewedStudy, member: int, others: Sequence[int], scene: Scene, path: Path) -> None:
        """
        Args:
            study: from a store. member: that is solid. others: see-through beside it; without, all kept ones can be
                chosen in the page, or some of them. All of these have poses.
            scene: of the member, as it is shown.
        """
        self.path = path
        self._study, self._member, self._others, self._scene = study, member, [*others], scene
        self._doing, self._message, self._stopped = "reading", "", threading.Event()
        self._thread = threading.Thread(target=self._work, name="shiftjax page", daemon=True)
        self._thread.start()
        atexit.register(self._abandon)

    @property
    def text(self) -> str:
        """What is being done, "" once that has ended."""
        return f"exporting {self.path.name}: {self._doing}" if self._thread.is_alive() else ""

    def cancel(self) -> None:
        """Has it end soon; nothing of it is left."""
        self._stopped.set()

    def outcome(self) -> str:
        """What came of it, "" as long as it goes on."""
        return "" if self._thread.is_alive() else self._message

    def _look(self) -> None:
        if self._stopped.is_set():
            raise Cancelled

    def _abandon(self) -> None:
        """The program ends: no empty file is left."""
        self.cancel()
        self._thread.join()

    def _work(self) -> None:
        try:
            text, remarks = self._page()
            self._doing = "writing"
            self._look()
            self.path.write_text(text, encoding="utf-8")
            self._message = " ".join([f"written: {self.path}", *dict.fromkeys(remarks)])
        except Cancelled:
            self._message = f"not written: {self.path.name}, which was cancelled"
        except (ModelError, OSError) as error:
            self._message = str(error)
        if not self._message.startswith("written"):
            self.path.unlink(missing_ok=True)
        atexit.unregister(self._abandon)

    def _page(self) -> tuple[str, tuple[str, ...]]:
        again = self._study.lacking.resimulation
        assert again is not None, "of a store"
        study = InterruptibleStudy.open(again.store, where=self._study.where)
        assert isinstance(study, InterruptibleStudy)
        study.look, study.titles, study.at_instants = self._look, self._study.titles, self._study.at_instants
        study.lacking.resimulation = again  # with the members that it has in memory
        more, notes = ([], []) if self._others else further(study, self._member)
        members, stored = [self._member, *self._others, *more], MemberScenes(study)
        tracks, scenes = dict[int, np.ndarray](), dict[int, Scene]()
        for k, member in enumerate(members):
            self._doing = f"motion {k + 1} of {len(members)}"
            self._look()
            tracks[member], scenes[member] = study.track(member), stored.scene(member)
        scenes[self._member] = self._scene
        self._doing = f"numbers of {study.members} members"
        numbers = numbers_of(study, ROWS, members)
        self._look()
        self._doing = f"keys of {len(members)} motions"
        return page_of(
            self._scene, study.time, tracks, study.model.name or study.where, scenes=scenes, study=study,
            alone=bool(more), notes=notes, numbers=numbers,
        )  # fmt: skip
