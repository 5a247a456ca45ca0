"""The documentation: every block of code runs, every link leads somewhere, every public object is described.

A block is taken as it stands. `<!-- not run: REASON -->` on the line before leaves it out, `<!-- needs: MODULE -->`
leaves it out where a package is missing. `<!-- tested with: samples=64 as samples=4; ... -->` before that has fewer of
something here, where as many say no more; `benchmarks/study_complete.py` runs the block as it stands. Blocks of a page
share a namespace and an empty folder. A text after `<!-- printed: by WHAT -->` is what the block before it prints, or
its last command, and is compared with it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import jax
import pytest

import shiftjax
from shiftjax.cli import COMMANDS, DRAWING, main, parser
from shiftjax.docs import plain_html
from shiftjax.docs.api import api, described
from shiftjax.docs.notebook import markdown
from shiftjax.docs.pages import FOLDER, MADE, PAGES, pictures, text
from shiftjax.docs.statuses import statuses
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.designs import designs
from shiftjax.field import Role
from shiftjax.markup import COLUMN
from shiftjax.measures.channels import CHANNELS
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.registry import Registry
from shiftjax.run.results.result import CERTIFICATE
from tests.support import complete
from tests.support.in_this_process import run_here

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:<!-- tested with: (?P<fewer>[^\n]*) -->\n)?"
    r"(?:<!-- (?P<mark>not run|needs|printed): (?P<why>.*?) -->\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$",
    re.M | re.S,
)
SETTING_UP = ("python3 -m venv", "pip install", "apt-get")  # lines of a shell that make an environment: this is one
HALF_COLUMN = 36  # characters of code in each of two blocks side by side
LARGEST = 100_000  # bytes of a picture
WALL_TIME = re.compile(r"\bin \d+(?:\.\d+)? s\b")
SAME = 1e-2  # relative difference of numbers that a notebook prints, on another machine; below 1e-9 both are rounding


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Kind and code of every block that is to run."""
    for found in BLOCK.finditer(page):
        left_out = found["mark"] == "not run" or (found["mark"] == "needs" and find_spec(found["why"]) is None)
        if not left_out:
            kind = "printed" if found["mark"] == "printed" else found["kind"]
            yield kind, found["code"] if complete.COMPLETE else with_fewer(found["code"], found["fewer"] or "")


def with_fewer(code: str, fewer: str) -> str:
    """A block with what its page says that tests have in place of it, which differs in numbers only."""
    for words in fewer.split("; ") if fewer else ():
        shown, tested = words.split(" as ")
        assert shown in code and NUMBER.sub("#", shown) == NUMBER.sub("#", tested), words
        code = code.replace(shown, tested)
    return code


def run_shell(code: str, before: Callable[[], object] = lambda: None) -> None:
    """Runs the lines of a block; a command of this package in this process.

    Args:
        before: called before each.
    """
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or any(line.startswith(beginning) for beginning in SETTING_UP):
            continue
        assert words[0] == "shiftjax", f"what is {line!r}? A block that cannot run here says why: <!-- not run: ... -->"
        ending = ["--print"] if words[1] == "docs" else []
        before()
        assert main([*words[1:], *ending]) == 0, line


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", [name for name in PAGES if name != "tutorial.ipynb"])
def test_every_block_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_here(monkeypatch)
    names: dict[str, object] = {}
    for kind, code in blocks(text(name)):
        if kind == "printed":
            now = capsys.readouterr().out
            assert same(compact(now), compact(code)), f"{name} shows what is not printed any more; now it is\n{now}"
            continue
        capsys.readouterr()
        if kind == "python":
            with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # as a reader has them
                exec(compile(code, f"{name}", "exec"), names)
        elif kind == "sh":
            run_shell(code, capsys.readouterr)
        elif kind == "json":
            document = json.loads(code)
            if "assemblies" in document and "model_parameters" in document:
                shiftjax.load(document)
        elif kind == "toml":
            Path(code.split()[1]).write_text(code, encoding="utf-8")
            assert designs(study_file.read(code.split()[1]))
        else:
            assert kind == "text", f"{name} has a block of kind {kind!r}: python, sh, json, toml, text are known"


def markdown_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8") if name == "README.md" else text(name)


def commands(page: str) -> Iterator[list[str]]:
    """The words of every line of a shell that calls this package, run or not."""
    names = "|".join(COMMANDS)
    for kind, code in ((found["kind"], found["code"]) for found in BLOCK.finditer(page)):
        for found in re.finditer(rf"shiftjax ((?:{names})\b.*)", code.replace("\\\n", " ")) if kind == "sh" else ():
            yield shlex.split(found[1], comments=True)


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_every_command_has_the_options_that_are_shown(name: str) -> None:
    """Those that are not run, too."""
    found = list(commands(markdown_of(name)))
    assert len(found) > 5 or name not in ("README.md", "quickstart.md")
    for words in found:
        if words[0] not in DRAWING or find_spec("imgui_bundle"):
            assert parser(words).parse_args(words).call


def test_blocks_are_found_and_can_fail() -> None:
    page = (
        "a\n```python\n1 / 0\n```\n<!-- not run: no -->\n```sh\nrm\n```\n<!-- needs: nothing.of -->\n"
        + "```json\n{}\n```\n"
    )
    assert list(blocks(page.replace("nothing.of", "no_such_package"))) == [("python", "1 / 0\n")]
    assert [kind for kind, _ in blocks(page.replace("nothing.of", "json"))] == ["python", "json"]
    with pytest.raises(AssertionError, match="what is"):
        run_shell("rm -r x\n")
    with pytest.raises(AssertionError):
        run_shell("shiftjax run no_such_model\n")
    run_shell("# nothing\n\npip install x\nshiftjax \\\n models\n")
    fewer = "<!-- tested with: n=90 as n=2; m=3 as m=1 -->\n<!-- needs: json -->\n```sh\nx --n=90 --m=3\n```\n"
    assert list(blocks(fewer)) == [("sh", "x --n=90 --m=3\n" if complete.COMPLETE else "x --n=2 --m=1\n")]
    for words in ("n=9 as n=2", "--n as --m"):  # what is not there, and what is no number
        with pytest.raises(AssertionError, match=words):
            with_fewer("x --n=80", words)
    printed = "```sh\nx\n```\n\n<!-- printed: by x -->\n```text\ngap 1.5 m\n```\n"
    assert list(blocks(printed)) == [("sh", "x\n"), ("printed", "gap 1.5 m\n")]
    assert same(compact("a   1.5 m, in 0.1 s\n"), compact("a 1.501 m,\n in 3 s"))
    assert not same(compact("gap 1.5 m, 3 s"), compact("gap 1.5 m, 4 s")) and not same(compact("a b"), compact("a c"))


def fences(page: str) -> list[str]:
    return re.findall(r"^ *```\w*\n(.*?)^ *```$", page, re.M | re.S)


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_lines_of_code_fit_their_column(name: str) -> None:
    """Windows of 1280 to 1920 pixels show 80.1 characters of code, and 36.9 of each of two blocks side by side."""
    page = markdown_of(name)
    assert "```" in page or name in ("comparison.md", "features.md"), f"no code is found in {name}"
    wide = [line for code in fences(page) for line in code.splitlines() if len(line) > COLUMN]
    for pair in re.findall(r'<div class="pair".*?</div>', page, re.S):
        wide += [line for code in fences(pair) for line in code.splitlines() if len(line) > HALF_COLUMN]
    assert not wide, "\n".join(["break these, print-outs too, of which blanks are not compared:", *wide])


def test_every_page_is_listed_once() -> None:
    files = {path.name for path in FOLDER.glob("*.md")} | {path.name for path in FOLDER.glob("*.ipynb")}
    assert files == PAGES.keys() - MADE.keys()
    assert len(set(PAGES.values())) == len(PAGES)
    assert all(text(name).startswith("# ") for name in PAGES)


class Anchors(HTMLParser):
    """Where a page leads, and what it can be entered by."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.undescribed: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        for key in ("href", "src"):
            if found.get(key):
                self.links.append(str(found[key]))
        if tag == "img" and len((found.get("alt") or "").split()) < 3:
            self.undescribed.append(str(found.get("src"))[:60])


def test_every_link_of_the_html_leads_somewhere(tmp_path: Path) -> None:
    plain_html.write(tmp_path)
    pages = {path.name: Anchors(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.html")}
    assert len(pages) == len(PAGES)
    wrong = []
    for name, page in pages.items():
        wrong += [f"{name}: picture {source} without a text" for source in page.undescribed]
        for link in page.links:
            if re.match(r"https?://|mailto:|data:image/", link):
                continue
            target, _, anchor = unquote(link).partition("#")
            if not (tmp_path / (target or name)).is_file() or (anchor and anchor not in pages[target or name].ids):
                wrong.append(f"{name}: {link}")
    assert not wrong, "\n".join(wrong)


def test_pictures_are_small_and_used() -> None:
    pages = "".join(text(name) for name in PAGES)
    for path in pictures():
        assert path.stat().st_size <= LARGEST, f"{path} has {path.stat().st_size} bytes"
        assert path.relative_to(FOLDER).as_posix() in pages, f"no page shows {path}"


def test_every_public_object_is_described() -> None:
    """Every sentence of every docstring is in the reference, whatever became of its line breaks."""
    words = " ".join(re.sub(r"[`*#]", "", api(shiftjax)).split())
    for name in shiftjax._HOME:
        value = getattr(shiftjax, name)
        for line in (inspect.getdoc(value) or "").splitlines():
            assert " ".join(re.sub(r"[`*#]", "", line).split()).rstrip(":") in words, f"{name}: {line}"
        if isinstance(value, Registry):
            assert all(key in words for key in value)
        if isinstance(value, ModuleType):
            for inner in getattr(value, "__all__", ("read(", "write(")):
                assert f"{name}.{inner}" in words
    assert all(f"AssemblyBuilder.{method}(" in words for method in ("body", "joint", "restraint", "assembly"))


def test_sections_of_docstrings_become_lists() -> None:
    page = described(
        "Moves.\n\nArgs:\n    far: how far\n        it goes [m].\n\n    *more: words.\n\nRaises:\n    E: why\nend"
    )
    lists = "\n*Args*\n\n* `far`: how far\n    it goes [m].\n\n* `*more`: words.\n\n\n*Raises*\n\n* `E`: why\nend\n"
    assert page == f"Moves.\n\n{lists}"


def test_the_page_of_statuses_has_all() -> None:
    page = statuses()
    for outcome in Outcome:
        assert outcome == 0 or f"| {int(outcome)} | `{outcome.name}` |" in page
        assert all(part in page for part in REMEDY[outcome].split(": "))


def test_pages_name_every_channel_figure_and_role() -> None:
    """What the pages explain by hand is all there is."""
    paths, accuracy = text("paths.md"), text("accuracy.md")
    own = {key: one for key, one in CHANNELS.items() if one.observe.__module__.startswith("shiftjax.")}  # not a test's
    assert len(own) > 10
    for key, quantity in own.items():
        assert f"{key}`" in paths, f"paths.md does not explain the channel {key}"
        assert not isinstance(quantity.unit, str) or quantity.unit in paths
    assert all(f"| `{name}` |" in accuracy for name in CERTIFICATE)
    assert len(Role) > 10


def test_the_notebook_shows_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """What the stored cells printed is what they print now, up to the last digits."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {}
    compared = 0
    for cell in json.loads((FOLDER / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        exec(compile("".join(cell["source"]), "tutorial.ipynb", "exec"), names)
        now = capsys.readouterr().out
        stored = "".join("".join(item["text"]) for item in cell["outputs"] if item.get("name") == "stdout")
        assert same(now, stored), f"run it again: jupyter execute --inplace docs/tutorial.ipynb\n{stored}\n{now}"
        assert all(item["output_type"] in ("stream", "display_data", "execute_result") for item in cell["outputs"])
        compared += bool(stored)
    assert compared > 5
    assert "data:image/png" in markdown((FOLDER / "tutorial.ipynb").read_text(encoding="utf-8"))


NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def compact(printed: str) -> str:
    """A print-out without what no two runs have alike: wall times, and the widths of columns."""
    return re.sub(r"\s+", " ", WALL_TIME.sub("in some time", printed)).strip()


def same(a: str, b: str) -> bool:
    """Whether two texts differ in the last digits of their numbers at most."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=True)
    return all(abs(x - y) <= SAME * max(abs(x), abs(y)) or max(abs(x), abs(y)) < 1e-9 for x, y in pairs)


def test_the_comparison_shows_the_newest_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    pages = {"peers": ("comparison.md", "with_tables")}
    pages |= {name: ("benchmarks.md", f"with_{name}") for name in ("card", "rivals", "size")}
    for name, (file, function) in pages.items():
        page = text(file)
        made = getattr(importlib.import_module(f"figures.{name}"), function)(page)
        assert made == page, f"write it again: PYTHONPATH=. python benchmarks/draw_docs.py --only {name}"


def test_texts_that_differ_are_seen() -> None:
    assert same("gap 1.5e-16 m, 114.6 mm", "gap 3e-17 m, 114.5 mm")
    assert not same("gap 1 m", "gap 2 m") and not same("True", "False") and not same("1", "1 2")


def test_the_command_writes_the_pages_and_says_where(tmp_path: Path, capsys) -> None:
    assert main(["docs", "statuses", "--print", "--out", str(tmp_path)]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == tmp_path / "statuses.html" and "not_assembled" in path.read_text(encoding="utf-8")
    assert (tmp_path / "style.css").is_file() and any((tmp_path / "pictures").iterdir())


def test_the_command_opens_a_browser(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)) or True)
    assert main(["docs"]) == 0 and capsys.readouterr().out == ""
    assert opened == [(tmp_path / "docs" / "index.html").as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda address: False)  # a machine without a browser
    assert main(["docs"]) == 0 and capsys.readouterr().out.strip() == str(tmp_path / "docs" / "index.html")


def test_the_command_refuses_by_name(tmp_path: Path, capsys) -> None:
    assert main(["docs", "statusses"]) == 2
    assert "statuses" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["docs", "--print", "--out", str(tmp_path / "file")]) == 2
    assert "a folder that can be written" in capsys.readouterr().err
