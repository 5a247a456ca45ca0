"""The one decorator of every immutable record of the package."""

from __future__ import annotations

import dataclasses
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T]) -> type[T]:
    """Makes `cls` a frozen, slotted, hashable dataclass; change it with `dataclasses.replace`."""
    return dataclasses.dataclass(frozen=True, slots=True)(cls)
