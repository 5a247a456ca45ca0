"""GL contexts without a window: what is refused and in which words, what the report says, and no window toolkit."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.program import GL, Program

ROOT = Path(__file__).resolve().parents[2]


def fresh(code: str, **variables: str) -> str:
    """What a fresh process prints; it must end well."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **variables})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_context_is_current_inside_and_gone_outside() -> None:
    with context.headless() as made:
        assert made.name.startswith("EGL") or made.name == "hidden window"
        major, minor = GL.glGetIntegerv(GL.GL_MAJOR_VERSION), GL.glGetIntegerv(GL.GL_MINOR_VERSION)
        assert (major, minor) >= (3, 3)
        assert GL.glGetError() == GL.GL_NO_ERROR
    made.release()  # a second time does nothing


def test_contexts_of_two_threads_do_not_meet() -> None:
    seen = []

    def work() -> None:
        with context.headless():
            seen.append(int(GL.glGenBuffers(1)))

    with context.headless() as mine:
        first = int(GL.glGenBuffers(1))
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, first)
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        assert seen == [first], "each counts its own names"
        assert GL.glGetIntegerv(GL.GL_ARRAY_BUFFER_BINDING) == first
        mine.make_current()


def test_the_report_names_what_is_there_and_leaves_the_context_alone() -> None:
    with context.headless():
        buffer = int(GL.glGenBuffers(1))
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
        text = "\n".join(context.diagnosis())
        assert GL.glGetIntegerv(GL.GL_ARRAY_BUFFER_BINDING) == buffer
    for word in ("PyOpenGL 3", "glfw", "pillow", "OpenGL ", "renderer: ", "vendor: ", "context: "):
        assert word in text


NO_DRIVER = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere.json"}  # libEGL finds no driver, as without Mesa
TRY = """
from shiftjax.viewer.gl import context
from shiftjax.errors import ModelError
try:
    context.headless()
except ModelError as error:
    print(error)
print("\\n".join(context.diagnosis()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")
def test_without_a_driver_the_error_says_what_was_tried_and_what_to_install() -> None:
    error, *report = fresh(TRY, **NO_DRIVER).splitlines()
    assert "no context without a window (" in error and "EGL without a surface: " in error
    assert "apt-get install -y --no-install-recommends libegl1 libopengl0 libgl1-mesa-dri" in error
    assert any("no context without a window" in line for line in report)


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")
def test_a_device_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(context.DEVICE, "surfaceless")
    with context.headless() as made:
        assert made.name == "EGL without a surface"
    monkeypatch.setenv(context.DEVICE, "99")
    with pytest.raises(ModelError, match=r"SHIFTJAX_EGL_DEVICE: found '99'; allowed: .*surfaceless"):
        context.headless()


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")
def test_a_process_bound_to_another_platform_is_told() -> None:
    text = fresh("import OpenGL.GL\n" + TRY, PYOPENGL_PLATFORM="glx")
    assert text.startswith("PYOPENGL_PLATFORM: found 'glx'; allowed: 'egl'.")


def test_the_report_needs_no_package() -> None:
    hide = "import sys\nfor name in ('OpenGL', 'glfw', 'imgui_bundle', 'pyassimp', 'PIL'): sys.modules[name] = None\n"
    text = fresh(hide + TRY)
    assert "Python 3" in text and "import of OpenGL" in text


def test_pictures_need_neither_a_window_toolkit_nor_jax() -> None:
    code = "import sys, shiftjax.viewer.gl.renderer, shiftjax.viewer.gl.context\nprint(sorted(sys.modules))"
    loaded = fresh(code)
    for name in ("glfw", "imgui_bundle", "jax", "pyassimp"):
        assert f"'{name}'" not in loaded


def test_a_shader_that_does_not_compile_says_which_and_why() -> None:
    with context.headless(), pytest.raises(RuntimeError, match=r"mesh\.vert\.glsl: .*error"):
        Program("mesh.vert", "mesh.frag", ("LIGHTS 0", "LAYERS 0", "ALL_LIGHTS", "position nonsense nonsense"))
