"""Trajectories of members, wherever they come from: read from the store or simulated again, the latest in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.poses import continuous, last_valid
from shiftjax.viewer.study.lacking_members import LackingMembers
from shiftjax.viewer.study.stored_trajectories import StoredTrajectories

GROUND_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class LatestArrays:
    """Arrays by name and member, as many of the latest as fit into some memory; at least one."""

    def __init__(self, room: int) -> None:
        """room: [bytes]."""
        self.room = room
        self._arrays: OrderedDict[tuple[str, int], np.ndarray] = OrderedDict()

    @property
    def size(self) -> int:
        """Memory that they take [bytes]."""
        return sum(array.nbytes for array in self._arrays.values())

    def get(self, name: str, member: int) -> np.ndarray | None:
        values = self._arrays.get((name, member))
        if values is not None:
            self._arrays.move_to_end((name, member))
        return values

    def put(self, name: str, member: int, values: np.ndarray) -> np.ndarray:
        """Adds an array, which nobody may change from now on, and drops the least recently used."""
        values.flags.writeable = False
        self._arrays[name, member] = values
        while len(self._arrays) > 1 and self.size > self.room:
            self._arrays.popitem(last=False)
        return values


class Trajectories:
    """Tracks and channels of the members of a study at its stored instants.

    Attributes:
        stored: what the store holds. lacking: the members without stored poses.
        nodes: "fixed" and the bodies, in the order of poses.
        latest: the arrays in memory: tracks by the name "", channels by their path.
    """

    def __init__(self, stored: StoredTrajectories, lacking: LackingMembers, nodes: tuple[str, ...],
                 message: Callable[[int], str], room: int) -> None:  # fmt: skip
        """message: why a member has no pose. room: of the arrays in memory [bytes]."""
        self.stored, self.lacking, self.nodes = stored, lacking, nodes
        self._message, self.latest = message, LatestArrays(room)
        self._ends: dict[int, float] = {}

    def tracks(self, members: Sequence[int]) -> list[np.ndarray]:
        """(n, nodes, 7) of each of several members, read-only. Those not in memory are read together as far as there is
        room.

        Raises:
            ModelError: one never started, or its trajectory was not kept and cannot be simulated again.
        """
        tracks = {member: self.latest.get("", member) for member in members}
        missing = [member for member, track in tracks.items() if track is None]
        at_once = max(1, self.latest.room // (56 * len(self.stored.time) * len(self.nodes)))  # seven doubles a pose
        for first in range(0, len(missing), at_once):
            block = missing[first : first + at_once]
            for member, poses in zip(block, self._poses(block), strict=True):
                tracks[member] = self.latest.put("", member, self._track(member, poses))
        return [track for member in members if (track := tracks[member]) is not None]

    def end(self, member: int) -> float:
        """Time [s] of the last instant at which a member has a pose."""
        if member not in self._ends:
            self.tracks([member])
        return self._ends[member]

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) a recorded channel of a member, read-only; NaN after it ended early."""
        values = self.latest.get(path, member)
        if values is not None:
            return values
        if member in self.stored.members:
            return self.latest.put(path, member, self.stored.channel(path, member))
        again = self.lacking.result(member, self.stored.members)
        nothing = np.full(len(self.stored.time), np.nan)
        return self.latest.put(path, member, again.channels.get(path, nothing))

    def _poses(self, members: Sequence[int]) -> list[np.ndarray]:
        """(n, bodies, 7) of each, as stored or simulated again."""
        in_store = [member for member in members if member in self.lacking.kept]
        self.lacking.simulate(members)
        poses = dict(zip(in_store, self.stored.poses(in_store) if in_store else (), strict=True))
        return [poses[k] if k in poses else self._poses_again(k) for k in members]

    def _poses_again(self, member: int) -> np.ndarray:
        """(n, bodies, 7) of a member that is simulated again, NaN for bodies that its model does not have."""
        again = self.lacking.result(member, self.lacking.kept)
        poses = np.full((len(again.time), len(self.nodes) - 1, 7), np.nan)
        for k, body in enumerate(again.bodies):
            poses[:, self.nodes.index(body) - 1] = again.pose[:, k]
        return poses

    def _track(self, member: int, poses: np.ndarray) -> np.ndarray:
        """(n, nodes, 7) from (n, bodies, 7): ground in front, no gaps, signs continuous. Notes when it ended."""
        finite = np.all(np.isfinite(poses), axis=2)  # (n, bodies); a body that the member's model has not never is
        poses = np.where(np.any(finite, axis=0)[:, None], poses, GROUND_POSE)
        known = np.all(np.isfinite(poses), axis=(1, 2)) & np.any(finite, axis=1)
        if not known.any():
            why = self._message(member) or "no reason is stored"
            where = f"{self.lacking.where}: member {member}"
            raise ModelError(where, "no pose at any time", "a member that started", why)
        self._ends[member] = float(self.stored.time[np.flatnonzero(known)[-1]])
        ground = np.broadcast_to(GROUND_POSE, (len(poses), 1, 7))
        return continuous(np.concatenate([ground, poses[last_valid(known)]], axis=1))
