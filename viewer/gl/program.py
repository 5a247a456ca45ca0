"""Shader programs: files of `shaders/` with a list of defines in front, compiled and linked one by one.

Variants are made by defines, not by uniforms: a software renderer runs both sides of a branch (170 ms a frame with
shadow code present but not taken, 93 ms without it).
"""

from __future__ import annotations

from importlib import resources

import numpy as np
from OpenGL import GL

FRAME_BLOCK, FRAME_BINDING = "Frame", 0
SAMPLERS = {"picture": 0, "shadows": 1, "normals": 2, "strengths": 3}  # name -> texture unit
TEXTURE_UNIT, SHADOW_UNIT = int(GL.GL_TEXTURE0), int(GL.GL_TEXTURE1)
NORMAL_UNIT, STRENGTH_UNIT = int(GL.GL_TEXTURE2), int(GL.GL_TEXTURE3)
ATTRIBUTES = ("position", "normal", "uv", "row0", "row1", "row2", "colour", "id")  # location: number in the list


class Program:
    """A vertex and a fragment shader."""

    def __init__(self, vertex: str, fragment: str, defines: tuple[str, ...] = ()) -> None:
        """Names are of files without `.glsl`; `lights.glsl` is included in every fragment shader.

        Raises:
            RuntimeError: a shader does not compile or link; the driver's log follows.
        """
        head = "#version 330 core\n" + "".join(f"#define {line}\n" for line in defines)
        self.handle = GL.glCreateProgram()
        shaders = [
            _compiled(GL.GL_VERTEX_SHADER, vertex, head + source("frame") + source(vertex)),
            _compiled(GL.GL_FRAGMENT_SHADER, fragment, head + source("frame") + source("lights") + source(fragment)),
        ]
        for shader in shaders:
            GL.glAttachShader(self.handle, shader)
        for location, name in enumerate(ATTRIBUTES):
            GL.glBindAttribLocation(self.handle, location, name)
        GL.glLinkProgram(self.handle)
        for shader in shaders:
            GL.glDetachShader(self.handle, shader)
            GL.glDeleteShader(shader)
        if not GL.glGetProgramiv(self.handle, GL.GL_LINK_STATUS):
            raise RuntimeError(f"{vertex} + {fragment}: {_log(GL.glGetProgramInfoLog(self.handle))}")
        self._bind_names()

    def _bind_names(self) -> None:
        """Blocks and samplers get their binding points here: GLSL 330 has no syntax for them."""
        block = GL.glGetUniformBlockIndex(self.handle, FRAME_BLOCK)
        if block != GL.GL_INVALID_INDEX:
            GL.glUniformBlockBinding(self.handle, block, FRAME_BINDING)
        GL.glUseProgram(self.handle)
        for name, unit in SAMPLERS.items():
            location = GL.glGetUniformLocation(self.handle, name)
            if location >= 0:
                GL.glUniform1i(location, unit)
        self._layer = GL.glGetUniformLocation(self.handle, "layer")

    def use(self) -> None:
        GL.glUseProgram(self.handle)

    def set_layer(self, layer: int) -> None:
        """Which shadow layer's matrix a depth program uses."""
        GL.glUniform1i(self._layer, layer)

    def release(self) -> None:
        GL.glDeleteProgram(self.handle)


def source(name: str) -> str:
    return resources.files("shiftjax.viewer.gl").joinpath("shaders", f"{name}.glsl").read_text(encoding="utf-8")


def _compiled(kind: int, name: str, text: str) -> int:
    shader = int(GL.glCreateShader(kind) or 0)
    GL.glShaderSource(shader, text)
    GL.glCompileShader(shader)
    if not GL.glGetShaderiv(shader, GL.GL_COMPILE_STATUS):
        raise RuntimeError(f"{name}.glsl: {_log(GL.glGetShaderInfoLog(shader))}")
    return shader


def _log(text: bytes | str) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


class UniformBlock:
    """The uniform block `Frame`: one upload a frame for every program."""

    def __init__(self) -> None:
        self._buffer = int(GL.glGenBuffers(1))

    def upload(self, values: np.ndarray) -> None:
        """values: (n,) float32 in the order of `frame.glsl`, which std140 packs tightly (vec4 and mat4 only)."""
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, self._buffer)
        GL.glBufferData(GL.GL_UNIFORM_BUFFER, values.nbytes, values, GL.GL_STREAM_DRAW)
        self.bind()

    def bind(self) -> None:
        """Binds it: another renderer of the context may have bound its own."""
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, FRAME_BINDING, self._buffer)

    def release(self) -> None:
        GL.glDeleteBuffers(1, [self._buffer])
