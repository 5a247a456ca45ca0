"""What the integrator block of a model file asks for: a run by it, `method="file"`, and a note of one that is not.

The source tool's `ode113`, a multistep method of variable order (Shampine, Gordon 1975), chooses its steps by
`relative_error` and `absolute_error`; here that is a tolerance of `dopri5`, as a note of such a run says. A run
takes it only where it is asked to: errors of public files go from 1e-4 to 1e-11, so that fixed steps of 1 ms are often
the more exact, and some of what fixed steps allow, as to go on from an end, goes with no tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.mechanism.records import RunSettings
from shiftjax.run.options import NumericsOptions
from shiftjax.run.programs.integrators import FILE, METHODS, Numerics, method_of

MULTISTEP = ("ode113", "ode113b")  # names of public files


def completed(numerics: NumericsOptions, settings: RunSettings) -> NumericsOptions:
    """Numerics with the method that was left out, or those that the file asks for.

    Args:
        settings: of the model.

    Raises:
        ModelError: as of `method_of` and `as_the_file_asks`.
    """
    if method_of(numerics) == FILE:
        numerics = replace(numerics, **as_the_file_asks(settings))
    return replace(numerics, method=method_of(numerics))


def as_the_file_asks(settings: RunSettings) -> dict[str, Any]:
    """The keywords of `simulate` that method="file" stands for: a method of fixed steps, or one with its tolerance.

    Raises:
        ModelError: an integrator that is no method here, and no error above zero.
    """
    name, tolerance = settings.integration_type, settings.tolerance
    if name is not None and name in METHODS and not METHODS[name].controls:
        return {"method": name}
    if tolerance is None:
        fault = f"{FILE!r}, and the file " + (f"asks for {name!r} without an error" if name else "has no integrator")
        allowed = f"an integrator with a relative_error or absolute_error above 0, or one of {', '.join(METHODS)}"
        raise ModelError("method", fault, allowed, "Name a method, or leave it out.")
    return {"method": name if name in METHODS else "dopri5", "tolerance": tolerance}


def unasked(settings: RunSettings, numerics: Numerics) -> tuple[str, ...]:
    """A note where the file asks for another method than that of a run which names none, or takes the file's."""
    if method_of(numerics) == FILE:
        return _replaced(settings)
    if numerics.method is not None or numerics.tolerance is not None or numerics.step is not None:
        return ()
    name, tolerance = settings.integration_type, settings.tolerance
    usual = method_of(numerics)
    if name == usual or (name is None and tolerance is None):
        return ()
    asked = f"the file asks for {name or 'steps of variable size'}"
    asked += f" with errors of {tolerance:g}" if tolerance is not None else ""
    text = f"{asked}; this is run with {usual} and steps of one size"
    known = tolerance is not None or name in METHODS
    return (f"{text}. method={FILE!r} (--method {FILE}) takes what the file asks for" if known else text,)


def _replaced(settings: RunSettings) -> tuple[str, ...]:
    """A note where the method that the file asks for is none of here."""
    name, taken = settings.integration_type, as_the_file_asks(settings)
    if name is None or name in METHODS:
        return ()
    what = f"{name}, a multistep method of variable order" if name in MULTISTEP else repr(name)
    text = (
        f"the file asks for {what} that is not here: this is run with {taken['method']}, and the smaller of the file's"
    )
    return (f"{text} errors above 0, {taken['tolerance']:g}, as tolerance of each step",)
