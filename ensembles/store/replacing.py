"""A new file or folder beside its target, which then takes the target's place in one step, or leaves no trace."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftjax.errors import ModelError
from shiftjax.shield import shielded

DRAFT, OLD = "draft", "old"
REPLACE = "Use --force to replace it."


def beside(target: Path, kind: str) -> Path:
    """The name of this process's draft, or of what it replaces."""
    return target.with_name(f".{target.name}.{os.getpid()}@{socket.gethostname()}.{kind}")


def taken(target: Path, todo: str = REPLACE) -> ModelError:
    return ModelError(str(target), "something of that name", "a new name", todo)


@contextmanager
def replacing(target: Path, *, force: bool) -> Iterator[Path]:
    """The name of a draft in the same folder; renamed to the target on success, removed otherwise.

    Raises:
        ModelError: without `force`, a target that has appeared meanwhile.
    """
    draft, old = beside(target, DRAFT), beside(target, OLD)
    try:
        yield draft
        with shielded():
            _put(draft, target, old, force=force)
    finally:
        with shielded():
            if old.exists() and not target.exists():
                old.rename(target)
            for leftover in (draft, old):
                remove(leftover)


def _put(draft: Path, target: Path, old: Path, *, force: bool) -> None:
    """The draft in the place of the target. Of two processes at once none without `force` replaces the other's."""
    try:
        if force:
            if target.is_dir():  # a folder cannot be replaced in one call: the old one is renamed first
                target.rename(old)
            draft.replace(target)
        elif draft.is_dir():
            draft.rename(target)  # fails where the target is a folder with something in it, as every result
        else:
            os.link(draft, target)  # fails where the target exists
    except (FileExistsError, NotADirectoryError):
        raise taken(target) from None
    except OSError:
        if target.exists():
            raise taken(target) from None
        if force or draft.is_dir():
            raise
        draft.replace(target)  # a file system without links


def remove(path: Path) -> None:
    """A file or a folder, where there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def clean(target: Path) -> None:
    """Removes the drafts that dead processes of this machine left; what such a one was replacing comes back."""
    first, last = f".{target.name}.", f"@{socket.gethostname()}."
    for path in target.parent.glob(f".*.{DRAFT}"), target.parent.glob(f".*.{OLD}"):
        for leftover in path:
            number, _, kind = leftover.name.removeprefix(first).partition(last)
            if leftover.name.startswith(first) and kind in (DRAFT, OLD) and number.isdigit() and not alive(int(number)):
                if kind == OLD and not target.exists():
                    leftover.rename(target)
                else:
                    remove(leftover)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def refuse_unwritable(target: Path) -> None:
    """Raises where no draft can be made: before hours are spent on what goes into it."""
    draft = beside(target, DRAFT)
    try:
        with shielded():
            draft.mkdir()
            draft.rmdir()
    except OSError as error:
        fault = f"a folder that cannot be written to ({error.strerror})"
        raise ModelError(str(target), fault, "one that can", "Choose another folder, or change its rights.") from None
