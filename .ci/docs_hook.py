"""What MkDocs asks for beside mkdocs.yml: the order of the pages, and the pages that no Markdown file holds."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File

import shiftjax  # noqa: F401, its docstrings are a page
from shiftjax.docs.pages import MADE, PAGES, target, text


def on_config(config: Any) -> Any:
    config["nav"] = [{title: target(name)} for name, title in PAGES.items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    for name in PAGES:
        if name in MADE or name.endswith(".ipynb"):
            files.append(File.generated(config, target(name), content=text(name)))
    return files
