"""The curves of the figure, as one long table: panel, series, x, y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fossil.theory.curvature import Cost
from fossil.theory.runs import last_gaps
from fossil.theory.streams import SELDOM, Trace
from fossil.theory.weights import weight_courses

_POINTS = 80
_FROM = 10


def collect_curves(
    runs: pd.DataFrame, static: Sequence[Trace], dynamic: Sequence[Trace], costs: Sequence[Cost]
) -> pd.DataFrame:
    """Collect what the figure draws.

    Returns
    -------
    DataFrame
        panel : "weight", "static_regret", "dynamic_regret", "iteration_time", "sample_share" or "gap".
        series : of weights "falling" and "rising"; of the static regret a stream or "bound"; of the dynamic regret
        "regret", "printed" and "bound"; of the time "iteration"; of panels about runs a method.
        x, y : epoch and weight; rounds T and regret over G D; parameters and seconds; epoch and mean of N_eff/N over
        seeds; 1/sqrt(N_eff) and gap of each run.
    """
    parts = [_series("weight", name, range(len(course)), course) for name, course in weight_courses().items()]
    parts += [_regret("static_regret", trace.name, trace, trace.regret) for trace in static]
    parts.append(_regret("static_regret", "bound", static[0], static[0].static_bound()))
    jumping = next(trace for trace in dynamic if trace.name == SELDOM)
    parts += [
        _regret("dynamic_regret", "regret", jumping, jumping.regret),
        _regret("dynamic_regret", "printed", jumping, jumping.printed_rate()),
        _regret("dynamic_regret", "bound", jumping, jumping.dynamic_bound()),
    ]
    parts.append(_series("iteration_time", "iteration", [c.parameters for c in costs], [c.seconds for c in costs]))
    for method, of_method in runs.groupby("method", sort=False):
        share = (of_method["n_eff"] / of_method["samples"]).groupby(of_method["epoch"]).mean()
        parts.append(_series("sample_share", str(method), share.index, share))
    for method, of_method in last_gaps(runs).groupby("method", sort=False):
        parts.append(_series("gap", str(method), of_method["x"], of_method["gap"]))
    return pd.concat(parts, ignore_index=True)


def _regret(panel: str, series: str, trace: Trace, values: np.ndarray) -> pd.DataFrame:
    """Return values at rounds evenly spaced in logarithm, in units of G D so that streams can be compared."""
    last = len(values)
    places = np.unique(np.geomspace(min(_FROM, last), last, _POINTS).astype(int)) - 1
    scaled = values[places] / (trace.gradient_bound * trace.diameter)
    return _series(panel, series, trace.rounds[places], scaled)


def _series(panel: str, series: str, x: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    values = {"x": np.asarray(x, dtype=np.float64), "y": np.asarray(y, dtype=np.float64)}
    return pd.DataFrame({"panel": panel, "series": series, **values})
