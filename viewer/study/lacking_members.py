"""Members whose poses were not kept: which of them are simulated again, and why others cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.members.study_like import NOBODY
from shiftjax.viewer.study.resimulation import MOST, Resimulation, Simulated

KEEP = "Run again with --keep all, or --keep N for N members (keep= in Python)."


class LackingMembers:
    """The members of a study without stored poses.

    Attributes:
        where: the name of the study, for messages.
        kept: (K,) members that have poses in the store.
        resimulation: what simulates others again, None for a result in memory.
    """

    def __init__(self, where: str, posed: np.ndarray) -> None:
        self.where, self.kept = where, posed
        self.resimulation: Resimulation | None = None

    @property
    def simulated(self) -> np.ndarray:
        """(k,) members that were simulated again, in memory."""
        return NOBODY if self.resimulation is None else self.resimulation.members

    def request(self, members: Sequence[int]) -> None:
        """Has those of the members simulated again that were not kept, in another process; does not wait for them."""
        if self.resimulation is not None:
            self.resimulation.request(k for k in members if k not in self.kept)

    def awaited(self, members: Sequence[int]) -> bool:
        """Whether some of the members are being simulated again."""
        return self.resimulation is not None and self.resimulation.outstanding(members)

    def news(self) -> tuple[str, list[str]]:
        """What is being simulated again and how far it is, "" for nothing; messages since the last call."""
        return ("", []) if self.resimulation is None else (self.resimulation.text(), self.resimulation.notes())

    def prepare(self, members: Sequence[int], tell: Callable[[float], None] = lambda done: None) -> None:
        """Waits until those of the members that were not kept are simulated again; Ctrl-C ends that.

        Args:
            tell: called with the fraction done.

        Raises:
            ModelError: one that cannot be simulated again.
        """
        lacking = [k for k in members if k not in self.kept]
        if self.resimulation is not None and lacking:
            self.resimulation.wait(lacking, tell)
        elif lacking:
            raise self._refusal(lacking[0], self.kept)

    def result(self, member: int, stored: np.ndarray) -> Simulated:
        """A member simulated again, waited for; what failed once fails at once.

        Args:
            stored: members that have in the store what is asked for, which this one is none of.
        """
        if self.resimulation is None:
            raise self._refusal(member, stored)
        self.simulate([member])
        simulated = self.resimulation.result(member)
        assert simulated is not None, "what was waited for is there"
        return simulated

    def simulate(self, members: Sequence[int]) -> None:
        """Simulates those of the members again that were not kept, all at once; what failed once fails at once."""
        lacking = [k for k in members if k not in self.kept]
        if self.resimulation is not None:
            for member in lacking:
                self.resimulation.result(member)
        self.prepare(lacking)

    def to_simulate(self, members: np.ndarray, *, any_stored: bool) -> np.ndarray:
        """Those of some members that are simulated again when they are shown: of more than `MOST` the first of them.

        Args:
            members: (k,) that have begun to run and have no stored poses.
            any_stored: whether others of the same choice are stored; then more than `MOST` are left out.
        """
        if self.resimulation is None:
            return NOBODY
        able = [k for k in members.tolist() if not self.resimulation.failed(k)]
        new = members[np.isin(members, np.setdiff1d(able, self.simulated))]
        return new[:MOST] if len(new) <= MOST or not any_stored else NOBODY

    def reason(self, members: np.ndarray) -> str:
        """Why members are not simulated again, and what to do."""
        if self.resimulation is None:
            return KEEP
        failed = next((k for k in members.tolist() if self.resimulation.failed(k)), None)
        if failed is None:
            return f"More than {MOST} are not simulated again at once: choose fewer."
        try:
            self.resimulation.result(failed)
        except ModelError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Ends the process that simulates members again, if there is one; what it gave stays, and it starts anew."""
        if self.resimulation is not None:
            self.resimulation.close()

    def _refusal(self, member: int, stored: np.ndarray) -> ModelError:
        allowed = f"one of the members kept ({listed(stored)})" if len(stored) else "nothing, no member was kept"
        return ModelError(f"{self.where}: member {member}", "no stored trajectory", allowed, KEEP)


def listed(members: np.ndarray) -> str:
    """The numbers of members as text: all of a few, the first of many."""
    first = ", ".join(str(member) for member in members[:8])
    return first if len(members) <= 8 else f"{first}, ... ({len(members)} in all)"
