"""`Editor`: a mechanism that is changed step by step, with all that was done, to take back, repeat and write down."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiftjax.editing import abstraction, bodies, joints, linkage_parts, marks, numbers, renaming
from shiftjax.editing.changes import OF_THE_WHOLE, Changed, End, add_element, rooted
from shiftjax.editing.elements import consistent, without_idle_events
from shiftjax.editing.linkage_parts import of_joints_there
from shiftjax.editing.path_moves import PathMoves, with_moved_events
from shiftjax.editing.scripts import line_of, replayed
from shiftjax.editing.standing import (
    MOVED,
    Poses,
    StandingModel,
    closed_elsewhere,
    driven_joints,
    moved,
    size_of,
    standing,
    stated_at,
    with_joints,
)
from shiftjax.errors import ModelError, need, need_mapping, need_number
from shiftjax.formats.files import load, save
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child, listed, parts
from shiftjax.mechanism.records import walk
from shiftjax.record import record

Stated = float | str | None  # in SI, or with a unit
STEPS = (
    "add", "add_body", "add_joint", "remove", "reattach", "change_type", "move_joint", "invert", "split", "merge",
    "ground", "root", "copy", "make_closure", "make_tree", "limit", "target", "posture", "lock", "unlock",
    "make_virtual", "make_real", "sublinkage", "abstract", "rename", "set",
)  # fmt: skip


@record
class EditStep:
    """A state of an edited model.

    Attributes:
        lines: of the script that led there from the one before. notes: what was changed beside what they say.
        moves: where paths of the one before went.
    """

    model: Model
    standing: StandingModel
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    moves: tuple[PathMoves, ...] = ()


class Editor:
    """A mechanism that is changed step by step: bodies stay where they stand, and everything can be taken back.

    Each method is one step: it makes another model of the present one, which is a value and stays what it was. What a
    step changes beside what it says, as a spring of a joint that is gone, is in `notes`. A body that nothing joins to
    ground any more gets a free joint there, which goes when another one joins it again. Where a loop would close
    elsewhere, joints state where they stand. Elements are named by their paths, or the ends of them.

    Args:
        model: a Model, a library name or a path.

    Attributes:
        analyses: how often the topology was analysed: once a step, or a transaction.
    """

    def __init__(self, model: Model | str | Path) -> None:
        model = model if isinstance(model, Model) else load(model)
        self._history = [EditStep(model, standing(model), (), ())]
        self._at, self._open = 0, 0
        self._pending: Changed | None = None
        self._lines: list[str] = []
        self.analyses = 1

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model as it is now."""
        return self._present.model

    @property
    def poses(self) -> Poses:
        """Body -> (R (3, 3), p (3,) [m]) in the world, of ground, too."""
        return self._present.poses

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last step changed beside what it says."""
        return self._history[self._at].notes

    @property
    def freedoms(self) -> int:
        """Of the mechanism where it stands; -1 where its loops cannot be analysed."""
        return self._history[self._at].standing.freedoms

    @property
    def script(self) -> str:
        """All steps to the present model, a line each, those of a transaction in one; `replay` does them again."""
        return "".join(f"{'; '.join(step.lines)}\n" for step in self.steps)

    @property
    def steps(self) -> tuple[EditStep, ...]:
        """What led to the present model, transaction by transaction."""
        return tuple(self._history[1 : self._at + 1])

    @property
    def _present(self) -> Changed:
        if self._pending is not None:
            return self._pending
        entry = self._history[self._at]
        return Changed(entry.model, entry.standing.poses)

    # -- history -------------------------------------------------------------------------------------------------------

    def undo(self) -> bool:
        """Takes the last step back; False where there is none."""
        self._refuse_inside("undo")
        self._at -= (gone := self._at > 0)
        return gone

    def redo(self) -> bool:
        """Does the step again that was taken back last; False where there is none."""
        self._refuse_inside("redo")
        self._at += (there := self._at + 1 < len(self._history))
        return there

    @contextmanager
    def transaction(self) -> Iterator[Editor]:
        """Steps that are one: analysed, noted and taken back together. An error within takes all of them back."""
        before = self._present, list(self._lines)
        self._open += 1
        self._pending = before[0]
        try:
            yield self
        except BaseException:
            self._open -= 1
            self._pending, self._lines = (before[0], before[1]) if self._open else (None, [])
            raise
        self._open -= 1
        if not self._open:
            self._close()

    def replay(self, script: str) -> Editor:
        """Does the steps of a script, each a line as `script` has them.

        Raises:
            ModelError: a line that is no step; what a step raises. The steps before it are done.
        """
        replayed(self, script, STEPS)
        return self

    def save(self, path: str | Path) -> None:
        """Writes the model as a file of the Shift format, replacing what is there.

        Raises:
            ModelError: it cannot be written.
        """
        save(self.model, path)

    def _refuse_inside(self, what: str) -> None:
        if self._open:
            raise ModelError(what, "a transaction that is open", "it before or after", "End the transaction first.")

    # -- steps ---------------------------------------------------------------------------------------------------------

    def add_body(self, name: str, assembly: str | None = None, *, at: Any = (0.0, 0.0, 0.0), **words: Any) -> Editor:
        """A body that nothing holds yet.

        Args:
            assembly: in which it stands, a new one where there is none of the name; the first where left out.
            at: its place in the world [m], or (R, place).
            words: as of `ModelBuilder`'s bodies: mass, center_of_mass, inertia, frames, geometry.
        """
        outer = self._outer(assembly)
        where = {"assembly": assembly} if assembly is not None else {}
        return self._do("add_body", (name,), {**where, "at": at, **words},
                        lambda now: bodies.add_body(now, name, outer, at, words))  # fmt: skip

    def add_joint(
        self,
        name: str,
        type: str,
        parent: End,
        child: End,
        *,
        assembly: str | None = None,
        at: Any = None,
        **words: Any,
    ) -> Editor:
        """A joint between two frames.

        Args:
            parent, child: (body, frame), "fixed" is ground: bodies are led to where both meet. Or a body alone, which
                gets a frame where the other end is, so that nothing moves; of two such bodies the joint is `at` a
                place in the world [m], or (R, place), or at the origin of the parent.
            words: as of `ModelBuilder`'s joints: axis, initial_displacement, stiffness, ...
        """
        where: dict[str, Any] = {"assembly": assembly} if assembly is not None else {}
        where |= {} if at is None else {"at": at}
        outer = None if assembly is None else self._outer(assembly)
        return self._do("add_joint", (name, type, parent, child), {**where, **words},
                        lambda now: joints.add_joint(now, name, type, (parent, child), outer, at, words),
                        keeps=isinstance(parent, str) or isinstance(child, str))  # fmt: skip

    def add(self, what: str, name: str, assembly: str | None = None, **words: Any) -> Editor:
        """A spring or another force, a constraint, a driver, a parameter, a point, or an event.

        Args:
            what: "restraint", "force", "constraint", "driver", "parameter", "point" or "event".
            assembly: the first where left out; parameters, points and events are of the whole model.
            words: as of `ModelBuilder`'s: type, joint or frames, and numbers; value and unit, position, or of.
        """
        args = (what, name) if assembly is None else (what, name, assembly)
        if what in OF_THE_WHOLE:
            return self._do("add", args, words, lambda now: numbers.add_named(now, what, name, assembly, words))
        outer = self._outer(assembly)
        return self._do("add", args, words, lambda now: add_element(now, what, name, outer, words), keeps=False)

    def remove(self, *paths: str) -> Editor:
        """Bodies, joints, frames, forces, constraints, drivers, and what refers to them; all other bodies stay. A
        parameter, a point or an event goes by `parameters.L`; what follows from it is a number then."""
        return self._do("remove", paths, {}, lambda now: bodies.remove(now, paths))

    def reattach(self, joint: str, *, parent: End | None = None, child: End | None = None) -> Editor:
        """A joint with an end on another body, where it is; that gets a frame there."""
        words = {name: end for name, end in (("parent", parent), ("child", child)) if end is not None}
        return self._do("reattach", (joint,), words, lambda now: joints.reattach(now, joint, parent, child))

    def move_joint(self, joint: str, *, at: Any = None, axis: Any = None) -> Editor:
        """A joint elsewhere on its two bodies, which stay where they stand, as its coordinates do.

        Args:
            at: its place in the world [m], or (R, place) of its frame; where it is if left out. axis: where its axis
                points in the world, "x", "y", "z" or (3,); as it does if left out.
        """
        words = {name: one for name, one in (("at", at), ("axis", axis)) if one is not None}
        return self._do("move_joint", (joint,), words, lambda now: joints.move_joint(now, joint, at, axis))

    def change_type(self, joint: str, type: str, **words: Any) -> Editor:
        """A joint of another kind; its axis stays where the new kind has one and none is given."""
        return self._do("change_type", (joint, type), words, lambda now: joints.change_type(now, joint, type, words))

    def invert(self, joint: str) -> Editor:
        """A joint whose parent is its child; its coordinates stay as they are."""
        return self._do("invert", (joint,), {}, lambda now: joints.invert(now, joint))

    def split(self, body: str, name: str, frames: Sequence[str] = (), **words: Any) -> Editor:
        """A body as two, welded: the new one takes some frames, and has the mass and shapes of `words`."""
        need("split: frames", frames, (list, tuple), "a list of names of frames")
        return self._do("split", (body, name, list(frames)), words,
                        lambda now: bodies.split(now, body, name, frames, words))  # fmt: skip

    def merge(self, joint: str) -> Editor:
        """The two bodies of a joint as one, the parent; the joint goes, and its freedoms."""
        return self._do("merge", (joint,), {}, lambda now: bodies.merge(now, joint))

    def ground(self, body: str, name: str = "ground") -> Editor:
        """Another body as ground, where it stands; what was ground is a body of no mass of that name."""
        return self._do("ground", (body, name), {}, lambda now: bodies.ground(now, body, name))

    def root(self, body: str) -> Editor:
        """Of a mechanism that floats the free joint at another body."""
        return self._do("root", (body,), {}, lambda now: bodies.root(now, body))

    def copy(self, body: str, name: str, parent: End | None = None) -> Editor:
        """A body and all that hangs on it once more, in an assembly of this name, on the same frame or another one."""
        words = {} if parent is None else {"parent": parent}
        return self._do("copy", (body, name), words, lambda now: bodies.copy(now, body, name, parent))

    def make_closure(self, joint: str) -> Editor:
        """A joint at which its loop is cut: it closes the loop, and leads to no body."""
        return self._do("make_closure", (joint,), {}, lambda now: joints.make_closure(now, joint))

    def make_tree(self, joint: str) -> Editor:
        """A joint at which no loop is cut: it leads to its body, and another one of the loop closes that."""
        return self._do("make_tree", (joint,), {}, lambda now: joints.make_tree(now, joint))

    def limit(self, coordinate: str, low: Stated = None, high: Stated = None) -> Editor:
        """Ends between which posing keeps a coordinate [rad, m, or texts with a unit]; None for no end."""
        return self._do("limit", (coordinate, low, high), {}, lambda now: marks.limit(now, coordinate, low, high))

    def target(self, coordinate: str, value: Stated, *, weight: float = 1.0, level: float | None = None) -> Editor:
        """Where posing takes a coordinate [rad, m, or a text with a unit]; None takes its target away.

        Args:
            weight: among goals of its level. level: smaller ones come first; that of targets, 2, where left out.
        """
        return self._wanted("target", coordinate, value, weight, level)

    def posture(self, coordinate: str, value: Stated, *, weight: float = 1.0, level: float | None = None) -> Editor:
        """As `target`, below all targets: its level is 3 where left out."""
        return self._wanted("posture", coordinate, value, weight, level)

    def _wanted(self, key: str, coordinate: str, value: Any, weight: float, level: float | None) -> Editor:
        words = {
            **({} if isinstance(weight, float) and weight == 1.0 else {"weight": weight}),
            **({} if level is None else {"level": level}),
        }
        return self._do(key, (coordinate, value), words,
                        lambda now: marks.wanted(now, key, coordinate, value, weight, level))  # fmt: skip

    def lock(self, *paths: str) -> Editor:
        """Coordinates, joints and bodies that posing leaves where they are."""
        return self._do("lock", paths, {}, lambda now: marks.lock(now, paths))

    def unlock(self, *paths: str) -> Editor:
        """What posing moves again; all that is locked where nothing is named."""
        return self._do("unlock", paths, {}, lambda now: marks.unlock(now, paths))

    def make_virtual(self, *paths: str) -> Editor:
        """Bodies, which have no mass then, and joints that stand for no part: they are drawn translucent."""
        return self._do("make_virtual", paths, {}, lambda now: marks.virtual(now, paths, on=True))

    def make_real(self, *paths: str) -> Editor:
        """Bodies and joints that are virtual no longer."""
        return self._do("make_real", paths, {}, lambda now: marks.virtual(now, paths, on=False))

    def sublinkage(
        self,
        name: str,
        joints: Sequence[str] | None = None,
        *,
        disposition: str | None = None,
        within: str | None = None,
    ) -> Editor:
        """Joints that are posed together, before, after or with what they stand within; or another word of such a one.

        Args:
            joints: paths; a joint of another sublinkage comes out of that. disposition: "driving", "driven" or
                "simultaneous", as where left out. within: another one, "" the whole linkage, as where left out.
        """
        given = {"joints": joints, "disposition": disposition, "within": within}
        words = {key: value for key, value in given.items() if value is not None}
        return self._do("sublinkage", (name,), words,
                        lambda now: linkage_parts.sublinkage(now, name, joints, disposition, within))  # fmt: skip

    def abstract(
        self, base: End, end: End, name: str, joints: Sequence[str] = abstraction.VIRTUAL, *, axis: Any = None
    ) -> Editor:
        """A block of joints between two bodies stood for by virtual ones, which lead its end; the real ones follow.

        Args:
            base, end: a body, or (body, frame) of which the virtual joints are at the origin.
            name: of the sublinkage of the virtual joints; that of the real ones is called NAME_block.
            joints: kinds of the virtual ones from base to end, one to three of "revolute" and "prismatic".
            axis: "x", "y", "z" or (3,) in the world, normal to the plane of the block; where left out that about which
                all its joints turn.
        """
        words = {} if axis is None else {"axis": axis}
        args = (base, end, name, *(() if joints in (abstraction.VIRTUAL, [*abstraction.VIRTUAL]) else (joints,)))
        return self._do("abstract", args, words,
                        lambda now: abstraction.abstract(now, base, end, name, joints, axis))  # fmt: skip

    def rename(self, path: str, name: str, what: str | None = None) -> Editor:
        """Another name of an object; references, numbers that follow from it, events and what is locked follow.

        Args:
            path: of a body, frame, joint, force, constraint, driver or assembly; or the name of a parameter, point,
                event, light or terrain, as `events.stop` where others have it, too.
            what: it is, as "joint", where several objects have the path.
        """
        words = {} if what is None else {"what": what}
        return self._do("rename", (path, name), words, lambda now: renaming.rename(now, path, name, what))

    def set(self, values: Mapping[str, float | str]) -> Editor:
        """Other numbers by their paths, in SI, with a unit, or as expressions; loops close again, and bodies move.

        Args:
            values: path -> number, "200 mm", or what it follows from: "2.4 * L" in SI. A number that follows from
                another one by its name alone is set there; one that followed by more is a number, and a note says so.
        """
        need_mapping("set", values)
        if not values:
            raise ModelError("set", "no number", "a dict of path -> value", "Name one.")
        for path, value in values.items():
            if not isinstance(value, str):
                need_number(f"set {path}", value, "a finite number, a text with its unit, or an expression")
        words = {path: value if isinstance(value, str) else float(value) for path, value in values.items()}

        return self._do("set", (words,), {}, lambda now: numbers.set_numbers(now, words), keeps=False)

    def _outer(self, assembly: str | None) -> str:
        """The path of an assembly; of the first where none is named."""
        if assembly is None:
            return child("", next((one.name for one in self.model.assemblies), "assembly"))
        need("assembly", assembly, str, "the path of an assembly")
        known = {path for path, _, _ in walk(self.model.assemblies)}
        return assembly if assembly in known or ":" in assembly else child("", parts(assembly)[0])

    # -- within --------------------------------------------------------------------------------------------------------

    def _do(
        self,
        name: str,
        args: Sequence[Any],
        words: Mapping[str, Any],
        change: Callable[[Changed], Changed],
        *,
        keeps: bool = True,
    ) -> Editor:
        """One step; in a transaction it waits for the others.

        Args:
            keeps: whether bodies stay where they are.
        """
        line = line_of(name, args, words)
        with self.transaction():
            now = self._present
            if not keeps and self._lines:  # what came before keeps poses, and is settled before they change
                now = self._settled(now)[0]
            changed = change(now)
            model = changed.model
            if model.events is now.model.events:  # a short path of them may be that of what is new, too
                model = with_moved_events(now.model, model, PathMoves({}), name)
            model, lost = of_joints_there(model)
            model, idle = without_idle_events(now.model, model)
            note = f"events left out, since they name what is not there, or twice: {listed(idle)}" if idle else ""
            changed = dataclasses.replace(changed, model=model).noting(note, *lost)
            origin = None if keeps else changed.model.origin
            replaced = () if keeps else changed.model.replaced
            changed = dataclasses.replace(
                changed, model=dataclasses.replace(changed.model, origin=origin, replaced=replaced)
            )
            if not keeps:
                changed = rooted(changed)
                changed = self._closed(changed)
            self._pending = changed
            self._lines.append(line)
        return self

    def _closed(self, changed: Changed) -> Changed:
        """The model where its loops close, from where it stands or else from near there."""
        self.analyses += 1
        there = standing(changed.model)
        if there.note and (joints := closed_elsewhere(changed.model, there.poses, driven_joints(changed.model))):
            model = with_joints(changed.model, joints)
            there = standing(model)
            names = listed(sorted(joints))
            changed = dataclasses.replace(changed, model=model)
            changed = changed.noting(f"loops did not close from where bodies stood; displacements are stated: {names}")
        return dataclasses.replace(changed, poses=there.poses)

    def _close(self) -> None:
        """What was changed becomes the present."""
        pending, lines = self._pending, tuple(self._lines)
        self._pending, self._lines = None, []
        if pending is None or not lines:
            return
        changed, there = self._settled(pending)
        before = self.freedoms
        if there.freedoms != before:
            changed = changed.noting(f"freedoms: {before} before, {there.freedoms} now")
        del self._history[self._at + 1 :]
        self._history.append(EditStep(changed.model, there, lines, changed.notes, changed.moves))
        self._at += 1

    def _settled(self, changed: Changed) -> tuple[Changed, StandingModel]:
        """The model whose bodies stand where they stood: joints say so where loops would close elsewhere.

        Raises:
            ModelError: bodies that would move all the same; a model that no file could hold.
        """
        changed = rooted(changed)
        (model, lost), wanted = of_joints_there(changed.model), changed.poses
        changed = changed.noting(*lost)
        length = size_of(wanted)
        self.analyses += 1
        there = standing(model)
        if moved(wanted, there.poses, length)[1] > MOVED:
            stated = stated_at(model, wanted, driven_joints(model))
            model = with_joints(model, stated)
            there = standing(model)
            names = listed(sorted(stated))
            changed = changed.noting(f"displacements are stated where they stand: {names}" if stated else "")
        body, far = moved(wanted, there.poses, length)
        if far > MOVED and not self._history[self._at].standing.note:
            fault = f"{body} elsewhere by {far:.3g} of the mechanism's length, or of its turn"
            todo = "Something else leads it, as a driver or a coupling: take that out first."
            raise ModelError("step", fault, "steps that move nothing", todo)
        model, numbers = consistent(model)
        note = f"numbers that followed from others, and do not any more: {listed(numbers)}" if numbers else ""
        source = Path(model.source)
        folder = source.parent if model.source and source.is_file() else None
        load(to_dict(model), folder)  # raises what no file could hold
        return dataclasses.replace(changed, model=model, poses=there.poses).noting(there.note, note), there
