"""Pictures while a hand moves something: drafts, where whole ones would come too seldom. Needs a current GL context."""

from __future__ import annotations

import dataclasses
import time
import warnings

import numpy as np
from OpenGL import GL

from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gl.still import StillRenderer
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Snapshot

SLOW = 1 / 30  # s of a whole picture, above which drafts are drawn meanwhile
REST = 0.25  # s in which nothing has moved, after which the whole picture is drawn though the hand is still there
UNSIZED = (64, 64)  # pixels, until the first picture is drawn


class AdaptiveRenderer:
    """Draws whole pictures; while a hand moves something and those are slow, drafts: no shadows, one sample a pixel.

    With a software renderer a draft takes a quarter of the time of a whole picture (docs/editing.md). A card that draws
    at the screen's rate never makes one.

    Attributes:
        whole: draws with the settings. shown: which of both has drawn last.
    """

    def __init__(self, scene: Scene, look: RenderSettings) -> None:
        self.whole = StillRenderer(scene, look, UNSIZED)
        self.shown: Renderer = self.whole
        self._draft_look = dataclasses.replace(look, shadows=False, samples=1)
        self._draft: StillRenderer | None = None  # made when it is first needed
        self._seconds = 0.0  # of the last whole picture that was drawn while a hand moved something; 0: not known
        self._changed = 0.0  # when a draft was drawn anew
        self._wanted: tuple[Snapshot, Camera] | None = None

    @property
    def scene(self) -> Scene:
        return self.whole.scene

    def set_scene(self, scene: Scene) -> None:
        """See `Renderer.set_scene`."""
        self.whole.set_scene(scene)
        self._seconds = 0.0

    def draw(
        self, snapshot: Snapshot, camera: Camera, size: tuple[int, int], ratio: float, *, moving: bool = False
    ) -> None:
        """Draws a picture of a size.

        Args:
            size: width and height [pixels]. ratio: of those to screen coordinates. moving: whether a hand moves
                something.
        """
        if size != self.whole.size:
            self._seconds = 0.0
        self.whole.resize(*size, ratio)
        self._wanted = snapshot, camera
        if moving and self._seconds > SLOW and self._drafted(snapshot, camera):
            return
        begun = time.perf_counter()
        self.whole.draw(snapshot, camera)
        self.shown = self.whole
        if moving and self.whole.fresh:
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
        self._draft.resize(*self.whole.size, self.whole.ratio)
        self._draft.draw(snapshot, camera)
        now = time.perf_counter()
        if self._draft.fresh or self.shown is self.whole:
            self._changed = now
        if now - self._changed > REST:
            return False
        self.shown = self._draft
        return True

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
