"""What is recorded and measured of each group of a study: what is switched off there has no channels. Host only.

A channel or a metric of the study must exist in one group at least; in the rows of the others it is not a number. What
exists in no group stays in all of them, so that a run refuses it with its reasons.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.group import MemberGroup, total
from shiftjax.errors import ModelError
from shiftjax.expressions.expression import is_path, names
from shiftjax.kinematics.positioning.results.pose_metric_texts import channels_in
from shiftjax.kinematics.ranges.travel_metric_texts import joints_in
from shiftjax.measures.channels import channels
from shiftjax.measures.metric_texts import parsed
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.events import is_off, of_run
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.topology.analysis import analyze
from shiftjax.topology.plan import Plan


def observed(groups: Sequence[MemberGroup], definition: Definition) -> tuple[MemberGroup, ...]:
    """The groups with those channels and metrics of a study in their settings that they have."""
    plans = [_plan(group.model) if len(groups) > 1 else None for group in groups]

    def lost(paths: Sequence[str]) -> frozenset[int]:
        """Groups that have not all of these channels; none where no group has."""
        lacking = {k for k, plan in enumerate(plans) if plan and not _has(plan, groups[k].model, paths)}
        return frozenset() if len(lacking) == len(groups) else frozenset(lacking)

    def unmeasured(words: Any) -> frozenset[int]:
        """Groups that do not have all that a metric is of."""
        if definition.kind == "ik":
            return lost(channels_in(words))
        if definition.kind == "workspace":
            return frozenset()  # all groups have one
        if definition.kind != "travel":
            return lost(_paths(words, events))
        joints = joints_in(words)
        lacking = {k for k, group in enumerate(groups) if not all(_has_joint(group.model, joint) for joint in joints)}
        return frozenset() if len(lacking) == len(groups) else frozenset(lacking)

    of_channels = {path: lost([path]) for path in thaw(definition.channels)}
    asked = {} if not definition.simulated else of_run(groups[0].model.events, definition.settings.get("events"))
    events = {name: () if is_off(words) else _paths(words) for name, words in asked.items()}
    of_metrics = {name: unmeasured(words) for name, words in definition.measured.items()}
    of_events = {name: lost(paths) for name, paths in events.items()}
    every = (_with(group, k, of_channels, of_metrics, definition) for k, group in enumerate(groups))
    return tuple(_with_events(group, k, asked, of_events) for k, group in enumerate(every))


def notes(groups: Sequence[MemberGroup]) -> Iterator[str]:
    """What is not a number in some groups."""
    for what, key in (("channel", "unrecorded"), ("metric", "unmeasured")):
        for name in dict.fromkeys(name for group in groups for name in getattr(group, key)):
            without = [group for group in groups if name in getattr(group, key)]
            members = f"{total(without)} of {total(groups)} members, from member {without[0].first} on"
            yield f"{what} {name}: not a number in {members}, where what it is of is switched off"


def _with(
    group: MemberGroup,
    k: int,
    of_channels: Mapping[str, frozenset[int]],
    of_metrics: Mapping[str, frozenset[int]],
    definition: Definition,
) -> MemberGroup:
    """The k-th group with its channels and metrics."""
    recorded = [path for path, lost in of_channels.items() if k not in lost]
    measured = {name: words for name, words in definition.measured.items() if k not in of_metrics[name]}
    more: dict[str, Any] = ({"channels": recorded} if recorded else {}) | ({"metrics": measured} if measured else {})
    return dataclasses.replace(
        group,
        settings={**{key: value for key, value in group.settings.items() if key != "channels"}, **more},
        unrecorded=tuple(path for path, lost in of_channels.items() if k in lost),
        unmeasured=tuple(name for name, lost in of_metrics.items() if k in lost),
    )


def _with_events(
    group: MemberGroup, k: int, asked: Mapping[str, Any], of_events: Mapping[str, frozenset[int]]
) -> MemberGroup:
    """The k-th group with its events, of a study that has some; those of its model that cannot be there are off."""
    if not asked:
        return group
    here = {name: thaw(words) for name, words in asked.items() if k not in of_events[name]}
    here |= {name: False for name in group.model.events if k in of_events[name]}
    return dataclasses.replace(group, settings={**group.settings, "events": here})


def _plan(model: Model) -> Plan | None:
    """The plan of a model, None of one that cannot run."""
    try:
        return analyze(model)
    except ModelError:
        return None


def _has(plan: Plan, model: Model, paths: Sequence[str]) -> bool:
    try:
        channels(plan, paths, model.resolve)
    except ModelError:
        return False
    return True


def _has_joint(model: Model, path: str) -> bool:
    try:
        return bool(plain_coordinate(model, path, ""))
    except ModelError:
        return False


def _paths(words: str | Mapping[str, Any], events: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """The channels that a metric or an event is taken of, also by its events; none of one that is no expression."""
    try:
        node = parsed(words if isinstance(words, str) else words.get("of", ""), "")
    except ModelError:
        return ()
    by_events = (path for name in names(node) for path in (events or {}).get(name.text, ()))
    return (*(name.text for name in names(node) if is_path(name)), *by_events)
