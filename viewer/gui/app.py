"""The window on a study: GLFW, its events, and the loop. Everything happens on the main thread.

A user loop adds poses to a `History` and calls `Window.frame`:

    with Window(history, MemberScenes(history).first) as window:
        while window.frame():
            ...
            history.add(time, poses)
            window.state.go_to(time)
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from shiftjax.errors import ModelError, printable
from shiftjax.viewer.gui.actions import additions, looking
from shiftjax.viewer.gui.actions.members.beside import open_beside
from shiftjax.viewer.gui.actions.saving import reopening as replacing
from shiftjax.viewer.gui.actions.saving import saved as saved_views
from shiftjax.viewer.gui.panes import panes
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.screen import Screen
from shiftjax.viewer.gui.state.derived.pace import FramePace
from shiftjax.viewer.gui.state.layout import roomy
from shiftjax.viewer.gui.state.panels import OPEN
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets.bundle import glfw, imgui
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.recording import new_file
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Strokes
from shiftjax.viewer.study import member_scenes, opening, recent
from shiftjax.viewer.study.member_scenes import MemberScenes

SIZE = (1280, 800)
NO_WINDOW: Any = None  # the clipboard belongs to no window: GLFW warns where one is named
LONGEST = 0.5  # s of wall time that one slow frame counts for at most
EARLY = 1e-3  # s before the screen's next picture a frame may begin: what waits for the screen then loses none
BUTTONS = {glfw.MOUSE_BUTTON_LEFT: "Left", glfw.MOUSE_BUTTON_RIGHT: "Right", glfw.MOUSE_BUTTON_MIDDLE: "Middle"}
NAMED = {
    glfw.KEY_SPACE: "Space", glfw.KEY_ESCAPE: "Escape", glfw.KEY_TAB: "Tab", glfw.KEY_ENTER: "Enter",
    glfw.KEY_KP_ENTER: "Enter", glfw.KEY_BACKSPACE: "Backspace", glfw.KEY_DELETE: "Delete",
    glfw.KEY_INSERT: "Insert", glfw.KEY_HOME: "Home", glfw.KEY_END: "End", glfw.KEY_PAGE_UP: "PageUp",
    glfw.KEY_PAGE_DOWN: "PageDown", glfw.KEY_LEFT: "Left", glfw.KEY_RIGHT: "Right", glfw.KEY_UP: "Up",
    glfw.KEY_DOWN: "Down", **{glfw.KEY_F1 + k: f"F{k + 1}" for k in range(12)},
    **{glfw.KEY_0 + k: str(k) for k in range(10)}, **{glfw.KEY_A + k: chr(ord("A") + k) for k in range(26)},
}  # fmt: skip


def show(study: StudyLike, scene: Scene, note: str = "", **choices: Any) -> None:
    """Opens a window on a study, which says a note at its start, and returns when it is closed. The other arguments are
    those of `Window`.

    A study that is opened in it takes its place, in a new window of the same size, look and keys; where that fails, the
    first study is shown again, with a message. A mechanism on the workbench is there again when its study is closed.
    """
    options = {name: choices[name] for name in ("look", "keys") if name in choices}
    live: Session | None = choices.get("live")
    window = _run(study, scene, choices, note)
    while window.next_study:
        options["size"] = window.size
        try:
            window, message = _reopened(window.next_study, options), ""
        except ModelError as error:
            message = str(error)
        by_hand = live is not None and live.hand is not None
        if message or (by_hand and not window.next_study):
            if live is not None and by_hand:
                study, scene = live.history, MemberScenes(live.history).first
            window = _run(study, scene, {**choices, "size": window.size}, message or "on the workbench again")


def _run(study: StudyLike, scene: Scene, choices: dict[str, Any], message: str = "") -> Window:
    """A window, after it was closed."""
    with Window(study, scene, **choices) as window:
        if message:
            window.state.say(message)
        window.run()
    return window


def _reopened(name: str, options: dict[str, Any]) -> Window:
    """A window on the stored study of that name, after it was closed."""
    print(printable(f"opening {name} ..."), file=sys.stderr, flush=True)
    with opening.opened(name) as study:
        member = opening.first_member(study)
        study.prepare([member])
        scenes = MemberScenes(study)
        return _run(study, scenes.first, {**options, "member": member, "beside": member_scenes.last_beside(scenes)})


class Window:
    """An open window. Add panels, keys and overlays before or while it runs, or draw single frames.

    Attributes:
        next_study: path of the study that was opened in it and is to take its place; "" for none.
        size: of the window [points].
    """

    def __init__(self, study: StudyLike, scene: Scene, *, member: int | None = None, ghosts: Iterable[int] = (),
                 look: RenderSettings | None = None, keys: str = "playback", size: tuple[int, int] = SIZE,
                 view: str = "iso", follow: str = "", ground: float | None = None, beside: Design | None = None,
                 live: Session | None = None, saved: str = "") -> None:  # fmt: skip
        """Opens it.

        Args:
            member: to show; by default the first kept one.
            ghosts: members drawn translucent.
            keys: "playback" or "workbench".
            size: of the window [points]; view: a standard one, at first.
            follow: a body that the camera follows, or "all"; ground: height of the ground plane along up [m].
            beside: what the right half of the view shows; left out, there is one view.
            live: the running simulation whose history the study is.
            saved: file of a view that was saved, to begin with.

        Raises:
            ModelError: not on the main thread, no display, no OpenGL 3.3, nothing of that name to follow, or a file
                that is no view of this study.
        """
        _require_main_thread()
        self.state = WindowState(MemberScenes(study, scene), member, ghosts, look, keys, live)
        if beside is not None:
            open_beside(self.state, beside)
        if view != self.state.view.standard:
            looking.view(self.state, view)
        self.state.panels.sides_on = roomy(*size)
        self.state.ground_height = ground
        if follow:
            looking.follow_named(self.state, follow)
        if saved:
            saved_views.load(self.state, saved)
        if live is None:
            recent.note(study.where)
        self.next_study, self.size = "", size
        self._errors: list[str] = []
        self._window: Any = self._open(size)
        self._place = (0, 0, *size)  # rectangle before fullscreen
        self._clock = self._drawn = time.perf_counter()
        self._pace = FramePace()
        self._stirred()
        try:
            self._listen()  # before any other library sets callbacks: a later call would replace these
            self.screen = Screen(self.state, panes.draw)
            self._clipboard()
        except BaseException:
            glfw.destroy_window(self._window)
            raise

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_panel(self, name: str, draw: Callable[[WindowState], None]) -> None:
        """A panel of your own: `draw(state)` calls imgui, in every frame."""
        additions.add_panel(self.state, name, draw)

    def add_key(self, binding: str, words: str, call: Callable[[WindowState], None]) -> None:
        """A key of your own, such as "Ctrl+Shift+J": `call(state)`; ModelError where it is taken."""
        additions.add_key(self.state, binding, words, call)

    def add_overlay(self, call: Callable[[WindowState], Strokes]) -> None:
        """Lines of your own in the view: `call(state)` gives them, in every frame."""
        additions.add_overlay(self.state, call)

    def run(self) -> None:
        """Draws until the window is closed: at the screen's rate while something moves or an event came just before,
        else on events only. While it records, as often as the movie has pictures: a frame is one of them.
        """
        while self.frame():
            self._wait()

    def frame(self) -> bool:
        """Handles events and draws one frame; False after a request to close."""
        glfw.make_context_current(self._window)
        glfw.poll_events()
        now = time.perf_counter()
        passed, self._clock = now - self._clock, now
        self.state.advance(min(passed, LONGEST))
        self._drawn = now
        width, height = glfw.get_window_size(self._window)
        pixels = glfw.get_framebuffer_size(self._window)
        if width > 0 and height > 0 and min(pixels) > 0:  # a window that is iconified has no size
            self.size = (width, height)
            scale = pixels[0] / width
            # without framebuffer scaling, text is scaled by the density of the screen
            self.state.panels.zoom = max(glfw.get_window_content_scale(self._window)[0] / scale, 1.0)
            self.screen.draw(width, height, scale, 0, min(passed, LONGEST))
            self._serve()
            glfw.swap_buffers(self._window)
        if passed < LONGEST:  # it slept otherwise
            self.state.panels.frame_seconds = 0.9 * self.state.panels.frame_seconds + 0.1 * passed
        return not glfw.window_should_close(self._window)

    def close(self) -> None:
        """Closes the window; a second call does nothing."""
        if self._window is not None:
            glfw.make_context_current(self._window)
            self.screen.release()
            glfw.destroy_window(self._window)
            self._window = None

    # -- inside ------------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Waits for the next frame; events that come meanwhile are handled at once and bring it near."""
        rate = self._screen_rate()
        while not glfw.window_should_close(self._window):
            now = time.perf_counter()
            typing = imgui.get_io().want_text_input
            left = self._drawn + self._pace.interval(self.state, rate, now, typing=typing) - now
            if left <= EARLY:
                return
            if self.state.recording is not None:
                time.sleep(left)
                return
            glfw.wait_events_timeout(min(left - EARLY, LONGEST))  # not for ever: Ctrl+C in the terminal needs a return

    def _screen_rate(self) -> float:
        """Pictures a second of the screen in the middle of the window; 60 where it does not say."""
        x, y = glfw.get_window_pos(self._window)
        for monitor in glfw.get_monitors():
            left, top = glfw.get_monitor_pos(monitor)
            mode = glfw.get_video_mode(monitor)
            inside = (
                0 <= x + self.size[0] / 2 - left < mode.size.width,
                0 <= y + self.size[1] / 2 - top < mode.size.height,
            )
            if all(inside) and mode.refresh_rate > 0:
                return float(mode.refresh_rate)
        return 60.0

    def _stirred(self, *_: object) -> None:
        """Something happened to the window: frames go on for a while."""
        self._pace.stirred = time.perf_counter()

    def _hear(self, handle: Callable[..., None]) -> Callable[..., None]:
        """A callback of GLFW that stirs the window, too."""

        def heard(*event: Any) -> None:
            self._stirred()
            handle(*event)

        return heard

    def _open(self, size: tuple[int, int]) -> Any:
        glfw.set_error_callback(self._on_error)
        if not glfw.init():
            raise ModelError("window", self._why("GLFW did not start"), "a session with a display",
                             "Without one use `shiftjax render`, or `xvfb-run shiftjax view`.")  # fmt: skip
        glfw.default_window_hints()
        for hint, value in ((glfw.CONTEXT_VERSION_MAJOR, 3), (glfw.CONTEXT_VERSION_MINOR, 3),
                            (glfw.OPENGL_PROFILE, glfw.OPENGL_CORE_PROFILE), (glfw.OPENGL_FORWARD_COMPAT, True),
                            (glfw.SCALE_TO_MONITOR, True)):  # fmt: skip
            glfw.window_hint(hint, value)
        if sys.platform.startswith("linux"):  # the platform PyOpenGL was bound to, see viewer/gl
            glfw.window_hint(glfw.CONTEXT_CREATION_API, glfw.EGL_CONTEXT_API)
        window = glfw.create_window(*size, f"{self.state.study.where} - shiftjax", None, None)
        if not window:
            raise ModelError("window", self._why("no window with OpenGL 3.3 core"), "a driver that has it",
                             "`shiftjax view --doctor` tells what is missing.")  # fmt: skip
        glfw.make_context_current(window)
        glfw.swap_interval(1)
        return window

    def _on_error(self, code: int, text: Any) -> None:
        """Error text of GLFW, as bytes."""
        self._errors.append(text.decode(errors="replace").strip())

    def _why(self, otherwise: str) -> str:
        return self._errors[-1] if self._errors else otherwise

    def _listen(self) -> None:
        window, hear = self._window, self._hear
        glfw.set_cursor_pos_callback(window, hear(lambda _, x, y: self.screen.mouse_move(x, y)))
        glfw.set_mouse_button_callback(window, hear(self._on_button))
        glfw.set_scroll_callback(window, hear(self._on_wheel))
        glfw.set_key_callback(window, hear(self._on_key))
        glfw.set_char_callback(window, hear(lambda _, code: self.screen.character(chr(code))))
        glfw.set_drop_callback(window, hear(lambda _, paths: replacing.drop(self.state, paths)))
        for name in ("window_refresh", "framebuffer_size", "window_pos", "window_focus", "window_iconify",
                     "window_content_scale", "cursor_enter"):  # fmt: skip
            getattr(glfw, f"set_{name}_callback")(window, self._stirred)

    def _on_button(self, window: Any, button: int, action: int, mods: int) -> None:
        if button in BUTTONS:
            x, y = glfw.get_cursor_pos(window)
            self.screen.mouse_button(
                BUTTONS[button], x, y, _modifiers(mods), time.perf_counter(), down=action == glfw.PRESS
            )

    def _on_wheel(self, window: Any, _: float, steps: float) -> None:
        pressed = [any(glfw.get_key(window, key) == glfw.PRESS for key in keys) for keys in
                   ((glfw.KEY_LEFT_CONTROL, glfw.KEY_RIGHT_CONTROL), (glfw.KEY_LEFT_ALT, glfw.KEY_RIGHT_ALT),
                    (glfw.KEY_LEFT_SHIFT, glfw.KEY_RIGHT_SHIFT))]  # fmt: skip
        self.screen.mouse_wheel(steps, *glfw.get_cursor_pos(window), (pressed[0], pressed[1], pressed[2]))

    def _on_key(self, window: Any, key: int, scancode: int, action: int, mods: int) -> None:
        """Letters follow the keyboard layout, other keys their position."""
        name = NAMED.get(key)
        if name is not None and len(name) == 1:
            typed = (glfw.get_key_name(key, scancode) or name).upper()
            name = typed if typed in NAMED.values() else name
        if name is not None:
            self.screen.key(name, _modifiers(mods), down=action != glfw.RELEASE)

    def _clipboard(self) -> None:
        """The getter of the bundle fails on an empty clipboard."""

        def read(_: Any) -> str:
            content: Any = glfw.get_clipboard_string(NO_WINDOW)
            return (content or b"").decode(errors="replace")

        io = imgui.get_platform_io()
        io.platform_get_clipboard_text_fn = read
        io.platform_set_clipboard_text_fn = lambda _, text: glfw.set_clipboard_string(NO_WINDOW, text)

    def _serve(self) -> None:
        """Serves the requests of actions."""
        requests, self.state.panels.requests = self.state.panels.requests, []
        for request in requests:
            word, _, text = request.partition(":")
            if word == "quit":
                glfw.set_window_should_close(self._window, True)
            elif word == OPEN:
                self.next_study = text
                glfw.set_window_should_close(self._window, True)
            elif word == "fullscreen":
                self._fullscreen()
            elif word == "screenshot":
                self.state.say(f"written: {save_picture(self.screen.view_image(), Path.cwd())}")
            elif word == "copy":
                glfw.set_clipboard_string(NO_WINDOW, text)

    def _fullscreen(self) -> None:
        if glfw.get_window_monitor(self._window):
            nowhere: Any = None
            glfw.set_window_monitor(self._window, nowhere, *self._place, glfw.DONT_CARE)
            return
        self._place = (*glfw.get_window_pos(self._window), *glfw.get_window_size(self._window))
        monitor = glfw.get_primary_monitor()
        mode = glfw.get_video_mode(monitor)
        glfw.set_window_monitor(self._window, monitor, 0, 0, *mode.size, mode.refresh_rate)


def save_picture(image: np.ndarray, folder: Path) -> Path:
    """Writes (h, w, 3) uint8 as a PNG named by the time of day, and returns where; nothing is replaced."""
    path = new_file(folder, ".png")
    Image.fromarray(image).save(path)
    return path


def _modifiers(mods: int) -> Modifiers:
    """Ctrl (or Command), Alt, Shift."""
    return bool(mods & (glfw.MOD_CONTROL | glfw.MOD_SUPER)), bool(mods & glfw.MOD_ALT), bool(mods & glfw.MOD_SHIFT)


def _require_main_thread() -> None:
    """Windows work on the main thread only; elsewhere they crash or hang."""
    if threading.current_thread() is not threading.main_thread():
        raise ModelError("window", f"a call from the thread {threading.current_thread().name!r}", "the main thread",
                         "Open the window there and run your own work in another thread.")  # fmt: skip
