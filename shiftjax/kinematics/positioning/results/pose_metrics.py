"""Metrics of a reached pose: expressions of channels there, of `missed(level)` and of `reached()`. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Vec
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, names
from shiftjax.kinematics.positioning.function_rows import PoseFunction, observed_pose, refuse_more_than_poses
from shiftjax.kinematics.positioning.results.pose_metric_texts import is_channel, over_terms, text_of
from shiftjax.measures.aims import NO_AIM, Aim, aim_of
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels
from shiftjax.measures.expression_units import MIXED, unit_of
from shiftjax.measures.metric_texts import parsed
from shiftjax.measures.run_metrics import check_name
from shiftjax.mechanism.model import Model
from shiftjax.record import record


@record
class PoseMetric:
    """An expression whose names are those of channels and of `missed(level)`, `reached()`; and what is good of it."""

    text: str
    node: Expression
    unit: str
    aim: Aim = NO_AIM


def pose_metrics(
    model: Model, ground: Ground, levels: Sequence[str], wanted: Mapping[str, Any] | None
) -> tuple[dict[str, PoseMetric], dict[str, PoseFunction]]:
    """The metrics of poses, and channels in them by their names.

    Args:
        levels: of the goals, as they are called. wanted: name -> a text, or a mapping of it as `of` and of what is
            good.

    Raises:
        ModelError: what is no such metric; a channel of more than a pose, a level without goals.
    """
    out, observed = dict[str, PoseMetric](), dict[str, PoseFunction]()
    for name, words in (wanted or {}).items():
        check_name(name)
        where, text = f"metric {name}", text_of(words, f"metric {name}")
        node = over_terms(parsed(text, where), where, levels)
        paths = list(dict.fromkeys(one.text for one in names(node) if is_channel(one)))
        for path, channel in zip(paths, channels(ground.plan, paths, model.resolve), strict=True):
            if path not in observed:
                observed[path] = _observed(channel)
                refuse_more_than_poses(observed[path], ground, where)
        sizes = {one.text: observed[one.text].size if one.text in observed else 1 for one in names(node)}
        if (size := len(evaluate(node, {one: [1.0] * n for one, n in sizes.items()}, where))) != 1:
            raise LANES.refused(where, f"{size} numbers", "one number", "Pick with [k], or take its norm(...).")
        unit = unit_of(node, {one: observed[one].unit if one in observed else "1" for one in sizes}) or "1"
        out[name] = PoseMetric(text, node, unit, aim_of(words, where, "" if unit == MIXED else unit))
    return out, observed


def _observed(channel: Channel) -> PoseFunction:
    def values(at: LaneState) -> Vec:
        return list(channel.observe(observed_pose(at)))

    return PoseFunction(("channel", channel.path), values, channel.size, channel.unit, channel.path)
