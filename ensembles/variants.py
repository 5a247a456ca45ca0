"""A stored study of a mechanism that was made by hand: what was changed last, varied about where it is. Host code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftjax.ensembles.execution.sweep import SUFFIX, sweep
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.formats.files import free_stem, save
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed

MEMBERS, SPREAD = 1000, 0.1  # designs; parts of a number to either side
SPAN, OUTPUT_STEP = 2.0, 1 / 60  # s, of a model whose file names no duration
KEPT = "every 20"  # of the members; others are simulated again where they are looked at


def sweep_variants(model: Model, paths: Sequence[str], folder: Path, members: int = MEMBERS) -> Path:
    """Simulates variants of a model and stores them, in a folder beside the model and the study that says how.

    Args:
        paths: of the numbers that are varied, uniformly by a tenth of what they are to either side.

    Returns:
        the path of the stored study.

    Raises:
        ModelError: no numbers, only such as are 0; what a study makes impossible.
    """
    numbers = model.numbers()
    values = {path: numbers[model.resolve(path)] for path in dict.fromkeys(paths)}
    vary = {path: [value - abs(value) * SPREAD, value + abs(value) * SPREAD] for path, value in values.items() if value}
    if not vary:
        fault = f"{listed(values)}, which are 0" if values else "no number that was changed by hand"
        raise ModelError("variants", fault, "numbers to vary by a tenth", "Change a number first, as a length.")
    stem = free_stem(folder, f"{model.name or 'mechanism'}_variants", (".json", ".toml", SUFFIX))
    save(model, folder / f"{stem}.json")
    study = Definition(
        f"{stem}.json",
        {path: f"{low!r}:{high!r}~sobol" for path, (low, high) in vary.items()},
        members,
        span=SPAN,
        output_step=OUTPUT_STEP,
        keep=KEPT,
        folder=str(folder),
    )
    study_file.write(study, folder / f"{stem}.toml")
    sweep(folder / f"{stem}.toml", folder / f"{stem}{SUFFIX}")
    return folder / f"{stem}{SUFFIX}"
