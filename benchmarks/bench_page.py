"""How fast a page simulates its members, and how large it is: in Chromium, beside one core of the processor.

A study of each model is written as a page with `--simulate`; one member runs in the page, and its numbers are compared
with those of the store to the last bit. Then that member's steps are timed there, and those of many members on one
thread of the processor. Prints one JSON line a model:
    page_kb, code_kb         of the page, and of the code of all partitions in it, before it is written as text
    page_us, processor_us    a step of a member
    ratio                    of both

    PYTHONPATH=. python benchmarks/bench_page.py
    PYTHONPATH=. python benchmarks/bench_page.py --plain
"""

from __future__ import annotations

import argparse
import base64
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.cli import main as shiftjax_command
from tests.support.browser import Browser

MODELS = ("four_bar", "bricard", "n_four_bar_5", "excavator", "vehicle_chassis")
MEMBERS, MANY, STEP = 4, 512, 1e-3
RUN = """(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const block = Uint8Array.from(atob(document.getElementById("binary").textContent), (c) => c.charCodeAt(0));
  const source = simulatedStudy(data.runs, block.buffer, FUSES), times = [];
  let run;
  for (let k = 0; k < ROUNDS; k++) {
    const begun = performance.now();
    run = await source.recorded(1);
    times.push(performance.now() - begun);
  }
  const code = data.runs.programs.reduce((sum, program) => sum + program.code[1], 0);
  const text = btoa(Array.from(new Uint8Array(run.out.buffer), (byte) => String.fromCharCode(byte)).join(""));
  return { times, text, code, width: data.runs.width, first: data.runs.curves[0][0] };
})()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain", action="store_true", help="as in a browser without relaxed multiply-adds")
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("no Chromium: install it, as `apt-get install chromium`")
    with Browser(program, (800, 600)) as browser, tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            row = figures(model, options.steps, options.rounds, browser, Path(folder) / model, plain=options.plain)
            emit("page", row)


def figures(
    model: str, steps: int, rounds: int, browser: Browser, place: Path, *, plain: bool = False
) -> dict[str, object]:
    """Of one model; the folder `place` is made."""
    place.mkdir()
    coordinate = next(f"{path}.q" for path, joint in shiftjax.load(model).joints() if len(joint.type) == 2)
    given = {"span": steps * STEP, "step": STEP, "channels": [coordinate]}
    vary = {"model_parameters.gravity[0]": np.linspace(-0.1, 0.1, MEMBERS)}
    result = shiftjax.simulate(model, output_step=10 * STEP, vary=vary, **given)
    shiftjax.store.write(result, place / "store.zarr")
    page = place / "page.html"
    words = ["export", str(place / "store.zarr"), "--html", str(page), "--member", "0", "--simulate"]
    if shiftjax_command(words):
        raise SystemExit(f"{model}: no page")
    browser.open(page.as_uri())
    browser.until("document.body?.dataset.state")
    told = browser.value(RUN.replace("ROUNDS", str(rounds)).replace("FUSES", "false" if plain else "null"))
    out = np.frombuffer(base64.b64decode(told["text"])).reshape(len(result.time), told["width"])
    if not np.array_equal(out[:, told["first"]], result.channels[coordinate][1]):
        raise SystemExit(f"{model}: the page has other numbers")
    page_us = statistics.median(told["times"]) / steps * 1e3
    processor_us = _processor(model, given, rounds) / (MANY * steps) * 1e6
    return {
        "model": model, "plain": plain, "steps": steps, "page_kb": round(page.stat().st_size / 1024),
        "code_kb": round(told["code"] / 1024), "page_us": float(f"{page_us:.3g}"),
        "processor_us": float(f"{processor_us:.3g}"), "ratio": round(page_us / processor_us),
    }  # fmt: skip


def _processor(model: str, given: dict[str, object], rounds: int) -> float:
    """Seconds of processor time of many members on one thread, without what a run of no steps takes."""
    vary = {"model_parameters.gravity[0]": np.linspace(-0.1, 0.1, MANY)}
    seconds = []
    for span in (given["span"], 2 * STEP):
        times = []
        for _ in range(rounds + 1):
            clock = time.process_time()
            shiftjax.simulate(model, vary=vary, threads=1, accuracy="local", **{**given, "span": span})  # type: ignore[arg-type]
            times.append(time.process_time() - clock)
        seconds.append(statistics.median(times[1:]))
    return seconds[0] - seconds[1]


if __name__ == "__main__":
    main()
