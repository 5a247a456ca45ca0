"""GL contexts without a window, and a report of what this machine offers. OpenGL is imported on first use.

On Linux a context is EGL's: on a device (hardware first, software last), else on no surface at all. Elsewhere there is
no EGL: a hidden window is used, on the main thread.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from shiftjax.errors import ModelError, installing
from shiftjax.record import record

DEVICE = "SHIFTJAX_EGL_DEVICE"  # a number as listed by `report`, or "surfaceless"
APT = "apt-get install -y --no-install-recommends"
PACKAGES = ("PyOpenGL", "PyOpenGL-accelerate", "glfw", "imgui-bundle", "pyassimp", "cmeel-assimp", "pillow",
            "imageio-ffmpeg")  # fmt: skip
LIBRARIES = (  # (any of these files, Debian package, what for)
    (("libEGL.so.1",), "libegl1", "any picture"),
    (("libOpenGL.so.0", "libGL.so.1"), "libopengl0", "any picture"),
    (("libEGL_mesa.so.0", "libEGL_nvidia.so.0"), "libgl1-mesa-dri", "any picture, unless a GPU's driver serves EGL"),
    (("libX11.so.6",), "libx11-6", "the window"),
    (("libXext.so.6",), "libxext6", "the window"),
)
PLATFORM_DEVICE, PLATFORM_SURFACELESS = 0x313F, 0x31DD
MAJOR, MINOR, PROFILE, CORE = 0x3098, 0x30FB, 0x30FD, 1
DRM_FILE = 0x3233  # name of a device's file, from EGL_EXT_device_drm


class Context:
    """A GL 3.3 core context of no window. As a context manager it is current inside and released at the end."""

    def __init__(self, name: str, key: Any, make_current: Callable[[], None], release: Callable[[], None]) -> None:
        self.name = name  # such as "EGL device 0 (software)"
        self._key = key  # key of PyOpenGL
        self._make_current, self._destroy = make_current, release

    def make_current(self) -> None:
        """Later GL calls of this thread go to this context."""
        self._make_current()

    def release(self) -> None:
        """Destroys the context and everything in it; a second call does nothing."""
        if self._key is None:
            return
        from OpenGL import contextdata

        contextdata.cleanupContext(self._key)
        self._destroy()
        self._key = None

    def __enter__(self) -> Context:
        self.make_current()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@record
class _DisplayOption:
    """An EGL display that needs no window."""

    name: str
    choice: str  # its value in the environment variable
    software: bool
    platform: int
    device: Any  # EGLDeviceEXT or None


def headless() -> Context:
    """A new context, current in this thread.

    Raises:
        ModelError: no context could be created; says what was tried and what is missing.
    """
    if not sys.platform.startswith("linux"):
        return _hidden_window()
    _require_egl()
    tried, chosen = [], os.environ.get(DEVICE, "").strip()
    try:
        options = _display_options()
    except Exception as error:
        raise _no_context([f"EGL: {_text(error)}"]) from error
    if chosen:
        known = [option.choice for option in options]
        options = [option for option in options if option.choice == chosen]
        if not options:
            raise ModelError(DEVICE, repr(chosen), ", ".join(known), "Choose a device that is there, or unset it.")
    for option in options:
        try:
            return _egl_context(option)
        except Exception as error:
            tried.append(f"{option.name}: {_text(error)}")
    raise _no_context(tried)


def diagnosis() -> list[str]:
    """Lines on what is there and what is missing, with the command that installs it. Never raises.

    The context is tried in another thread, so that the caller's stays current.
    """
    lines = [f"Python {sys.version.split()[0]} on {sys.platform}"]
    for part in (_packages, _libraries, _devices):
        try:
            lines += part()
        except Exception as error:
            lines.append(f"{part.__name__.strip('_')}: {_text(error)}")
    context_lines: list[str] = []
    if sys.platform.startswith("linux"):
        worker = threading.Thread(target=_try_context, args=(context_lines,))
        worker.start()
        worker.join()
    else:
        _try_context(context_lines)
    return lines + context_lines


# -- EGL -----------------------------------------------------------------------------------------------------------


def _require_egl() -> None:
    """Refuses a process in which PyOpenGL has been bound to another platform."""
    platform = os.environ.get("PYOPENGL_PLATFORM", "")
    bound = sys.modules.get("OpenGL.platform")
    if bound is not None:
        platform = type(bound.PLATFORM).__module__.rpartition(".")[2]
    if platform != "egl":
        raise ModelError("PYOPENGL_PLATFORM", repr(platform), "'egl'",
                         "Set it before anything imports OpenGL, or import shiftjax.viewer.gl first.")  # fmt: skip


def _display_options() -> list[_DisplayOption]:
    """Hardware first, software next, no device last."""
    from OpenGL import EGL
    from OpenGL.EGL.EXT.device_base import egl_get_devices
    from OpenGL.EGL.EXT.device_query import eglQueryDeviceStringEXT

    options = []
    try:
        devices = list(egl_get_devices())
    except Exception:  # the extension is not there
        devices = []
    for number, device in enumerate(devices):
        extensions = (eglQueryDeviceStringEXT(device, EGL.EGL_EXTENSIONS) or b"").decode()
        software = "EGL_MESA_device_software" in extensions
        what = "software" if software else "hardware"
        if "EGL_EXT_device_drm" in extensions and not software:
            what = (eglQueryDeviceStringEXT(device, DRM_FILE) or b"hardware").decode()
        options.append(_DisplayOption(f"EGL device {number} ({what})", str(number), software, PLATFORM_DEVICE, device))
    options.sort(key=lambda option: option.software)
    return [*options, _DisplayOption("EGL without a surface", "surfaceless", True, PLATFORM_SURFACELESS, None)]


def _egl_context(option: _DisplayOption) -> Context:
    """A context on a display. The display is shared by the process and stays initialised."""
    from OpenGL import EGL
    from OpenGL.EGL.EXT.platform_base import eglGetPlatformDisplayEXT

    display = eglGetPlatformDisplayEXT(option.platform, option.device, None)
    version = (EGL.EGLint(), EGL.EGLint())
    if not EGL.eglInitialize(display, *version):
        raise OSError("eglInitialize refused")
    EGL.eglBindAPI(EGL.EGL_OPENGL_API)
    wanted = (EGL.EGL_SURFACE_TYPE, EGL.EGL_PBUFFER_BIT, EGL.EGL_RENDERABLE_TYPE, EGL.EGL_OPENGL_BIT, EGL.EGL_NONE)
    configs, count = (EGL.EGLConfig * 1)(), EGL.EGLint()
    EGL.eglChooseConfig(display, (EGL.EGLint * len(wanted))(*wanted), configs, 1, count)
    if not count.value:
        raise OSError("no configuration for desktop OpenGL")
    level = (MAJOR, 3, MINOR, 3, PROFILE, CORE, EGL.EGL_NONE)
    context = EGL.eglCreateContext(display, configs[0], EGL.EGL_NO_CONTEXT, (EGL.EGLint * len(level))(*level))
    if not context:
        raise OSError("eglCreateContext refused OpenGL 3.3 core")

    def make_current() -> None:
        if not EGL.eglMakeCurrent(display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, context):
            raise OSError("eglMakeCurrent refused")

    def release() -> None:
        if _address(EGL.eglGetCurrentContext()) == _address(context):
            EGL.eglMakeCurrent(display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, EGL.EGL_NO_CONTEXT)
        EGL.eglDestroyContext(display, context)

    made = Context(option.name, _address(context), make_current, release)
    try:
        made.make_current()
        from OpenGL import GL

        GL.glGetString(GL.GL_VERSION)  # fails here, not in the first picture, where libOpenGL is missing
    except Exception:
        release()
        raise
    return made


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def _hidden_window() -> Context:
    """A window that is never shown, where there is no EGL (macOS, Windows): only on the main thread."""
    try:
        import glfw
    except ImportError as error:
        raise ModelError("OpenGL", "no package glfw", "a context", installing("viewer")) from error
    if not glfw.init():
        raise ModelError("OpenGL", "GLFW did not start", "a context", "Run it in a session with a display.")
    glfw.window_hint(glfw.VISIBLE, False)
    glfw.window_hint(glfw.CONTEXT_VERSION_MAJOR, 3)
    glfw.window_hint(glfw.CONTEXT_VERSION_MINOR, 3)
    glfw.window_hint(glfw.OPENGL_PROFILE, glfw.OPENGL_CORE_PROFILE)
    glfw.window_hint(glfw.OPENGL_FORWARD_COMPAT, True)
    window = glfw.create_window(16, 16, "", None, None)
    glfw.default_window_hints()
    if not window:
        raise ModelError("OpenGL", "no context of OpenGL 3.3 core", "a context", "Update the graphics driver.")
    glfw.make_context_current(window)
    from OpenGL import contextdata

    key = contextdata.getContext()
    return Context("hidden window", key, lambda: glfw.make_context_current(window), lambda: glfw.destroy_window(window))


# -- what is there -------------------------------------------------------------------------------------------------


def _text(error: Exception) -> str:
    """One line on a failure; PyOpenGL's own texts run over several."""
    words = getattr(error, "description", None) or getattr(error, "err", None) or str(error)
    return f"{type(error).__name__} {' '.join(str(words).split())[:160]}"


def _there(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _missing() -> list[str]:
    """Debian packages of the libraries that no picture can do without."""
    return [package for names, package, use in LIBRARIES
            if use.startswith("any picture") and not any(map(_there, names))]  # fmt: skip


def _no_context(tried: list[str]) -> ModelError:
    missing = _missing()
    if missing:
        todo = f"Missing here: {' '.join(missing)}. Debian, Ubuntu: {APT} {' '.join(missing)}."
    else:
        todo = f"Debian, Ubuntu: {APT} libegl1 libopengl0 libgl1-mesa-dri."
    if os.path.exists("/proc/driver/nvidia") and not _there("libEGL_nvidia.so.0"):
        todo += " In a container with an NVIDIA GPU: NVIDIA_DRIVER_CAPABILITIES=all (or with graphics)."
    return ModelError("OpenGL", "no context without a window (" + "; ".join(tried) + ")",
                      "OpenGL 3.3 core through EGL", todo)  # fmt: skip


def _packages() -> list[str]:
    lines, missing = [], False
    for name in PACKAGES:
        try:
            lines.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{name} is missing")
            missing = True
    return [*lines, *([f"install: {installing('viewer')}"] if missing else [])]


def _libraries() -> list[str]:
    if not sys.platform.startswith("linux"):
        return []
    lines, missing = [], []
    for names, package, use in LIBRARIES:
        library = next((name for name in names if _there(name)), None)
        lines.append(f"{library} is there" if library else f"{' or '.join(names)} is missing: needed for {use}")
        missing += [] if library else [package]
    return [*lines, *([f"install: {APT} {' '.join(missing)}"] if missing else [])]


def _devices() -> list[str]:
    if not sys.platform.startswith("linux"):
        return []
    _require_egl()
    return [f"{option.name}: {DEVICE}={option.choice}" for option in _display_options()]


def _try_context(lines: list[str]) -> None:
    try:
        with headless() as context:
            from OpenGL import GL

            def gl_string(name: int) -> str:
                return (GL.glGetString(name) or b"?").decode()

            lines += [f"context: {context.name}", f"OpenGL {gl_string(GL.GL_VERSION)}",
                      f"renderer: {gl_string(GL.GL_RENDERER)}",
                      f"vendor: {gl_string(GL.GL_VENDOR)}",
                      f"GLSL {gl_string(GL.GL_SHADING_LANGUAGE_VERSION)}",
                      f"samples a pixel: up to {GL.glGetIntegerv(GL.GL_MAX_SAMPLES)}"]  # fmt: skip
    except Exception as error:
        lines.append(str(error) if isinstance(error, ModelError) else _text(error))
