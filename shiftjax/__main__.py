"""`python -m shiftjax` is the command `shiftjax`."""

from shiftjax.cli import entry

entry()
