"""The line that is typed in the console: those given before, what Tab completes. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shiftjax.mechanism.model import Model
from shiftjax.viewer.gui.state.typed.line_completion import Completed, StepWords, completed, paths_of, step_at, steps_of

REMEMBERED = 200  # lines


class TypedLine:
    """What the console keeps of its line.

    Attributes:
        given: earlier lines, the last one last. cursor: in the line [letters].
        choices: that are listed, of the line that `listed_for` is.
    """

    def __init__(self) -> None:
        self.given: list[str] = []
        self.cursor = 0
        self.choices: tuple[str, ...] = ()
        self.listed_for = ""
        self._at = 0  # of the earlier lines, from the end; 0 is the new one
        self._new = ""
        self._steps: tuple[Sequence[str], dict[str, StepWords]] = ((), {})
        self._paths: tuple[Model | None, dict[str, list[str]]] = (None, {})

    def give(self, line: str) -> None:
        """A line was done; twice the same is one."""
        self.given = [*(self.given if self.given[-1:] != [line] else self.given[:-1]), line][-REMEMBERED:]
        self._at, self._new, self.choices = 0, "", ()

    def walk(self, by: int, line: str) -> str:
        """The line that is so many earlier ones back from the present one, which is there again at the end."""
        if self._at == 0:
            self._new = line
        self._at = min(max(self._at + by, 0), len(self.given))
        return self.given[-self._at] if self._at else self._new

    def complete(
        self, line: str, cursor: int, lines: Sequence[str], words: Sequence[str], model: Model,
        coordinates: Iterable[str], goals: Iterable[str],
    ) -> Completed:  # fmt: skip
        """The line after Tab; where nothing can be added, all that fits is listed.

        Args:
            lines: that say what the steps are. words: beside these. coordinates, goals: of the model as it stands.
        """
        if self._paths[0] is not model:
            self._paths = (model, paths_of(model, (), ()))
        paths: Mapping[str, Sequence[str]] = {**self._paths[1], "coordinate": [*coordinates], "goal": [*goals]}
        result = completed(line, cursor, self.steps(lines), words, paths)
        several = result.text == line and len(result.choices) > 1
        self.choices, self.listed_for = result.choices if several else (), line
        return result

    def steps(self, lines: Sequence[str]) -> dict[str, StepWords]:
        """The steps of lines that say what they are."""
        if self._steps[0] is not lines:
            self._steps = (lines, steps_of(lines))
        return self._steps[1]

    def step(self, line: str, lines: Sequence[str]) -> StepWords | None:
        """The step that is being written."""
        return step_at(line, self.cursor, self.steps(lines))
