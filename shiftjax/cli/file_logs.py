"""CSV logs that loggers of a model's file ask for: `shiftjax run` writes them, one line an output instant.

The columns are those of the source tool's logs as far as they say something here: time, coordinates, speeds and
accelerations of all joints, kinetic and potential energy. A file that somebody sends must not say where on a disk
things are written: names lead from the folder of the command to files in it or below it, and nothing is replaced
without `--force`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shiftjax.cli import common, running
from shiftjax.errors import ModelError
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.results.result import Result

ENERGIES = ("energy.kinetic", "energy.potential")
STAMP = "-%Y%m%d-%H%M%S"  # added to a name: local time at which the command began
WITHOUT = "--no-logger runs without it, and --out FILE.csv beside that writes elsewhere"


class FileLogs:
    """The logs of one run.

    Args:
        model: of the run. options: of the command line: `no_logger`, `force`, `out`, `channel`, `output_step`.

    Raises:
        ModelError: a name that leads out of the folder, is there already, or cannot be written.
    """

    def __init__(self, model: Model, options: argparse.Namespace) -> None:
        began = time.strftime(STAMP)
        asked = () if options.no_logger else model.settings.logs
        self.force, self.instants_asked = options.force, options.output_step is not None
        self.files = tuple(dict.fromkeys(_named(name, began if stamped else "") for name, stamped in asked))
        for file in self.files:
            if options.out is not None and Path(options.out).absolute() == file.absolute():
                raise ModelError(f"--out {options.out}", "the name of a log of the file", "another one", f"{WITHOUT}.")
            running.store().check_target(file, force=self.force, batched=False, suffix=".csv", todo=_todo(file))
        self.channels = _channels(model) if self.files else ()
        self._added = frozenset(self.channels) - {*options.channel}

    def shown(self, result: Result) -> Result:
        """The result without what was recorded for logs alone."""
        if not self._added:
            return result
        channels, extremes = (
            {path: values for path, values in of.items() if path not in self._added}
            for of in (result.channels, result.extremes)
        )
        return replace(result, channels=channels, extremes=extremes)

    def save(self, result: Result) -> None:
        """Writes them, unless an interrupt came before anything was done."""
        if not self.files or running.nothing_done(result):
            return
        only = replace(result, channels={path: result.channels[path] for path in self.channels})
        for file in self.files:
            running.store().write(only, file, keep="none", force=self.force, suffix=".csv")
            common.say(f"written: {file}")
        if len(result.time) == running.ENDS and not self.instants_asked:
            common.say(f"note: {listed(map(str, self.files))} has the first and the last instant only: {running.MORE}")


def _named(name: str, stamp: str) -> Path:
    """The file of a logger, below the folder of the command."""
    path = Path(name)
    if not path.name or "\0" in name or not path.absolute().parent.resolve().is_relative_to(Path.cwd().resolve()):
        allowed = "a name in the folder of the command, or below it"
        raise ModelError("loggers", f"the file {name!r}", allowed, f"Correct it; {WITHOUT}.")
    return path.with_name(f"{path.stem}{stamp}{path.suffix}")


def _todo(file: Path) -> str:
    return f"It is what a logger of the model's file names: --force replaces it; {WITHOUT}."


def _channels(model: Model) -> Sequence[str]:
    joints = [path for path, joint in model.joints() if KINDS[joint.type].coordinates]
    return (*(f"{joint}.{what}" for what in "qva" for joint in joints), *ENERGIES)
