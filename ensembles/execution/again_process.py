"""The process that simulates members of stores again, and designs beside them, for a viewer, which stays without jax.

`python -m shiftjax.ensembles.execution.again_process N` answers requests on the pipe of file number N until its
other end is closed: a request names a store and members; or a design, and a member that it is like in all else; or
ranges of designs, of which a store of their own is made. The answers are those of `again_messages`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shiftjax.ensembles.execution.again import Again, again
from shiftjax.ensembles.execution.again_messages import DONE, FAILED, FOUND, PROGRESS, READY, packed
from shiftjax.ensembles.execution.another_design import another_design, more_like
from shiftjax.ensembles.execution.sent_tree import parts_of
from shiftjax.errors import ModelError

EVERY = 0.1  # s between two messages of how far it is


def main(number: int) -> None:
    """Serves requests on the pipe of that file number."""
    pipe = Connection(number)
    pipe.send_bytes(packed(READY))
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            _serve(pipe, request)
        except (BrokenPipeError, ConnectionResetError):  # nobody listens any more
            return
        except ModelError as error:
            pipe.send_bytes(packed(FAILED, [error.where, error.found, error.allowed, error.todo]))
        except Exception as error:  # of a kind that nobody foresaw: told, not hidden
            fault = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"
            pipe.send_bytes(packed(FAILED, [request["store"], fault, "members that can run", "Report it."]))


def _serve(pipe: Connection, request: dict[str, Any]) -> None:
    """Simulates what a request asks for and sends what comes of it."""
    sent = -EVERY

    def progress(done: float) -> None:
        nonlocal sent
        now = time.monotonic()
        if now - sent >= EVERY:
            sent = now
            pipe.send_bytes(packed(PROGRESS, done))

    if "members" in request:
        for some in again(request["store"], request["members"], progress):
            pipe.send_bytes(_message_of(some))
    else:
        pipe.send_bytes(_of_designs(request, progress))
    pipe.send_bytes(packed(DONE))


def _of_designs(request: dict[str, Any], progress: Callable[[float], None]) -> bytes:
    """The message of a design that is simulated, or of a study of many."""
    store, like = request["store"], request["like"]
    if "design" in request:
        return packed(FOUND, *parts_of(another_design(store, like, request["design"], progress)))
    ranges = {path: (low, high) for path, (low, high) in request["ranges"].items()}
    made = more_like(store, like, ranges, request["count"], Path(request["folder"]), progress)
    return packed(FOUND, str(made))


def _message_of(some: Again) -> bytes:
    """The message of some members."""
    channels = {str(v.attrs.get("path", n)): v.values for n, v in some.trajectories.data_vars.items() if n != "pose"}
    bodies = [str(body) for body in some.trajectories["body"].values]
    about = {"bodies": bodies, "channels": list(channels), "messages": some.messages, "differences": some.differences}
    arrays = {f"channel{k}": values for k, values in enumerate(channels.values())}
    arrays |= {
        "members": some.members,
        "time": some.trajectories["time"].values,
        "pose": some.trajectories["pose"].values,
    }
    return packed(FOUND, about, arrays)


if __name__ == "__main__":
    main(int(sys.argv[1]))
