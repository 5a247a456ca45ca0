"""Readers and writers of model files."""

from shiftjax.formats.files import load, save
from shiftjax.formats.json_text import dumps
from shiftjax.formats.readers import READERS
from shiftjax.formats.writer import to_dict

__all__ = ["READERS", "dumps", "load", "save", "to_dict"]
