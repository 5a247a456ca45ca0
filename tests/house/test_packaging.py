"""What pyproject.toml promises agrees with what is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import shiftjax

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINKED = ("kernels", "ensembles", "viewer", "models", "docs")


def test_one_version() -> None:
    assert SETTINGS["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "shiftjax.version.VERSION"
    assert re.fullmatch(r"\d+\.\d+\.\d+", shiftjax.__version__)
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_file_that_is_not_python_is_package_data() -> None:
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]["*"]
    for folder in ("shiftjax", *LINKED):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".py", ".pyc", ".md"):
                assert any(path.match(pattern) for pattern in patterns), f"{path} would be missing in the wheel"


def test_pyright_looks_into_every_link() -> None:
    assert {f"shiftjax/{name}" for name in LINKED} <= set(SETTINGS["tool"]["pyright"]["include"])


def test_what_is_to_be_installed_can_be() -> None:
    """No index has the package: extras are installed from a checkout, and each named is one of pyproject.toml."""
    extras, named = SETTINGS["project"]["optional-dependencies"], set()
    texts = [ROOT / "README.md", ROOT / "mkdocs.yml", ROOT / ".ci" / "run", ROOT / "CONTRIBUTING.md"]
    for folder in ("shiftjax", "benchmarks", *LINKED):
        texts += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".ipynb")]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip.* install .*shiftjax(\[|$|['\" ])", text, re.M), f"{path}: no index has the package"
        lists = re.findall(r"pip[^\n]* install [^\n]*'\.\[([\w,]+)\]'|installing\([\"'](\w+)", text)
        named |= {extra for one in lists for word in one for extra in word.split(",") if word}
    assert named <= extras.keys() and {"report", "dask", "viewer", "plot", "cuda", "test", "docs"} <= named


def test_ci_runs_the_readmes_test_command() -> None:
    """The command that .ci/run looks for stands in the README once, and sets itself up."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
    (command,) = re.findall(r"^python3 -m venv .*pytest.*$", readme, re.MULTILINE)
    assert "pip install" in command
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    early_reader = re.search(r"\| *(grep -[mq]|head)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert early_reader is None, "a reader that leaves early ends the script with 141 now and then (18 of 400 times)"


def test_the_readmes_commands_are_single_ones_that_set_themselves_up() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
    commands = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert "shiftjax sweep four_bar" in commands[0] and "--picture" in commands[0]


def test_the_readmes_python_runs_with_the_settings_of_a_fresh_jax() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "members that failed: []" in done.stdout and "largest swing" in done.stdout
    assert "a longer coupler changes the swing by" in done.stdout and "nan" not in done.stdout


def test_the_features_name_tests_that_name_them() -> None:
    """The page says of every feature whether it is there; what is there occurs in the files of its row, or a script."""
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:5] for line in page.splitlines() if re.match(r"\| [SMEDF]\d", line)]
    rooms = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(rows) > 150 and len({word for word, *_ in rows}) == len(rows)
    for word, text, state, files in ([cell.strip() for cell in row] for row in rows):
        assert state in ("yes", "in part", "not yet"), word
        tests = [name.strip() for name in files.split(",") if name.strip()]
        for name in tests:
            assert re.search(rf"(?i)\b(test_\w*_)?{word}(_|\b)|_{word}_", rooms[name]), f"{word} in {name}"
        if state == "yes" and not tests:
            (script,) = re.findall(r"`([\w./]+\.py)`", text)
            assert (ROOT / script).is_file(), word
