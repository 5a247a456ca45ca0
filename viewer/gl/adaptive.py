"""Pictures while a hand moves something: drafts, where whole ones would come too seldom. Needs a current GL context."""

from __future__ import annotations

import dataclasses
import time
import warnings

import numpy as np
from OpenGL import GL

from shiftjax.viewer.gl.renderer import PickedPart, Renderer
from shiftjax.viewer.gl.still import StillRenderer
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Snapshot

SLOW = 1 / 60  # s of a whole picture, above which drafts are drawn: the other half of a thirtieth is for all else
IN_TIME = 1 / 90  # s of a draft, above which it is drawn smaller
SHARES = (1.0, 2 / 3, 1 / 2)  # of the sides of drafts in those of the picture
TRIES = 3  # drafts, of which the quickest tells whether they come in time: other work may come between
REST = 0.25  # s in which nothing has moved, after which the whole picture is drawn though the hand is still there
UNSIZED = (64, 64)  # pixels, until the first picture is drawn


class DraftSize:
    """How large drafts are drawn: the largest of SHARES with which they come in time, or the smallest.

    Attributes:
        share: of the sides of a draft in those of the picture.
    """

    def __init__(self) -> None:
        self._step = 0
        self._seconds: list[float] = []

    @property
    def share(self) -> float:
        return SHARES[self._step]

    @property
    def is_measured(self) -> bool:
        """Whether enough is known of drafts of this size."""
        return len(self._seconds) == TRIES

    def measure_again(self) -> None:
        """Another move begins: the scene may be seen from elsewhere."""
        self._seconds = []

    def note(self, seconds: float) -> None:
        """How long a draft of this size took [s]."""
        self._seconds.append(seconds)
        if not self.is_measured:
            return
        quickest, step = min(self._seconds), self._step
        if quickest > IN_TIME and step + 1 < len(SHARES):
            self._step += 1
        elif step and quickest * (SHARES[step - 1] / SHARES[step]) ** 2 < IN_TIME:  # it grows by its pixels at most
            self._step -= 1
        if self._step != step:
            self._seconds = []


class AdaptiveRenderer:
    """Draws whole pictures; while a hand moves something and those are slow, drafts: no shadows, one sample a pixel,
    and where that is slow, too, smaller ones, which are shown enlarged.

    A card that draws at the screen's rate never makes a draft.

    Attributes:
        whole: draws with the settings. shown: which of both has drawn last.
    """

    def __init__(self, scene: Scene, look: RenderSettings) -> None:
        self.whole = StillRenderer(scene, look, UNSIZED)
        self.shown: Renderer = self.whole
        self._draft_look = dataclasses.replace(look, shadows=False, samples=1)
        self._draft: StillRenderer | None = None  # made when it is first needed
        self._draft_size = DraftSize()
        self._seconds = 0.0  # of the last whole picture that was drawn in a move or at its end; 0: not known
        self._changed = 0.0  # when a draft was drawn anew
        self._wanted: tuple[Snapshot, Camera] | None = None

    @property
    def scene(self) -> Scene:
        return self.whole.scene

    def set_scene(self, scene: Scene) -> None:
        """See `Renderer.set_scene`."""
        self.whole.set_scene(scene)
        self._seconds, self._draft_size = 0.0, DraftSize()

    def draw(
        self, snapshot: Snapshot, camera: Camera, size: tuple[int, int], ratio: float, *, moving: bool = False
    ) -> None:
        """Draws a picture of a size.

        Args:
            size: width and height [pixels]. ratio: of those to screen coordinates. moving: whether a hand moves
                something.
        """
        if size != self.whole.size:
            self._seconds, self._draft_size = 0.0, DraftSize()
        self.whole.resize(*size, ratio)
        self._wanted = snapshot, camera
        if moving and self._seconds > SLOW and self._drafted(snapshot, camera):
            return
        begun, after_drafts = time.perf_counter(), self.shown is not self.whole
        self.whole.draw(snapshot, camera)
        self.shown = self.whole
        self._draft_size.measure_again()
        if (moving or after_drafts) and self.whole.fresh:  # or one late picture would make all later moves drafts
            GL.glFinish()  # drivers draw later than they are told to
            self._seconds = time.perf_counter() - begun

    def _drafted(self, snapshot: Snapshot, camera: Camera) -> bool:
        """Whether a draft was drawn; none is where nothing has moved for a while."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lights that are left out: the whole picture says so
            if self._draft is None:
                self._draft = StillRenderer(self.scene, self._draft_look, UNSIZED)
            elif self._draft.scene is not self.scene:
                self._draft.set_scene(self.scene)
        share, (width, height) = self._draft_size.share, self.whole.size
        self._draft.resize(max(round(share * width), 1), max(round(share * height), 1), share * self.whole.ratio, share)
        begun = time.perf_counter()
        self._draft.draw(snapshot, camera)
        if self._draft.fresh and not self._draft_size.is_measured:
            GL.glFinish()
            self._draft_size.note(time.perf_counter() - begun)
        now = time.perf_counter()
        if self._draft.fresh or self.shown is self.whole:
            self._changed = now
        if now - self._changed > REST:
            return False
        self.shown = self._draft
        return True

    def copy_to(self, framebuffer: int, left: int, below: int) -> None:
        """Copies what is shown to a framebuffer, its lower left corner at a pixel; a small draft is enlarged."""
        self.shown.copy_to(framebuffer, left, below, self.whole.size)

    def pick(self, x: float, y: float) -> PickedPart:
        """See `Renderer.pick`; pixels are those of the whole picture, whatever is shown."""
        return self.shown.pick(x, y, self.whole.size)

    def image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the picture that was wanted last, whole; first row on top."""
        if self.shown is not self.whole and self._wanted is not None:
            self.whole.draw(*self._wanted)
        return self.whole.image()

    def release(self) -> None:
        """Frees all GL objects."""
        self.whole.release()
        if self._draft is not None:
            self._draft.release()
