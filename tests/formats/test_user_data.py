"""Data of the user's on bodies and joints: kept by files, replaced numbers and edits. D7."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftjax
from shiftjax.formats import dumps, load, to_dict
from shiftjax.formats.schema import schema
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
CHECK = jsonschema.Draft202012Validator(schema())  # made once: the schema has 90 kinds of elements
PART = {"number": "4711-A", "bought": True, "sizes": [1, 2.5, {"hole": None}]}


def arm(body: Any, joint: Any = None) -> Model:
    builder = shiftjax.ModelBuilder()
    part = builder.assembly("robot")
    part.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), data=body).body("hand", mass=0.1, inertia=(0.1, 0.1, 0.1))
    part.joint("axis", "revolute", child="arm", axis="y", data=joint)
    part.joint("wrist", "revolute", parent="arm", child="hand", axis="y", data=joint)
    return builder.build()


def data_of(model: Model, path: str) -> Any:
    return thaw({**dict(model.bodies()), **dict(model.joints())}[path].data)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_any_json_value_comes_back(value: Any) -> None:
    """By the file, to the byte, and by the schema; what says nothing is nothing."""
    model = arm(value)
    text = dumps(to_dict(model))
    again = load(json.loads(text))
    CHECK.validate(json.loads(text))
    kept = value if isinstance(value, bool | int | float) or value else None
    assert again == model and dumps(to_dict(again)) == text
    assert json.dumps(data_of(again, "robot:arm"), sort_keys=True) == json.dumps(kept, sort_keys=True)


def test_it_goes_along_with_edits() -> None:
    """Numbers that are replaced, copies, joints of another kind; what goes is said. No run reads it."""
    model = arm(PART, ["m4", 2])
    assert data_of(model.replace({"arm.mass": 2.0}), "robot:arm") == PART
    assert not any("data" in path for path in model.numbers())
    edit = shiftjax.Editor(model).change_type("wrist", "spherical").invert("wrist").split("arm", "half")
    assert data_of(edit.model, "robot:wrist") == ["m4", 2] and data_of(edit.model, "robot:arm") == PART
    copied = edit.copy("arm", "second").model
    (twin,) = (path for path, _ in copied.bodies() if "second" in path and path.endswith("arm"))
    assert data_of(copied, twin) == PART
    merged = shiftjax.Editor(arm(PART, "screw")).merge("wrist")
    assert data_of(merged.model, "robot:arm") == PART and any("data of robot:wrist went" in x for x in merged.notes)
    plain, marked = (shiftjax.simulate(one, 0.05, channels=["axis.q"]) for one in (arm(None), model))
    assert (plain.channels["axis.q"] == marked.channels["axis.q"]).all() and plain.notes == marked.notes
