"""A stored study of many members of which few are kept, for tests of what shows ensembles."""

from pathlib import Path

from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.study.definition import Definition

MEMBERS, KEPT = 20_000, 40
COUPLER, CRANK, ROCKER = "four_bar:coupler.mass", "four_bar:crank:tip.T[0]", "four_bar:rocker:tip.T[0]"
ANGLE, TIP = "rocker_pivot.q", "coupler:tip.position"
SWING, LATE = "swing", "late"


def swept(folder: Path) -> Path:
    """Four-bars of several lengths over a tenth of a second, run and stored."""
    study = Definition(
        model="four_bar",
        vary={"coupler.mass": "0.5:2~sobol", "crank:tip.T[0]": "0.15:0.5~sobol", "rocker:tip.T[0]": "0.35:0.6~sobol"},
        samples=MEMBERS,
        span=0.1,
        step=1e-3,
        output_step=0.01,
        channels=[ANGLE, TIP],
        metrics={SWING: f"peak_to_peak({ANGLE})", LATE: "final(crank_pivot.q)"},
        keep=f"every {MEMBERS // KEPT}",
    )
    return sweep(study, folder / "many.zarr").path
