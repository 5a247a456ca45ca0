"""What `[optimize]` means for the model of a study: parameters and their bounds, expressions. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.definition_keys import inside
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.optimization_words import Wanted
from shiftjax.errors import ModelError, nearest
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, is_path, names
from shiftjax.run.derive import with_derived


def bounds(
    definition: Definition, wanted: Wanted, group: MemberGroup, parameters: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(P,) smallest and largest values of the parameters, those of `[optimize.bounds]`, else those that their law has
    within those of the model's file, and the size of their changes.

    Raises:
        ModelError: bounds of no parameter, a parameter of one value.
    """
    numbers, of_laws = group.model.numbers(), dict[str, tuple[float, float, float]]()
    for vary in definition.varied:
        law, full = vary.in_si(), group.model.resolve(vary.path)
        if law.distribution in ("normal", "lognormal"):
            of_laws[full] = (0.0 if law.distribution == "lognormal" else -np.inf, np.inf, law.high)
        else:
            of_laws[full] = (law.low, law.high, max(law.high - law.low, abs(numbers.get(full, 0.0)) * 1e-3))
    stated = {}
    for path, low, high in wanted.bounds:
        full = group.model.resolve(path)
        if full not in parameters:
            where = inside("optimize.bounds", path)
            raise ModelError(where, "no parameter", ", ".join(parameters), "Vary it, or leave it out.")
        stated[full] = (-np.inf if low is None else low, np.inf if high is None else high)
    low, high, scale = np.array(
        [of_laws.get(p, (-np.inf, np.inf, abs(numbers[p]) or 1.0)) for p in parameters], float
    ).T
    of_file = {f"parameters.{parameter.name}": parameter for parameter in group.model.parameters}
    for k, path in enumerate(parameters):
        if path in stated:
            low[k], high[k] = stated[path]
        elif path in of_file:
            least, most = of_file[path].minimum, of_file[path].maximum
            low[k] = low[k] if least is None else max(low[k], least)
            high[k] = high[k] if most is None else min(high[k], most)
        if not low[k] < high[k]:
            todo = "Give it bounds in [optimize.bounds]."
            raise ModelError(inside("vary", path), "one value", "a parameter that may change", todo)
    return low, high, np.where(scale > 0, scale, 1.0)


def parameters(wanted: Wanted, group: MemberGroup) -> tuple[str, ...]:
    """Full paths of what is changed.

    Raises:
        ModelError: nothing that varies, a path that does not.
    """
    known = tuple(group.vary())
    if not known:
        raise ModelError("optimize", "nothing that varies", "numbers in [vary]", "Say what may change.")
    chosen = []
    for path in wanted.parameters:
        full = group.model.resolve(path)
        if full not in known:
            todo = nearest(full, known) or "Add it to [vary]."
            raise ModelError("optimize.parameters", repr(path), ", ".join(known), todo)
        chosen.append(full)
    return tuple(chosen) or known


def expressions(
    wanted: Wanted, metrics: Sequence[str], group: MemberGroup
) -> tuple[dict[str, Expression], dict[str, str]]:
    """The objective, constraints and residuals of metrics, by their texts; a constraint as what is to be 0 at most.

    Returns:
        And the full paths of the numbers of the design that constraints name in braces, by what stands there.

    Raises:
        ModelError: other names in them than those of metrics, and in constraints of numbers; vectors.
    """
    limits, numbers = {constraint.text for constraint in wanted.constraints}, dict[str, str]()
    for text, node in wanted.expressions:
        where = "optimize.objective" if text == "objective" else f"optimize, {text}"
        for name in names(node):
            if text in limits and name.braces and name.text not in metrics:
                numbers[name.text] = group.model.resolve(name.text)
            elif is_path(name) and name.text not in metrics:
                todo = "Make a metric of it, and name that."
                more = ", numbers in braces" if text in limits else ""
                raise ModelError(where, repr(name.text), f"names of metrics: {', '.join(metrics)}{more}", todo)
        size = len(evaluate(node, {name: [1.0] for name in (*metrics, *numbers)}, where))
        if size != 1:
            raise ModelError(where, f"{size} numbers", "one number", "Pick with [k].")
    return dict(wanted.expressions), numbers


def refuse_without_slopes(wanted: Wanted, without: Mapping[str, str]) -> None:
    """Raises where an objective, a constraint or a residual is of a metric that has no slopes.

    Args:
        without: such a metric -> why.
    """
    for text, node in wanted.expressions:
        for name in names(node):
            if (reason := without.get(name.text)) is not None:
                where = "optimize.objective" if text == "objective" else f"optimize, {text}"
                fault = f"{name.text}, which has no slopes: {reason}"
                raise ModelError(where, fault, "metrics that have some", "Take another one, or a sweep in place of it.")


def design_numbers(
    group: MemberGroup, vary: Mapping[str, np.ndarray], named: Mapping[str, str]
) -> dict[str, list[np.ndarray]]:
    """Numbers of designs, those that follow from others among them.

    Args:
        vary: full path -> (N,) of what varies. named: what they are called -> full path.
    """
    columns, assigned = with_derived(group.model, vary, None, group.settings.get("derive"))
    numbers = {**group.model.numbers(), **assigned, **(columns or {})}
    return {name: [np.asarray(numbers[full], float)] for name, full in named.items()}
