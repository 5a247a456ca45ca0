"""What a kernel asks of a GPU: memory, code, launches. Tests have one that runs PTX on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Launch(NamedTuple):
    """How many threads run a function.

    Attributes:
        blocks, threads: of a grid, of a block. shared: bytes of shared memory of a block.
    """

    blocks: int
    threads: int
    shared: int


class Device(Protocol):
    """One GPU.

    Attributes:
        name: as its maker calls it. arch: what code for it is called, as "sm_90".
    """

    name: str
    arch: str

    def free_bytes(self) -> int:
        """Of its memory."""
        ...

    def allocate(self, size: int) -> int:
        """The address of so many bytes of its memory.

        Raises:
            MemoryError: it has not so many left.
        """
        ...

    def free(self, address: int) -> None:
        """Gives memory back."""
        ...

    def upload(self, array: np.ndarray, address: int) -> None:
        """Copies a C-contiguous array to the device."""
        ...

    def download(self, address: int, array: np.ndarray) -> None:
        """Copies from the device, when all launches before are done, into a C-contiguous array."""
        ...

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> Any:
        """The function `name` of a module, which is written and assembled where the device has it not yet.

        Args:
            identity: what decides the text. shared: most bytes of shared memory that a block of it will have.
        """
        ...

    def launch(self, function: Any, size: Launch, arguments: Sequence[int | float]) -> None:
        """Starts a function; integers are of 64 bits, floats are doubles."""
        ...

    def wait(self) -> None:
        """Returns when all launches are done."""
        ...
