"""A piece as a function of NumPy arrays on the host, whichever backend runs the lanes: all lanes in one call."""

from __future__ import annotations

import ctypes

import numpy as np

from shiftjax.kernels.lane_program import DTYPES, Piece
from shiftjax.kernels.llvm.objects import Loader, stored_object
from shiftjax.kernels.llvm.piece_code import piece_name, piece_text, support_text
from shiftjax.kernels.llvm.target import host

_CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)


class HostFunction:
    """A piece whose inputs are slots 0 ... n - 1 and whose outputs are the next ones, compiled when it is made.

    Attributes:
        address: of the compiled code, for other code that is alive no longer than this.
    """

    def __init__(self, piece: Piece, precision: str = "f64") -> None:
        self.inputs, self.outputs = len(piece.inputs), len(piece.outputs)
        if (*piece.inputs, *piece.outputs) != tuple(range(self.inputs + self.outputs)):
            raise ValueError("a host function has its inputs first, then its outputs, slot by slot")
        target = self._target = host(precision)
        self._dtype = np.dtype(DTYPES[precision])
        self._loader = Loader(target)
        name = piece_name(piece)
        piece.code.remember()
        for symbol, identity, text in (
            ("support", "support", lambda: support_text(target)),  # the object that the kernel stores, too
            (name, piece.identity(), lambda: piece_text(piece, target)),
        ):
            self._loader.add(stored_object(symbol, identity, text, target, optimize=False))
        self._loader.finish()
        self.address = self._loader.address(name)
        self._code = _CODE(self.address)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """(inputs, B) -> (B, outputs)."""
        lanes, (_, members) = self._target.lanes, values.shape
        blocks = -(-members // lanes)
        size = (self.inputs + self.outputs) * lanes
        bytes_ = lanes * self._dtype.itemsize  # to which slots are aligned
        memory = np.zeros(blocks * size + lanes, self._dtype)
        first = -memory.ctypes.data % bytes_ // self._dtype.itemsize
        workspace = memory[first : first + blocks * size].reshape(blocks, self.inputs + self.outputs, lanes)
        full = np.empty((self.inputs, blocks * lanes), self._dtype)
        full[:, :members], full[:, members:] = values, values[:, -1:]
        workspace[:, : self.inputs] = full.reshape(self.inputs, blocks, lanes).swapaxes(0, 1)
        for block in workspace:
            self._code(block.ctypes.data, self._target.interleave)
        out = workspace[:, self.inputs :].swapaxes(1, 2)
        return out.reshape(blocks * lanes, self.outputs)[:members]
