"""What is marked as the front of the members shown: those that no other one beats. No GL, no GUI library."""

from __future__ import annotations


class Front:
    """The front in the scatter plot.

    Attributes:
        on: whether it is marked. text: its metrics, as `pareto(...)` takes them; "" for both axes of the plot.
        typed: in its text box. wrong: why what was typed cannot be read.
    """

    def __init__(self) -> None:
        self.on, self.text, self.typed, self.wrong = False, "", "", ""
