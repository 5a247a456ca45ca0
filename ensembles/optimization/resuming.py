"""Whether a store of an optimisation may be gone on with, and for how many iterations. Host only, no jax."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shiftjax.ensembles.optimization.iterates import Iterates
from shiftjax.ensembles.study import optimization_words as words
from shiftjax.ensembles.study.definition import Definition, document
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.errors import ModelError
from shiftjax.version import VERSION

TODO = "Resume it with its own study, or choose another name."
ITERATIONS = "optimize.iterations"


def grows(history: Iterates, definition: Definition, wanted: Wanted, mark: str) -> bool:
    """Whether more iterations are asked for than the store was begun with; all else must be as it was begun.

    Args:
        mark: of designs and measurements.

    Raises:
        ModelError: the store of another study, naming what differs; fewer iterations; a learning rate that falls until
            the last iteration, which another number of them changes from the first one on; another version.
    """
    about, where = history.about, str(history.place)
    then, now = json.loads(about["study"]), json.loads(json.dumps(document(definition)))
    other = [name for name in differences(then, now) if name != ITERATIONS]
    if other or about["designs"] != mark:
        fault = f"the store of another study: {', '.join(other[:6]) or 'a file that it names'} differs"
        raise ModelError(where, fault, "that of this one, or of fewer iterations", TODO)
    if about["shiftjax_version"] != VERSION:
        fault = f"an optimisation of version {about['shiftjax_version']}"
        raise ModelError(where, fault, f"one of version {VERSION}", "Go on with that version.")
    begun = words.wanted(then["optimize"]).iterations
    if wanted.iterations < begun:
        raise ModelError(ITERATIONS, str(wanted.iterations), f"{begun}, with which the store was begun, or more", TODO)
    if wanted.iterations > begun and wanted.final_learning_rate is not None:
        fault = f"{wanted.iterations}, and final_learning_rate, which is reached at the last iteration"
        todo = f"Go on with {begun}, or optimise again."
        raise ModelError(ITERATIONS, fault, f"{begun}, with which the store was begun", todo)
    return wanted.iterations > begun


def differences(one: Mapping[str, Any], other: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    """Names of the keys whose values are not equal, those of tables as `table.key`; the model is one value."""
    for key in dict.fromkeys([*one, *other]):
        first, second = one.get(key), other.get(key)
        if first != second and not inside and key != "model" and isinstance(first or second, Mapping):
            yield from differences(first or {}, second or {}, f"{key}.")
        elif first != second:
            yield f"{inside}{key}"
