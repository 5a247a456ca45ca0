"""The reference of the file format, docs/format.md, made from the table of fields.

After a change of the table, write it again from the root of the repository:

    python -m shiftjax.formats.reference > docs/format.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from shiftjax.field import SHAPES, Field
from shiftjax.formats.examples import EXAMPLES, SEVERAL
from shiftjax.formats.json_text import dumps
from shiftjax.formats.schema import READ_ONLY
from shiftjax.joints import KINDS, JointKind
from shiftjax.markup import COLUMN
from shiftjax.mechanism.fields import JOINT, element, labels
from shiftjax.mechanism.scene_fields import SHAPED
from shiftjax.quantities import FACTORS, SHORT

INTRODUCTION = """# The Shift JSON format

Written by `python -m shiftjax.formats.reference` from the table of fields; do not edit it. The same table makes the
JSON Schema (`shiftjax check --schema`) and the list of a model's numbers (`shiftjax info MODEL --paths`).

A file is one JSON object, *the root*. Each section below is one kind of object.

* **field**: its name in Python and in paths of numbers.
* **key**: where dialect 2.0, which is written, holds it; a dot leads into an object inside. A dash: only older ones do.
* **also read as**: the keys of older dialects; those in *italics* are read with a warning.
* **unit**: in a file without `units`. x is m or rad, by the joint, and m between frames; f the force along it,
  N or N m; k counts the coefficients from 0. The unit of a coefficient with k = 0 is f.
* **default**: what a missing key means; a dash: nothing. What is *required* the JSON Schema asks for; where a value
  stands beside it, a file without the key is read with that value.

Every number with a role in the mechanism may be an expression in quotes, `"2.4 * L"`, of the file's
[parameters and points](parameters.md). Comments and commas before a closing bracket are read with a warning. Frames
are named `[["assembly", "body"], "frame"]`; a body of the same assembly needs its name only, ground is the body
`["fixed"]`, as in `[["fixed"], "origin"]`, and every body has a frame `origin`. What signs and axes mean is drawn in
[Signs and conventions](conventions.md); how a number of a file is named on the command line and in Python stands in
[Paths and channels](paths.md).
"""


def reference() -> str:
    """The text of docs/format.md; what is registered now is part of it."""
    return "\n".join([INTRODUCTION, *_joint_kinds(), *_units(), *(line for part in _parts() for line in part)])


def _parts() -> Iterator[list[str]]:
    """The sections of the elements; what joints, or shapes, have in common stands once."""
    shared = False
    for label in labels():
        fields: Iterable[Field] = element(label)
        article, _, rest = label.partition(" ")
        title = rest[0].upper() + rest[1:] if article in ("a", "an", "the") else f"`{label}`"
        if label.startswith("a joint of type "):
            fields = fields[len(JOINT) :]
            yield _section(title, fields, label, "Beside the fields of a joint:")
        elif label.startswith("a geometry of type "):
            if not shared:
                yield _section("Geometry", SHAPED, "", "What shapes of every type have:")
            shared = True
            yield _section(title, fields[len(SHAPED) :], label, "Beside the fields of a geometry:")
        else:
            yield _section(title, fields, label)


def _section(title: str, fields: Iterable[Field], label: str, line: str = "") -> list[str]:
    """Heading, a line about the section, the table of its fields, and an example where there is one."""
    head = ["| field | key | also read as | holds | unit | default | meaning |", "|---|---|---|---|---|---|---|"]
    example = ["```json", _json(EXAMPLES[label]), "```", ""] if label in EXAMPLES else []
    return [f"## {title}", "", *([line, ""] if line else []), *head, *map(_row, fields), "", *example]


def _row(field: Field) -> str:
    here = field.written or field.key in READ_ONLY
    older = [f"`{key}`" for key in field.every_key[here:]] + [f"*`{key}`*" for key in field.misspelt]
    cells = (
        f"`{field.name}`",
        f"`{field.key}`" if here else "–",
        ", ".join(older),
        _holds(field),
        "" if field.unit == "1" else field.unit.replace("{", "").replace("}", ""),
        _default(field),
        field.doc,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _holds(field: Field) -> str:
    """The shape in words, the choices or the kind of objects, and the bounds."""
    text = SHAPES[field.shape]
    if field.choices:
        text = "one of " + ", ".join(f"`{word}`" for word in field.choices)
    elif field.of:
        text = f"a list; each item is {field.of}" if field.shape == "list" else f"an object: {field.of}"
    bounds = [f"at least {field.least:g}"] if field.least is not None else []
    bounds += [f"above {field.above:g}"] if field.above is not None else []
    bounds += [f"at least {field.fewest} of them"] if field.fewest else []
    return ", ".join([text, *bounds])


def _default(field: Field) -> str:
    default = [] if field.default is None else [f"`{json.dumps(field.default)}`"]
    return ", ".join([*(["required"] if field.required else []), *default]) or "–"


def _joint_kinds() -> list[str]:
    rows = [
        f"| `{name}` | {kind.nq} | {kind.nv} | {', '.join(dict.fromkeys(kind.units)) or '–'} |"
        f" {_displacement(kind)} | {', '.join(f'`{field.name}`' for field in _fields(name)) or '–'} | {kind.doc} |"
        for name, kind in KINDS.items()
    ]
    head = "| type | coordinates | speeds | units | initial_displacement | fields of its own | the child |"
    examples = [line for joint in SEVERAL.values() for line in ("```json", _json(joint), "```", "")]
    sentence = "What a joint of several coordinates says of each, by name, or in a list in their order:"
    return ["## Types of joints", "", head, "|---|---|---|---|---|---|---|", *rows, "", sentence, "", *examples]


def _json(example: object) -> str:
    return dumps(example, COLUMN).rstrip()


def _displacement(kind: JointKind) -> str:
    if kind.placed:
        return "{T, R, rotation}" if kind.shifts else "{R, rotation}"
    return "a number" if kind.sole else "{" + ", ".join(kind.names) + "}"


def _fields(name: str) -> tuple[Field, ...]:
    axis = tuple(field for field in JOINT if field.name == "axis" and KINDS[name].needs_axis)
    return (*axis, *KINDS[name].fields)


def _units() -> list[str]:
    rows = []
    for quantity, known in FACTORS.items():
        short = [word for word in SHORT[quantity] if word not in known]
        rows.append(f"| {quantity} | {_words(known)} | {_words(short)} |")
    return ["## Names of units", "", "| quantity | names | short |", "|---|---|---|", *rows, ""]


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(reference(), end="")
