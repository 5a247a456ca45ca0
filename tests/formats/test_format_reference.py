"""The reference of the file format follows from the table of fields."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiftjax.formats import load
from shiftjax.formats.examples import EXAMPLES, SEVERAL
from shiftjax.formats.json_text import dumps
from shiftjax.formats.reference import reference
from shiftjax.joints import KINDS
from shiftjax.mechanism.fields import element, labels

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_that_of_the_table() -> None:
    """In a fresh process, since what tests register would be part of it."""
    command = [sys.executable, "-m", "shiftjax.formats.reference"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    committed = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    assert done.stdout == committed, f"write it again: python {' '.join(command[1:])} > docs/format.md"


@pytest.mark.parametrize("label", labels())
def test_every_field_has_a_sentence_and_a_row(label: str) -> None:
    text = reference()
    for field in element(label):
        assert len(field.doc.split()) > 1, f"{field.name} of {label} needs a sentence"
        (row, *_) = [line for line in text.splitlines() if line.startswith(f"| `{field.name}` |") and field.doc in line]
        for key in (*field.every_key, *field.misspelt):
            assert f"`{key}`" in row
        assert row.count(" | ") == 6


def test_the_reference_lists_every_type_of_joint() -> None:
    text = reference()
    assert all(f"| `{name}` | {kind.nq} | {kind.nv} |" in text for name, kind in KINDS.items())
    assert "| `float` | 7 | 6 | m, rad | {T, R, rotation} |" in text
    assert "| `x_scale` | – | `x_scale` |" in text and "| `include` | `include` |  |" in text


PARTS = {  # element -> where an object of a file holds it, below the example of the whole file
    "an assembly": ("assemblies",),
    "a body": ("assemblies", 0, "bodies"),
    "a joint": ("assemblies", 0, "joints"),
    "a restraint": ("assemblies", 0, "restraints"),
    "a force module": ("assemblies", 0, "force_modules"),
    "a constraint": ("assemblies", 0, "constraints"),
    "a driver": ("assemblies", 0, "drivers"),
    "a frame": ("frames",),
    "a light": ("lights",),
    "a terrain": ("terrain",),
    "a solver": ("model_parameters", "solvers"),
    "an integrator": ("model_parameters", "integrators"),
    "a logger": ("model_parameters", "loggers"),
}


def whole_file(label: str) -> dict[str, Any]:
    """The example of a whole file with that of an element in its place."""
    document, example = copy.deepcopy(EXAMPLES["the root"]), copy.deepcopy(EXAMPLES[label])
    crank = copy.deepcopy(EXAMPLES["a body"])
    what = label.partition(" of type ")[0]
    if label == "the root":
        return document
    if label in ("fixed", "simulation"):
        document["model_parameters"]["version"] = "0.2"
    if label == "fixed":
        document["fixed"] = example
        del document["frames"]
    elif label == "model_parameters":
        document[label] = example
    elif label in ("units", "simulation"):
        document["model_parameters"][label] = example
    elif label in ("a parameter", "a point"):
        document["frames"] = [{"name": "hook", "T": [0, 0, -3]}]
        document.setdefault(f"{label[2:]}s", {})["more"] = example
    elif label in ("an event", "a sublinkage"):
        document.setdefault(f"{label.partition(' ')[2]}s", {})["more"] = example
    elif label == "a placement":
        crank["frames"].append({"name": "more", **example})
    elif label == "a wanted value":
        document["assemblies"][0]["joints"][0]["target"] = example
    elif what == "a geometry":
        crank["geometry"].append(example)
    elif label.startswith("a pid's"):
        document = whole_file("a force module of type pid")
        document["assemblies"][0]["force_modules"][0][label.rpartition(" ")[2]] = example
        return document
    else:
        place: Any = document
        for step in PARTS[what][:-1]:
            place = place[step]
        place.setdefault(PARTS[what][-1], []).append(example)
        if what == "a body":
            return document
        if what in ("a constraint", "a force module"):  # between joints, or in others than the first
            joints = {"wheel": "Rx", "carrier": "Rx", "slide": "Tx", "plunger": "cylindrical", "slab": "planar"}
            for name, kind in (joints | {"ball": "spherical"}).items():
                joint = {"name": name, "type": kind, "parent": "fixed:origin", "child": "crank:origin"}
                joint |= {"axis": "x"} if kind == "cylindrical" else {}
                document["assemblies"][0]["joints"].append(joint)
    document["assemblies"][0]["bodies"].append(crank)
    return document


def test_every_element_has_an_example() -> None:
    """In a fresh process, since what tests register has none; of joints with like coordinates one has it."""
    several = "[kind.names for kind in KINDS.values() if kind.names and not kind.placed]"
    code = "import json; from shiftjax.joints import KINDS; from shiftjax.mechanism.fields import labels; "
    code += f"print(json.dumps([labels(), {several}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    elements, joints = json.loads(done.stdout)
    assert set(elements) == set(EXAMPLES) and {tuple(names) for names in joints} == {
        KINDS[joint].names for joint in SEVERAL
    }, "in formats/examples"


@pytest.mark.parametrize("label", EXAMPLES)
def test_examples_are_read(label: str) -> None:
    """With keys of the table only, and without a warning but that of a tire without numbers."""
    warnings = load(whole_file(label)).warnings
    assert all("assumed" in text for text in warnings) and bool(warnings) == label.endswith(" tire")
    keys = {key.partition(".")[0] for field in element(label) for key in field.every_key}
    assert EXAMPLES[label].keys() <= keys


@pytest.mark.parametrize("kind", SEVERAL)
def test_a_joint_of_several_coordinates_has_an_example_on_the_page(kind: str) -> None:
    """Read without a warning, with what it states of each coordinate; the page shows it."""
    document = whole_file("a body")
    document["assemblies"][0]["joints"].append(copy.deepcopy(SEVERAL[kind]))
    model = load(document)
    numbers, joint = model.numbers(), dict(model.joints())[f"pendulum:{SEVERAL[kind]['name']}"]
    assert model.warnings == () and joint.type == kind
    stated = SEVERAL[kind]["initial_displacement"]
    stated = stated if isinstance(stated, dict) else dict(zip(KINDS[kind].names, stated, strict=True))
    for name, value in stated.items():
        assert numbers[f"pendulum:{joint.name}.initial_displacement.{name}"] == value
    assert dumps(SEVERAL[kind]).rstrip() in reference()
