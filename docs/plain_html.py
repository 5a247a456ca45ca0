"""The documentation as plain HTML pages that a browser opens from a folder, without a network and without MkDocs."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from markdown import Markdown

from shiftjax.docs.pages import FOLDER, PAGES, pictures, target, text
from shiftjax.version import VERSION

EXTENSIONS = ("tables", "fenced_code", "toc", "admonition", "md_in_html")  # those of mkdocs.yml
LINK = re.compile(r'href="([\w/.-]+)\.md(#[\w-]+)?"')
SHELL = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><link rel="stylesheet" href="style.css"><link rel="stylesheet" href="pair.css"></head>
<body><nav><p><b>shiftjax {version}</b></p>{links}</nav><main>{body}</main></body></html>
"""


def write(folder: Path) -> Path:
    """Writes all pages into a folder, which is made, and returns the first one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (folder / address(name)).write_text(page(name), encoding="utf-8")
    for path in (*pictures(), *FOLDER.glob("*.css")):
        copy = folder / path.relative_to(FOLDER)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, copy)
    return folder / "index.html"


def page(name: str) -> str:
    """The HTML of a page."""
    body = Markdown(extensions=EXTENSIONS).convert(text(name))
    links = "".join(
        f'<a href="{address(other)}"{" class=here" if other == name else ""}>{html.escape(title)}</a>'
        for other, title in PAGES.items()
    )
    body = LINK.sub(lambda link: f'href="{link[1]}.html{link[2] or ""}"', body)
    return SHELL.format(title=html.escape(PAGES[name]), version=VERSION, links=links, body=body)


def address(name: str) -> str:
    """The file of a page."""
    return Path(target(name)).with_suffix(".html").name
