"""An example of every element of the file format, for its reference; a test reads each as part of a whole file."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.examples.constraints import CONSTRAINT_EXAMPLES
from shiftjax.formats.examples.forces import FORCE_EXAMPLES
from shiftjax.formats.examples.joints import SEVERAL
from shiftjax.formats.examples.parts import PART_EXAMPLES

# label of the element -> an object of a file
EXAMPLES: dict[str, dict[str, Any]] = PART_EXAMPLES | FORCE_EXAMPLES | CONSTRAINT_EXAMPLES

__all__ = ["EXAMPLES", "SEVERAL"]
