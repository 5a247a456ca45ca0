"""Numbers of members that are far out: an outcome of theirs, and no warning of NumPy for whoever runs the ensemble."""

from __future__ import annotations

import numpy as np

import shiftjax

FAR = [1e100, 1e160, 1e308, -1e160, 1e-300]


def test_far_out_members_warn_nobody_of_numpy() -> None:
    """Every third number of a double pendulum, one member each; warnings are errors in this suite."""
    model = shiftjax.load("double_pendulum")
    numbers = model.numbers()
    paths = list(numbers)[::3]
    members = 1 + len(paths) * len(FAR)
    vary = {path: np.full(members, numbers[path]) for path in paths}
    for k, path in enumerate(paths):
        vary[path][1 + k * len(FAR) :][: len(FAR)] = FAR
    result = shiftjax.simulate(model, vary=vary, span=0.05, step=1e-2)
    alone = shiftjax.simulate(model, vary={path: x[:1] for path, x in vary.items()}, span=0.05, step=1e-2)
    assert result.status[0] == alone.status[0] == 0
    assert all(np.array_equal(result.channels[path][0], alone.channels[path][0]) for path in alone.channels)
    assert np.count_nonzero(result.status) > members // 4 and str(result)
