"""Pictures of pages in a browser: needs Chromium on the path, no display."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from figures.style import FOLDER
from PIL import Image

from shiftjax.cli import main
from shiftjax.ensembles import sweep
from shiftjax.ensembles.study.definition import Definition

DESKTOP, PHONE, GAP = (1000, 640), (345, 640), 10  # pixels
COLOURS = 48
COUPLER, CRANK = "four_bar:coupler:tip.T[0]", "four_bar:crank:tip.T[0]"
SEEN = [
    ("t", "0.3"),
    ("x", COUPLER),
    ("y", CRANK),
    ("brush", "swing~1.1~1.9"),
    ("sort", "-load"),
    ("only", "1"),
    ("colour", "load"),
]


def photographed(page: Path, seen: list[tuple[str, str]], size: tuple[int, int]) -> Image.Image:
    """A page as a browser shows it.

    Args:
        seen: what its address says.
    """
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    target = page.with_suffix(".png")
    words = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    words += ["--hide-scrollbars", "--virtual-time-budget=3000", f"--user-data-dir={page.parent / 'profile'}"]
    words += [f"--window-size={size[0]},{size[1]}", f"--screenshot={target}", f"{page.as_uri()}#{urlencode(seen)}"]
    subprocess.run([browser, *words], capture_output=True, check=True)
    with Image.open(target) as picture:
        return picture.convert("RGB")


def study_page() -> None:
    """The page of a study with some members chosen: on a screen and on a phone."""
    definition = Definition(
        model="four_bar", span=1.0, step=1e-3, output_step=0.01, samples=100, keep=12,
        vary={COUPLER: "0.4:0.75~sobol", CRANK: "0.15:0.32~sobol", "coupler.mass": "0.6:2.4~sobol"},
        channels=["rocker_pivot.q"],
        metrics={"swing": "peak_to_peak(rocker_pivot.q)", "load": "maximum(norm(crank_pivot.reaction_force))"},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        stored, page = sweep(definition, Path(folder) / "four_bars.zarr").path, Path(folder) / "four_bars.html"
        main(["export", str(stored), "--html", str(page)])
        screen = photographed(page, SEEN, DESKTOP)
        phone = photographed(page, [*SEEN, ("tab", "axes")], PHONE)
    both = Image.new("RGB", (DESKTOP[0] + GAP + PHONE[0], DESKTOP[1]), "white")
    both.paste(screen, (0, 0))
    both.paste(phone, (DESKTOP[0] + GAP, 0))
    both.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        FOLDER / "study_page.png", optimize=True
    )


PICTURES = (study_page,)
