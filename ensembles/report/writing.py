"""Writes a report: one HTML file, and a folder of pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import xarray as xr

from shiftjax.ensembles.body_paths import points_of
from shiftjax.ensembles.report import overview_figure, style
from shiftjax.ensembles.report.content import Content, content_of
from shiftjax.ensembles.report.page import page
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.store.replacing import clean, refuse_unwritable, replacing, taken
from shiftjax.errors import ModelError, installing, need_path
from shiftjax.mechanism.model import Model

NEEDS = ("SALib", "matplotlib", "pandas", "plotly")


def write(
    tree: xr.DataTree,
    model: Model,
    path: str | Path,
    png: str | Path | None = None,
    *,
    title: str | None = None,
    force: bool = False,
) -> Path:
    """Writes the report of a stored study and returns its path. The same store gives the same bytes.

    Args:
        tree: of `store.read`. model: that was run, `load(json.loads(tree.attrs["model"]))`.
        path: of the page, NAME.html.
        png: a folder for the figures as pictures; made where there is none.
        title: of the page; the model's name where left out.
        force: replace what is there.

    Raises:
        ModelError: a missing package, a place that cannot be written.
    """
    target, folder = check_target(path, png, force=force)
    with style.styled():
        name = model.name or Path(str(tree.attrs.get("model_source", ""))).stem
        down = tuple(g > 0.0 for g in model.gravity)
        content = content_of(members_of(tree), tree, name, partial(points_of, model), down)
        text, book = page(content, title or f"Study of {content.name or 'a mechanism'}")
        if folder is not None:
            save(book.pictures | _overview(content), folder, force=force)
    return save_page(text, target, force=force)


def save_page(text: str, target: Path, *, force: bool) -> Path:
    """Writes a page and returns its path."""
    with replacing(target, force=force) as draft:
        draft.write_text(text, encoding="utf-8")
    return target


def check_target(path: str | Path, png: str | Path | None, *, force: bool) -> tuple[Path, Path | None]:
    """Raises the errors of `write` before anything is read."""
    need_path("report: path", path)
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        lacking, allowed = f"no Python package {', '.join(missing)}", "the packages of reports"
        raise ModelError("report", lacking, allowed, installing("report"))
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ModelError(str(path), f"suffix {target.suffix!r}", ".html", "Write NAME.html.")
    for place in (target,) if png is None else (target, Path(png)):
        if not place.absolute().parent.is_dir():
            raise ModelError(str(place), "no such folder", "a folder that exists", f"Make {place.parent} first.")
        refuse_unwritable(place)
        clean(place)
        if place.exists() and not force:
            raise taken(place)
    if target.is_dir():
        raise taken(target)
    return target, None if png is None else _folder(Path(png))


def _folder(folder: Path) -> Path:
    """A folder for pictures; only one that holds nothing else is ever replaced."""
    if folder.exists() and not (folder.is_dir() and all(p.suffix == ".png" for p in folder.iterdir())):
        todo = "Choose another name, or empty it yourself."
        raise ModelError(str(folder), "something else than pictures", "a new folder, or one of pictures", todo)
    return folder


def _overview(content: Content) -> dict[str, Any]:
    """Still pictures of what can be touched on the page."""
    if not content.main_metrics or not content.varied:
        return {}
    return {"scatter": overview_figure.scatter(content), "parallel": overview_figure.parallel(content)}


def save(pictures: Mapping[str, Any], folder: Path, *, force: bool) -> None:
    """Writes the figures of a report as pictures."""
    with replacing(folder, force=force) as draft:
        draft.mkdir()
        for k, (name, made) in enumerate(pictures.items(), start=1):
            plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in name)
            style.png(made, draft / f"{k:02}_{plain}.png")
