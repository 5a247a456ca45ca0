"""What numbers an element may have: what its fields and its kind say of them, and inertias that a body can have.

Problem: of one element, or of many variants of it at once, say which variants are impossible, and why.
The rule is here once: files, the builder, `Model.replace`, drives and varied members ask it.
Inertia is about the centre of mass, so its principal moments a <= b <= c are sums over the body's own matter: none is
negative, and c <= a + b (Goldstein, Classical Mechanics, section 5.3). The second is asked only where a is not zero:
planar models state one moment, (0, 0, c), or two. A rod, (0, c, c), a rotor of no mass, and a massless body pass.
NaN is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields as fields_of
from typing import Any

import numpy as np

from shiftjax.constraints import CONSTRAINTS
from shiftjax.errors import ModelError
from shiftjax.field import Field
from shiftjax.forces import FORCES
from shiftjax.mechanism.edit import with_number
from shiftjax.mechanism.paths import Steps, split, text_of
from shiftjax.mechanism.paths import steps as steps_of
from shiftjax.mechanism.records import Body, Element, Frame, Inertia, Joint, Restraint
from shiftjax.memory_cache import forget_oldest
from shiftjax.record import record
from shiftjax.registry import changes

ROUNDED = 1e-6  # of the largest moment: a principal moment this small is zero in a matrix of six digits
TRIANGLE = 1e-3  # of the largest moment: files give four digits, and a plate has c = a + b
SHORTEST, LONGEST = 1e-12, 1e12  # of a stated axis, whose direction alone counts

JUDGED_ONCE = Body | Frame | Joint | Restraint | Element  # as they stand
KEPT = 4096  # elements that were judged; a large file has some hundreds

Values = dict[Steps, np.ndarray]  # steps from the element to a number -> (B,) its values

# Elements that were judged as they stand, by where they are in memory: after how many changes of kinds, and the faults.
_judged: dict[int, tuple[Any, int, tuple[Fault, ...]]] = {}


@record
class Fault:
    """Something impossible about an element.

    Attributes:
        steps: the numbers of which it is said, the first named in messages; none of an element without numbers.
        bad: (B,) variants of which it is true. found: says what was found in a variant.
        certain: False for inertias that some files state all the same; they run where every motion moves positive mass.
    """

    steps: tuple[Steps, ...]
    bad: np.ndarray
    found: Callable[[int], str]
    allowed: str
    todo: str
    certain: bool = True


def faults(
    item: Any, numbers: Iterable[tuple[Field, Steps, float]], varied: Mapping[Steps, np.ndarray] | None = None
) -> Iterator[Fault]:
    """What is asked of an element, and in which variants it is not so; of one as it stands, what is not.

    Args:
        numbers: of the element, as `mechanism.fields.numbers_of` lists them.
        varied: steps of a number -> (B,) values it takes instead of its own; B is 1 where nothing is varied.
    """
    if varied or not isinstance(item, JUDGED_ONCE):
        yield from _asked(item, numbers, varied or {})
        return
    kinds, known = changes(), _judged.get(id(item))
    if known is not None and known[0] is item and known[1] == kinds:
        yield from known[2]
        return
    impossible = list[Fault]()
    for fault in _asked(item, numbers, {}):
        if fault.bad.any():
            impossible.append(fault)
            yield fault
    if len(_judged) >= KEPT:
        forget_oldest(_judged, KEPT // 2)
    _judged[id(item)] = item, kinds, tuple(impossible)


def refuse_replaced(
    elements: Iterable[tuple[str, Any, Iterable[tuple[Field, Steps, float]]]], paths: Iterable[str]
) -> None:
    """Raises where numbers that were replaced are ones that their element cannot have.

    Args:
        elements: of the model: path, element and its numbers, as of `faults`. paths: full ones of what was replaced.
    """
    touched: dict[str, set[Steps]] = {}
    for target, field in map(split, paths):
        touched.setdefault(target, set()).add(steps_of(field))
    for path, item, numbers in elements:
        replaced = touched.get(path, ())
        for fault in faults(item, numbers) if replaced else ():
            where = next((steps for steps in fault.steps if steps in replaced), None)
            if where is not None and fault.bad[0] and fault.certain:
                raise ModelError(path + text_of(where), fault.found(0), fault.allowed, fault.todo)


def _asked(
    item: Any, numbers: Iterable[tuple[Field, Steps, float]], varied: Mapping[Steps, np.ndarray]
) -> Iterator[Fault]:
    count = len(next(iter(varied.values()))) if varied else 1
    fields, values = {}, {}
    for field, steps, number in numbers:
        fields[steps] = field
        values[steps] = np.asarray(varied.get(steps, np.full(count, number)), float)
    with np.errstate(all="ignore"):
        for steps, field in fields.items():
            if not field.least is field.above is field.most is None:
                yield _out_of_bounds(field, steps, values[steps])
        for field in dict.fromkeys(field for field in fields.values() if field.rising):
            yield _falling(field, {steps: values[steps] for steps, other in fields.items() if other == field})
        if isinstance(item, Body):
            yield from _of_inertia(values)
        if isinstance(item, Body) and item.virtual:
            yield _with_mass(values)
        if isinstance(item, Joint):
            yield from _beyond_each_other(values)
        if isinstance(item, Joint) and item.axis is not None:
            yield _no_direction(values)
        if isinstance(item, Element):
            yield from _of_kind(item, values, {steps: varied[steps] for steps in varied if steps in values}, count)


def _out_of_bounds(field: Field, steps: Steps, x: np.ndarray) -> Fault:
    bad = np.zeros(len(x), bool)
    words = []
    if field.least is not None:
        bad |= x < field.least
        words.append(f"{field.least:g} or more")
    if field.above is not None:
        bad |= x <= field.above
        words.append(f"above {field.above:g}")
    if field.most is not None:
        bad |= x > field.most
        words.append(f"{field.most:g} or less")
    name = str(steps[-1]) if isinstance(steps[-1], str) else field.key.rpartition(".")[2]
    article = "an" if name[:1] in "aeiou" else "a"
    allowed = f"{article} {name} of {' and '.join(words)}"
    return Fault((steps,), bad, lambda k: f"{name} {x[k]:g}", allowed, f"Correct the {name}.")


def _of_inertia(values: Values) -> Iterator[Fault]:
    """Negative moments, and the inequality of the triangle."""
    places: tuple[Steps, ...] = tuple(("inertia", entry.name) for entry in fields_of(Inertia))
    xx, yy, zz, xy, yz, zx = (values[place] for place in places)
    shown = slice(1 if all((values[place] == values[place][0]).all() for place in places) else None)
    matrix = np.stack([x[shown] for x in (xx, xy, zx, xy, yy, yz, zx, yz, zz)], axis=1).reshape(-1, 3, 3)
    finite = np.asarray(np.isfinite(matrix).all((1, 2)))
    size = np.where(finite, np.abs(matrix).max((1, 2)), 0.0)
    size = np.where(size > 0.0, size, 1.0)
    principal = np.linalg.eigvalsh(np.where(finite[:, None, None], matrix / size[:, None, None], 0.0)).T
    size, a, b, c = (np.broadcast_to(x, len(xx)) for x in (size, *principal))  # often all are alike
    for place, moment in zip(places[:3], (xx, yy, zz), strict=True):
        yield Fault(
            (place,), moment < -ROUNDED * size, lambda k, place=place: f"{place[-1]} = {values[place][k]:g} kg m^2",
            "moments of inertia of 0 or more", f"Correct {place[-1]}.", certain=False,
        )  # fmt: skip

    def moments(k: int) -> str:
        return "principal moments " + ", ".join(f"{x[k] * size[k]:.4g}" for x in (a, b, c)) + " kg m^2"

    diagonal = np.minimum(np.minimum(xx, yy), zz) < -ROUNDED * size
    yield Fault(
        places, ~diagonal & (a < -ROUNDED * c), moments, "principal moments of 0 or more",
        "Correct the products of inertia.", certain=False,
    )  # fmt: skip
    flat = a <= ROUNDED * c  # unstated, or a rod
    yield Fault(
        places, ~diagonal & ~flat & (c > (a + b) + TRIANGLE * c), moments,
        "each principal moment about the centre of mass at most the sum of the other two",
        "Correct the inertia; it refers to the centre of mass.", certain=False,
    )  # fmt: skip


def _with_mass(values: Values) -> Fault:
    """A virtual body that has mass: it stands for no part."""
    places: tuple[Steps, ...] = (("mass",), *(("inertia", entry.name) for entry in fields_of(Inertia)))
    some = np.stack([values[place] for place in places])

    def heaviest(k: int) -> str:
        return ", ".join(f"{place[-1]} {some[n, k]:g}" for n, place in enumerate(places) if some[n, k])

    todo = "Leave mass and inertia out, or virtual: a part that is real has them."
    return Fault(places, np.asarray((some != 0.0).any(0)), heaviest, "a virtual body without mass and inertia", todo)


def _beyond_each_other(values: Values) -> Iterator[Fault]:
    """Limits of coordinates whose lower end is not below the upper one."""
    for low in [steps for steps in values if steps[0] == "limits" and steps[-1] == 0]:
        if (high := (*low[:-1], 1)) in values:
            ends = values[low], values[high]
            yield Fault(
                (low, high), ends[0] >= ends[1], lambda k, ends=ends: f"limits {ends[0][k]:g} and {ends[1][k]:g}",
                "a lower limit below the upper one", "Exchange them, or lock what is not to move.",
            )  # fmt: skip


def _falling(field: Field, values: Values) -> Fault:
    rows = np.stack(list(values.values()))
    falls = np.diff(rows, axis=0) <= 0.0
    name = field.name.replace("_", " ")

    def pair(k: int) -> str:
        first = int(falls[:, k].argmax())
        return f"{name} {rows[first, k]:g}, {rows[first + 1, k]:g}"

    return Fault(
        tuple(values),
        np.asarray(falls.any(0)),
        pair,
        "increasing numbers",
        f"Sort the {name}, with what belongs to them.",
    )


def _of_kind(item: Element, values: Values, varied: Values, count: int) -> Iterator[Fault]:
    """What the kind of a force or constraint says of its numbers together."""
    kind = FORCES.get(item.type) or CONSTRAINTS.get(item.type)
    if kind is None or not kind.listed:
        return
    for steps, numbers in varied.items():
        item = with_number(item, steps, numbers)
    for words, wrong in kind.faults(item.values).items():
        bad = np.broadcast_to(wrong, count).astype(bool)
        yield Fault(
            tuple(values), bad, lambda k, words=words: words, f"numbers that {item.type} can have",
            "Correct them together.",
        )  # fmt: skip


def _no_direction(values: Values) -> Fault:
    places = tuple(steps for steps in values if steps[0] == "axis")
    axis = np.stack([values[place] for place in places])
    bad = np.asarray((np.sum(axis**2, axis=0) < SHORTEST**2) | (np.abs(axis).max(0) > LONGEST))
    return Fault(
        places, bad, lambda k: f"axis {', '.join(f'{x:g}' for x in axis[:, k])}",
        f"an axis of length between {SHORTEST:g} and {LONGEST:g}", "Give a direction.",
    )  # fmt: skip
