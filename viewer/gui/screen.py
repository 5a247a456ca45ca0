"""One frame of the window: the scene, the panes around it, and the input to both.

It works in any current GL context, a window's or one without a display; positions are in points from the upper left.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from imgui_bundle.python_backends.opengl_backend_programmable import ProgrammablePipelineRenderer
from OpenGL import GL

from shiftjax.viewer.gui import pointer
from shiftjax.viewer.gui.actions.members.beside import under_cursor
from shiftjax.viewer.gui.actions.saving import movie_recording as recording
from shiftjax.viewer.gui.picture import symbols
from shiftjax.viewer.gui.picture.ray_picking import hits_at, pickable
from shiftjax.viewer.gui.picture.renderers import Views
from shiftjax.viewer.gui.pointer import Modifiers, Pointer
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.layout import PaneLayout, layout
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import fonts
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.gui.widgets.textures import Textures

WINDOWS = {"Menu": "##MainMenuBar"}  # names of the GUI library for panes, where they differ
BETWEEN = (0.1, 0.1, 0.12)  # colour between halves and cells of the view
BUTTONS = {"Left": 0, "Right": 1, "Middle": 2}
MODIFIERS = (imgui.Key.mod_ctrl, imgui.Key.mod_alt, imgui.Key.mod_shift)
KEYS: dict[str, Any] = {
    **{letter: getattr(imgui.Key, letter.lower()) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    **{digit: getattr(imgui.Key, f"_{digit}") for digit in "0123456789"},
    **{f"F{k}": getattr(imgui.Key, f"f{k}") for k in range(1, 13)},
    **{name: getattr(imgui.Key, name.lower()) for name in
       ("Space", "Escape", "Tab", "Enter", "Backspace", "Delete", "Insert", "Home", "End")},
    "PageUp": imgui.Key.page_up, "PageDown": imgui.Key.page_down, "Left": imgui.Key.left_arrow,
    "Right": imgui.Key.right_arrow, "Up": imgui.Key.up_arrow, "Down": imgui.Key.down_arrow,
}  # fmt: skip


class Screen:
    """Draws a state and passes input to it. Every call needs the GL context that was current at construction."""

    def __init__(self, state: WindowState, draw_panes: Callable[[WindowState, float, float], PaneLayout]) -> None:
        """draw_panes: called once a frame with the state, width and height [points]; gives the layout."""
        self.state, self.pointer = state, Pointer(state, self._hit)
        self._draw_panes, self._scale = draw_panes, 1.0
        self._mouse: tuple[float, float] | None = None  # in the view, last position
        self._undecided: list[tuple[int, Callable[[], Any]]] = []  # commands, after which input of the GUI library
        self.layout: PaneLayout = layout(1280, 720, 20, panes=True)
        self._context = imgui.create_context()
        self._plots = implot.create_context()
        self._textures = Textures()
        self._enter()  # where there is another screen, its contexts stay current until now
        imgui.get_io().set_ini_filename("")  # otherwise it writes into the working directory
        imgui.style_colors_dark()
        lacking = fonts.missing(fonts.load(), (row.name for row in state.rows))
        if lacking:
            state.say(lacking)
        self._panes = ProgrammablePipelineRenderer()
        self._views = Views(state)
        self._views.boxes = [self.layout.view]

    def draw(self, width: float, height: float, scale: float = 1.0, framebuffer: int = 0, dt: float = 1 / 60) -> None:
        """Draws a frame.

        Args:
            width, height: of the window [points].
            scale: pixels a point.
            framebuffer: target of drawing.
            dt: seconds since the last frame, for what is animated in the panes.
        """
        self._enter()
        self._scale = scale
        io = imgui.get_io()
        io.display_size = imgui.ImVec2(width, height)
        io.display_framebuffer_scale = imgui.ImVec2(scale, scale)
        io.delta_time = max(dt, 1e-4)
        imgui.get_style().font_scale_dpi = self.state.panels.zoom
        self._keyboard_in_panes()
        imgui.new_frame()
        self._decide()
        self._close_popup()
        self._focus_pane()
        self.state.panels.by_hand = self._by_hand()
        try:
            self.layout = self._draw_panes(self.state, width, height)
        finally:
            imgui.render()
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        GL.glViewport(0, 0, round(width * scale), round(height * scale))
        self._clear(height)
        self._view(height, framebuffer)
        recording.take(self.state, self.view_image, dt)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        self._panes.render(imgui.get_draw_data())

    def view_image(self) -> np.ndarray:
        """(h, w, 3) uint8 of the view alone, as it was drawn last."""
        return self._views.image()

    def release(self) -> None:
        """Frees all GL objects; finishes a recording."""
        self._enter()
        recording.stop(self.state)
        self._views.release()
        self._textures.release()
        self._panes.shutdown()
        implot.destroy_context(self._plots)
        imgui.destroy_context(self._context)

    # -- input -------------------------------------------------------------------------------------------------------

    def mouse_move(self, x: float, y: float) -> None:
        self._enter()
        imgui.get_io().add_mouse_pos_event(x, y)
        right = self.state.beside
        if right is not None and not self.pointer.busy:
            right.hovered = self._views.boxes[-1].holds(x, y)
        if not self.pointer.busy:
            self.state.explorer.hovered = self._views.cell_at(x, y)
        at = self._in_view(x, y)
        self._mouse = at if self._free(x, y) else None
        with under_cursor(self.state):
            self.pointer.move(*at)

    def mouse_button(self, button: str, x: float, y: float, modifiers: Modifiers, clock: float, *, down: bool) -> None:
        """A button ("Left", "Right", "Middle") at a position and time [s]."""
        self._enter()
        self.mouse_move(x, y)
        self._modifiers(modifiers)
        imgui.get_io().add_mouse_button_event(BUTTONS[button], down)
        if not down:
            with under_cursor(self.state):
                self.pointer.release(button, *self._in_view(x, y), clock)
        elif self._free(x, y):
            imgui.set_window_focus(None)  # takes the keyboard focus from text boxes
            self.state.panels.enter("")
            self.pointer.press(button, *self._in_view(x, y), modifiers)

    def mouse_wheel(self, steps: float, x: float, y: float, modifiers: Modifiers) -> None:
        self._enter()
        imgui.get_io().add_mouse_wheel_event(0.0, steps)
        if self._free(x, y):
            with under_cursor(self.state):
                self.pointer.wheel(steps, modifiers)

    def key(self, name: str, modifiers: Modifiers, *, down: bool) -> None:
        """A key by its name in `keys.KEYS`; the next frame runs its action unless a text box has the focus then."""
        self._enter()
        self._modifiers(modifiers)
        imgui.get_io().add_key_event(KEYS[name], down)
        if down:
            self._command(lambda: self._of_pane(name, modifiers) or pointer.key(self.state, name, modifiers))

    def character(self, typed: str) -> None:
        """A character after the keyboard layout."""
        self._enter()
        imgui.get_io().add_input_character(ord(typed))
        self._command(lambda: pointer.character(self.state, typed))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Several screens may live in one process."""
        imgui.set_current_context(self._context)
        implot.set_current_context(self._plots)
        Textures.current = self._textures

    def _modifiers(self, modifiers: Modifiers) -> None:
        for key, down in zip(MODIFIERS, modifiers, strict=True):
            imgui.get_io().add_key_event(key, down)

    def _command(self, call: Callable[[], Any]) -> None:
        """Notes a command of the keyboard, which `_decide` runs or drops."""
        self._undecided.append((int(imgui.get_current_context().input_events_next_event_id), call))

    def _decide(self) -> None:
        """Runs the commands whose keys the GUI library has taken in, or drops them where it wants text.

        It takes in a few events a frame: a key after a click waits until the click has been drawn, so that only then it
        is known whether the click gave a text box the focus. Asked when a key arrives, it would answer for the frame
        before.
        """
        waiting = imgui.get_current_context().input_events_queue
        first = int(waiting[0].event_id) if len(waiting) else math.inf
        ready = [call for number, call in self._undecided if number <= first]
        self._undecided = self._undecided[len(ready) :]
        for call in ready if not imgui.get_io().want_text_input else ():
            with under_cursor(self.state):
                call()

    def _of_pane(self, name: str, modifiers: Modifiers) -> bool:
        """Whether a key moves in a pane, and is no command."""
        return bool(self.state.panels.pane) and name in keys.OF_PANES and not any(modifiers[:2])

    def _keyboard_in_panes(self) -> None:
        """Notes what is open, and lets the keyboard move in the panes or not."""
        panels, io = self.state.panels, imgui.get_io()
        panels.popups = len(imgui.get_current_context().open_popup_stack)
        moving = int(imgui.ConfigFlags_.nav_enable_keyboard)
        io.config_flags = io.config_flags | moving if panels.pane else io.config_flags & ~moving

    def _close_popup(self) -> None:
        """Closes all popups where that was asked for, unless the GUI library has closed the innermost."""
        panels, popups = self.state.panels, imgui.get_current_context().open_popup_stack
        if panels.popup_closes and len(popups) == panels.popups > 0:
            imgui.internal.close_popup_to_level(0, True)
        panels.popup_closes = False

    def _focus_pane(self) -> None:
        """Moves the keyboard to the first item of the pane it went to, or to the view."""
        panels = self.state.panels
        if not panels.pane_moved:
            return
        panels.pane_moved = False
        window = imgui.internal.find_window_by_name(WINDOWS.get(panels.pane, panels.pane)) if panels.pane else None
        if window is None:
            imgui.set_window_focus(None)
            return
        imgui.internal.focus_window(window)
        layers = imgui.internal.NavLayer
        imgui.get_current_context().nav_layer = layers.menu if panels.pane == "Menu" else layers.main
        imgui.internal.nav_init_window(window, True)
        imgui.set_nav_cursor_visible(True)

    def _free(self, x: float, y: float) -> bool:
        """Whether the mouse is over the view and not over a window on top of it."""
        return self.layout.view.holds(x, y) and not imgui.get_io().want_capture_mouse

    def _in_view(self, x: float, y: float) -> tuple[float, float]:
        """From the upper left of the half under the cursor."""
        return x - self._views.box.x, y - self._views.box.y

    def _clear(self, height: float) -> None:
        """The background of the panes, and that of the view between its halves or cells."""
        pane = imgui.get_style().color_(int(imgui.Col_.window_bg))
        GL.glDisable(GL.GL_SCISSOR_TEST)
        GL.glClearColor(pane.x, pane.y, pane.z, 1.0)
        GL.glClear(GL.GL_COLOR_BUFFER_BIT)
        if self.state.beside is not None or self.state.explorer.cells:
            x, y, wide, high = (self._scale * side for side in dataclasses.astuple(self.layout.view))
            GL.glEnable(GL.GL_SCISSOR_TEST)
            GL.glScissor(round(x), round(self._scale * height - y - high), round(wide), round(high))
            GL.glClearColor(*BETWEEN, 1.0)
            GL.glClear(GL.GL_COLOR_BUFFER_BIT)
            GL.glDisable(GL.GL_SCISSOR_TEST)

    def _view(self, height: float, framebuffer: int) -> None:
        """Draws the scene."""
        self._views.draw(self.layout.view, height, self._scale, framebuffer, moving=self.state.panels.by_hand)
        box = self._views.box
        self.pointer.size = (max(round(box.width), 1), max(round(box.height), 1))
        if self._mouse is not None and not self.pointer.busy:
            self.pointer.hover(*self._mouse)
        else:
            self.state.selection.hovered = Hit()

    def _by_hand(self) -> bool:
        """Whether a hand moves something: a drag in the view, a slider, a body that is led."""
        led = self.state.live is not None and self.state.live.pull is not None
        in_panes = imgui.is_any_item_active() and not imgui.get_io().want_text_input
        return self.pointer.busy or led or in_panes

    def _hit(self, x: float, y: float) -> Hit:
        """The item at a position in the last picture of the view; cells of a grid are picked as a whole."""
        if self.state.explorer.cells:
            return Hit()
        symbol = symbols.nearest(self.state, x, y, self.pointer.size) if self.state.hovered_half is None else None
        if symbol is not None:
            return Hit(*symbol)
        picked = self._views.renderer.pick(x * self._scale, y * self._scale)
        if picked.part is not None and not pickable(self.state, picked.part):
            return next(iter(hits_at(self.state, x, y, self.pointer.size)), Hit())  # the next pickable item
        return Hit(picked.part.path if picked.part else None, picked.point, picked.member)
