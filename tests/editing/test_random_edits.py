"""Hundreds of random edits: bodies keep their places and one way to ground, files say it all. M7, M10, M11, M22,
M30, M41, M42, D15."""

from collections import Counter

import numpy as np
import pytest

import shiftjax
from shiftjax.formats import dumps, load, to_dict
from shiftjax.joints import KINDS
from shiftjax.mechanism.sublinkages import DISPOSITIONS
from shiftjax.topology.spanning_tree import spanning_tree
from tests.editing.test_editor import STAYS, far
from tests.support.complete import part, without

TYPES = ("revolute", "prismatic", "cylindrical", "spherical", "rigid", "planar", "float", "universal")
STEPS = part(250, 80)  # of each of four mechanisms
ALL_KINDS = part(25, 20)  # of steps, that those are of at least
FEW, MANY = 3, 6  # bodies
NAMES = ("a", "b")  # of sublinkages
REPLAYED = without(["double_pendulum", "four_bar", "bricard"], ["four_bar", "bricard"])  # as long as the steps
CHECKED = 10  # steps between two looks at the file


def random_sublinkage(rng: np.random.Generator, joint: str) -> tuple[str, list[str] | None]:
    return str(rng.choice(NAMES)), [joint] if rng.random() < 0.8 else None


def random_step(edit: shiftjax.Editor, rng: np.random.Generator, number: int) -> str:
    """One of all kinds of steps, of a random element."""
    bodies, joints = ([path for path, _ in some] for some in (edit.model.bodies(), edit.model.joints()))
    body, other, joint = str(rng.choice(bodies)), str(rng.choice(bodies)), str(rng.choice(joints))
    name, room = f"new_{number}", len(bodies) < MANY
    frames = [frame.name for frame in dict(edit.model.bodies())[body].frames if rng.random() < 0.5]
    axis = [0.0, 1.0, 0.0] if rng.random() < 0.5 else rng.normal(size=3).tolist()
    coordinate = str(rng.choice(KINDS[dict(edit.model.joints())[joint].type].paths(joint) or (joint,)))
    value = float(rng.normal())
    steps = {
        "add_body": lambda: edit.add_body(name, at=rng.normal(size=3), mass=1.0) if room else edit.remove(body),
        "add_joint": lambda: edit.add_joint(name, str(rng.choice(TYPES[:3])), body, other, axis=axis),
        "remove joint": lambda: edit.remove(joint),
        "remove body": lambda: edit.remove(body) if len(bodies) > FEW else edit.invert(joint),
        "reattach": lambda: edit.reattach(joint, **{str(rng.choice(["parent", "child"])): body}),
        "change_type": lambda: edit.change_type(joint, str(rng.choice(TYPES))),
        "move_joint": lambda: edit.move_joint(joint, at=rng.normal(size=3), axis=None if room else axis),
        "invert": lambda: edit.invert(joint),
        "split": lambda: edit.split(body, name, frames, mass=float(rng.random())),
        "merge": lambda: edit.merge(joint),
        "ground": lambda: edit.ground(body, name),
        "root": lambda: edit.root(body),
        "copy": lambda: edit.copy(body, name) if room else edit.merge(joint),
        "make_closure": lambda: edit.make_closure(joint),
        "make_tree": lambda: edit.make_tree(joint),
        "limit": lambda: edit.limit(coordinate, value - 1.0, value + 1.0 if room else None),
        "target": lambda: edit.target(coordinate, value if room else None, weight=2.0),
        "posture": lambda: edit.posture(coordinate, value, level=4),
        "lock": lambda: edit.lock(coordinate, body),
        "unlock": lambda: edit.unlock(*([coordinate] if room else [])),
        "make_virtual": lambda: edit.make_virtual(joint if rng.random() < 0.8 else body),
        "make_real": lambda: edit.make_real(joint),
        "sublinkage": lambda: edit.sublinkage(
            *random_sublinkage(rng, joint), disposition=str(rng.choice(DISPOSITIONS))
        ),
        "remove sublinkage": lambda: edit.remove(f"sublinkages.{rng.choice(NAMES)}"),
        "abstract": lambda: edit.abstract(body, other, name, axis=axis) if room else edit.make_tree(joint),
        "rename": lambda: edit.rename(joint if room else body, name, "joint" if room else "body"),
    }
    kind = str(rng.choice(list(steps)))
    steps[kind]()
    return kind


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bricard", "double_pendulum"])
def test_random_edits(name: str) -> None:
    edit, rng = shiftjax.Editor(name), np.random.default_rng(0)
    before, done, kinds = dumps(to_dict(edit.model)), 0, Counter[str]()
    for number in range(2 * STEPS):
        poses, model = edit.poses, edit.model
        try:
            kinds[random_step(edit, rng, number)] += 1
        except shiftjax.ModelError:
            assert edit.model is model
            continue
        done += 1
        assert far(poses, edit.poses) < STAYS, edit.script.splitlines()[-1]
        leading = [branch for branch in spanning_tree(edit.model).branches if not branch.chord]
        assert len(leading) == len([*edit.model.bodies()])
        if done % CHECKED == 0:
            document = to_dict(edit.model)
            assert load(document) == edit.model
        if done == STEPS:
            break
    assert done == STEPS and len(kinds) >= ALL_KINDS
    last = dumps(to_dict(edit.model))
    if name in REPLAYED:
        assert dumps(to_dict(shiftjax.Editor(name).replay(edit.script).model)) == last
    while edit.undo():
        pass
    assert dumps(to_dict(edit.model)) == before
    while edit.redo():
        pass
    assert dumps(to_dict(edit.model)) == last
