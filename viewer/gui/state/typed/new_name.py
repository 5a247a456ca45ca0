"""A name that is typed in the place of another one. No GL, no GUI library."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class NewName:
    """Attributes:
    what: it is, and path: of it, as `mechanism.named_objects` has them.
    place: where it is typed: the key of a row of the tree, "" for the properties.
    text: what stands there. focused: whether the keyboard is there.
    """

    what: str
    path: str
    place: str
    text: str
    focused: bool = False
