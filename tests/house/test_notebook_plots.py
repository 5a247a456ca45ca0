"""Plots of a result in a real notebook: each is shown once, whether its figure has a name or ends a cell."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CELLS = (
    "import shiftjax; result = shiftjax.simulate('four_bar', 0.1, channels=['rocker_pivot.q'])",
    "result.plot()",
    "figure = result.plot()",
    "figure",
    "result.plot(); result.plot()",
    "from matplotlib import pyplot; result.plot().axes[0].set_title('other'); pyplot.show()",
)
PICTURES = (0, 1, 1, 1, 2, 1)


def test_each_plot_is_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    done = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [sum("image/png" in item.get("data", {}) for item in cell.outputs) for cell in done.cells]
    assert tuple(shown) == PICTURES
