"""The list of all actions, searched by what is typed: words, beginnings, or letters in their order. No GUI library."""

from __future__ import annotations

from collections.abc import Iterable

from shiftjax.viewer.gui.state.keys import Action

INSIDE, LOOSE = 1.0, 3.0  # costs of a word found within another one, and of letters that are apart


class CommandSearch:
    """What is typed in the list of actions.

    Attributes:
        asked: whether it is to open in the next frame. typed: in its box. at: place of the marked line.
    """

    def __init__(self) -> None:
        self.asked, self.typed, self.at = False, "", 0

    def open(self) -> None:
        """Opens the list, empty, in the next frame."""
        self.asked, self.typed, self.at = True, "", 0


def matches(text: str, actions: Iterable[Action]) -> list[Action]:
    """The actions that fit what is typed, the best first, else in their order; all for an empty text."""
    costs = [(cost(text, action), action) for action in actions]
    return [action for price, action in sorted(costs, key=lambda pair: pair[0] or 0.0) if price is not None]


def cost(text: str, action: Action) -> float | None:
    """How badly an action fits: every word of the text has to be in what it does, in its name or in its group; None
    where one is not."""
    total = 0.0
    for word in text.lower().split():
        prices = [_cost(word, action.words.lower()), _cost(word, action.name.replace("_", " "))]
        in_group = _cost(word, action.group.lower())
        prices.append(None if in_group is None or in_group >= LOOSE else in_group + LOOSE)
        known = [price for price in prices if price is not None]
        if not known:
            return None
        total += min(known)
    return total


def _cost(word: str, text: str) -> float | None:
    """0 where a word of the text begins so, more where it is inside of one, most where letters are apart."""
    if f" {word}" in f" {text}":
        return 0.0
    if word in text:
        return INSIDE
    at = spread = 0
    first = text.find(word[0])
    for letter in word:
        at = text.find(letter, at) + 1
        if not at:
            return None
        spread = at - first
    return LOOSE + (spread - len(word)) / len(word)
