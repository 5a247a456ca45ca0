"""A small stored study for tests of the window: three four-bars of different couplers, half a second each."""

from pathlib import Path

import numpy as np

from shiftjax import simulate
from shiftjax.ensembles.store import store
from shiftjax.viewer.study.study import ViewedStudy

CRANK, COUPLER, ROCKER = (f"four_bar:{name}" for name in ("crank", "coupler", "rocker"))
LENGTHS = (0.45, 0.5, 0.55)  # of the couplers [m]
CHANNELS = ("rocker_pivot.q", f"{COUPLER}:tip.position", "four_bar:crank_pin.q", "energy.total")


def stored(folder: Path) -> ViewedStudy:
    """Simulated, written to a folder, opened again."""
    result = simulate(
        "four_bar", span=0.5, step=1e-3, output_step=0.02, channels=CHANNELS,
        vary={"coupler:tip.T[0]": np.array(LENGTHS)}, keep="all",
    )  # fmt: skip
    return ViewedStudy.open(store.write(result, folder / "bars.zarr"))
