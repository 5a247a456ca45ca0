"""Draws every model of the library into models/pictures, for the gallery of models/README.md.

PYTHONPATH=. python benchmarks/draw_gallery.py            (needs `pip install '.[viewer]'`)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image

from shiftjax.cli import main as shiftjax
from shiftjax.models import names

FOLDER = Path(__file__).resolve().parents[1] / "models" / "pictures"
SPAN, TIME = 0.5, 0.2  # s
SHORT = {"andrews": (0.02, 0.01), "vehicle_chassis": (0.1, 0.0)}  # a fast motor; a car that drives out of the picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(names()), default=list(names()))
    FOLDER.mkdir(exist_ok=True)
    for name in parser.parse_args().models:
        span, time = SHORT.get(name, (SPAN, TIME))
        target = FOLDER / f"{name}.png"
        words = ["render", name, "--span", str(span), "--time", str(time), "--size", "320x240", "--force"]
        assert shiftjax([*words, "--out", str(target)]) == 0, f"{name} was not drawn"
        with Image.open(target) as picture:
            small = picture.quantize(64)
        small.save(target, optimize=True)


if __name__ == "__main__":
    main()
