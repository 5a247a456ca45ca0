"""What the processes that run a study must know of it, as its store says it: all of them have the same designs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.store import study_store
from shiftjax.ensembles.study.definition import Definition, document, from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import MemberGroup, total, with_growths
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.formats.writer import to_dict
from shiftjax.plugins import load_plugins_of
from shiftjax.record import record
from shiftjax.run.results.plain_values import plain
from shiftjax.version import VERSION

PLANNED = ("shiftjax_version", "study", "study_folder", "shard_size", "designs", "groups")  # attributes of a plan


@record
class StudyPlan:
    """A study as its store defines it: what every process that runs a shard of it must know."""

    folder: Path
    definition: Definition
    groups: tuple[MemberGroup, ...]
    size: int  # of a shard
    kept: tuple[int, ...]  # members whose trajectories are written with their shard

    @property
    def late(self) -> bool:
        """Whether trajectories are written when all shards are done."""
        return bool(self.definition.kept.extremes)

    @property
    def shards(self) -> int:
        return -(-total(self.groups) // self.size)


def opened(folder: str) -> StudyPlan:
    """The plan of a store.

    Raises:
        ModelError: no study, one of another version or with plug-ins that are not here, or one whose designs are not
            those that it was begun with.
    """
    about = study_store.about_of(Path(folder))
    load_plugins_of(about)
    return _plan(folder, json.dumps({key: about[key] for key in PLANNED}))


@lru_cache(maxsize=4)
def _plan(folder: str, words: str) -> StudyPlan:
    """The plan of a store with such attributes; another study may come to stand in the same folder."""
    about = json.loads(words)
    if about["shiftjax_version"] != VERSION:
        fault, todo = f"a study of version {about['shiftjax_version']}", f"Go on with that version; this is {VERSION}."
        raise ModelError(folder, fault, f"one of version {VERSION}", todo)
    definition = from_document(json.loads(about["study"]), about["study_folder"])
    groups = designs(definition)
    if about["designs"] != digest(groups):
        fault = "designs that are not those it was begun with: a file that the study names, or a library, has changed"
        raise ModelError(folder, fault, "the same designs", "Put the file back, or begin a new study.")
    groups = with_growths(groups, json.loads(about["groups"]))
    recorded_members = definition.kept.at_once(total(groups))
    return StudyPlan(Path(folder), definition, groups, int(about["shard_size"]), tuple(recorded_members.tolist()))


def digest(groups: Sequence[MemberGroup]) -> str:
    """Of all numbers and models of a study, as they are when it begins."""
    digest = hashlib.sha256()
    for group in groups:
        digest.update(json.dumps(plain(to_dict(group.model)), sort_keys=True).encode())
        for path, values in group.values.items():
            digest.update(path.encode() + np.ascontiguousarray(values, "<f8").tobytes())
    return digest.hexdigest()


def study_digest(definition: Definition, groups: Sequence[MemberGroup]) -> str:
    """Of what is asked, and of all numbers and models: it tells a study where its store does not say it."""
    return hashlib.sha256((json.dumps(document(definition), sort_keys=True) + digest(groups)).encode()).hexdigest()


def resumed(definition: Definition, place: Path) -> dict[str, Any]:
    """The attributes of a store, which must be of this study."""
    about = study_store.about_of(place)
    if json.loads(about["study"]) != document(definition):
        todo = "Resume it with its own study, or choose another name."
        raise ModelError(str(place), "the store of another study", "that of this one", todo)
    return about


def embedded(definition: Definition) -> Definition:
    """The definition with its model in it, so that its store needs no other file."""
    words = document(definition)
    if isinstance(definition.model, str):
        file = definition.model_file
        words["model"] = to_dict(load(definition.model if file is None else file))
    return from_document(json.loads(json.dumps(words)), Path(definition.folder).absolute())
