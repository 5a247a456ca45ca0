"""A metric: the way that a value goes to and fro, which wears a bearing."""

import numpy as np

from shiftjax.measures.metric import MetricKind
from shiftjax.measures.metrics import METRICS

METRICS["wear"] = MetricKind(
    begin=lambda start, options: [np.zeros(np.shape(start.t))],
    update=lambda way, interval, options: [
        way[0]
        + sum(
            abs(now.value[0] - before.value[0])
            for before, now in interval.pairs()
        )
    ],
    value=lambda way, start, end, options: way[0],
    meaning="the length of the way that the value goes",
)
