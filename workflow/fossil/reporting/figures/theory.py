"""What the checks of the paper's statements measured, in six panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fossil.config.methods import METHODS
from fossil.config.strict import Strict
from fossil.reporting.entries import FigureEntry
from fossil.reporting.style import figure_style, mark_line, max_ticks, method_handle, method_look, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

PANELS = ("weight", "static_regret", "dynamic_regret", "iteration_time", "sample_share", "gap")

_MEASURED, _BOUND, _PRINTED = "#0072B2", "black", "#CC3311"
_LEGEND_COLUMNS = 4
_NOTE = {"fontsize": 6.5, "ha": "center", "va": "center"}


class TheoryOptions(Strict):
    """Methods whose runs panels e and f show, and the title above."""

    methods: list[str]
    title: str


OPTIONS = TheoryOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure, which every run has."""
    title = f"The theory, checked; e and f: synthetic data, {experiment.scenario}"
    yield FigureEntry(
        name="theory",
        study="theory",
        source="curves",
        section="Theory",
        place=10,
        title=title,
        caption="What the checks of the paper's statements measured: a weight over the epochs under a falling and a "
        "rising temperature, regrets of online gradient descent with their bounds, the time of an iteration of "
        "conjugate gradient, and of the synthetic runs the effective sample size and the gap between validation and "
        "weighted training loss.",
        options=TheoryOptions(methods=experiment.config.synthetic.methods, title=title),
    )


def draw(curves: pd.DataFrame, options: TheoryOptions) -> Figure:
    """Draw the six panels (see ``fossil.theory.curves`` for the table).

    Panels e and f show the methods that have runs, e the mean over seeds and f every run after its last epoch.
    """
    shown = [method for method in options.methods if method in set(curves["series"])]
    with figure_style():
        figure = new_figure(4.0 + 0.18 * -(-len(shown) // _LEGEND_COLUMNS), wspace=0.06, hspace=0.06)
        axes = dict(zip(PANELS, figure.subplots(2, 3).flat, strict=True))
        _draw_weight(axes["weight"], _lines(curves, "weight"))
        _draw_static_regret(axes["static_regret"], _lines(curves, "static_regret"))
        _draw_dynamic_regret(axes["dynamic_regret"], _lines(curves, "dynamic_regret"))
        _draw_iteration_time(axes["iteration_time"], _lines(curves, "iteration_time"))
        _draw_sample_share(axes["sample_share"], _lines(curves, "sample_share"), shown)
        _draw_gap(axes["gap"], _lines(curves, "gap"), shown)
        if shown:
            figure.legend(
                handles=[method_handle(method, METHODS[method].label) for method in shown],
                loc="outside lower center",
                ncols=_LEGEND_COLUMNS,
                title="Methods in e and f",
            )
        figure.suptitle(options.title)
    return figure


def _draw_weight(axis: Axes, lines: dict[str, pd.DataFrame]) -> None:
    for name, colour, place, height in (("falling", _PRINTED, 0.97, 0.2), ("rising", _MEASURED, 0.7, 0.9)):
        axis.plot(lines[name]["x"], lines[name]["y"], color=colour)
        axis.text(place, height, f"{name} $T_t$", transform=axis.transAxes, color=colour, **_NOTE | {"ha": "right"})
    axis.set(title="a  Weight of a hard sample", xlabel="Epoch", ylabel="Weight")
    max_ticks(axis.xaxis, 5)
    max_ticks(axis.yaxis, 5)


def _draw_static_regret(axis: Axes, lines: dict[str, pd.DataFrame]) -> None:
    streams = {name: line for name, line in lines.items() if name != "bound"}
    shown = [line for line in streams.values() if line["y"].iloc[-1] > 0]
    for line in shown:
        _plot_positive(axis, line, color=_MEASURED, alpha=0.7)
    _plot_positive(axis, lines["bound"], **_bound_look())
    axis.text(0.06, 0.93, r"bound $1.5\,\sqrt{T}$", transform=axis.transAxes, **_NOTE | {"ha": "left"})
    count = f"{len(streams)} streams"
    if len(shown) < len(streams):
        count = f"{len(shown)} of {count},\nelse below 0"
    axis.text(0.97, 0.12, count, transform=axis.transAxes, color=_MEASURED, **_NOTE | {"ha": "right"})
    _log_axes(axis)
    axis.set(title="b  Static regret", xlabel="Rounds $T$", ylabel="Regret / $GD$")


def _draw_dynamic_regret(axis: Axes, lines: dict[str, pd.DataFrame]) -> None:
    looks: dict[str, dict[str, Any]]
    looks = {"bound": _bound_look(), "regret": {"color": _MEASURED}, "printed": {"color": _PRINTED, "linestyle": ":"}}
    for name, look in looks.items():
        _plot_positive(axis, lines[name], **look)
    for text, colour, place, height, side in (
        (r"proof: $\sqrt{T}\,(1 + P_T)$", _BOUND, 0.03, 0.95, "left"),
        ("regret", _MEASURED, 0.97, 0.5, "right"),
        (r"printed: $\sqrt{T} + P_T$", _PRINTED, 0.97, 0.1, "right"),
    ):
        axis.text(place, height, text, transform=axis.transAxes, color=colour, **_NOTE | {"ha": side})
    _log_axes(axis)
    axis.set(title="c  Dynamic regret", xlabel="Rounds $T$, of which $T^{1/4}$ jump", ylabel="Regret / $GD$")


def _draw_iteration_time(axis: Axes, lines: dict[str, pd.DataFrame]) -> None:
    import numpy as np

    x, y = (lines["iteration"][key].to_numpy() for key in ("x", "y"))
    slope, level = np.polyfit(np.log(x), np.log(y), 1)
    axis.plot(x, np.exp(level) * x**slope, color="0.5", linewidth=0.8)
    axis.plot(x, y, color=_MEASURED, marker="o", markersize=4, linestyle="none")
    axis.text(0.06, 0.9, f"slope {slope:.2f}", transform=axis.transAxes, **_NOTE | {"ha": "left"})
    _log_axes(axis)
    axis.set(title="d  One iteration of CG", xlabel="Parameters $d$", ylabel="Seconds")


def _draw_sample_share(axis: Axes, lines: dict[str, pd.DataFrame], methods: list[str]) -> None:
    for place, method in enumerate(methods):
        if method in lines:
            (line,) = axis.plot(lines[method]["x"], lines[method]["y"], gid=method)
            mark_line(line, method, place=place, of=len(methods))
    axis.set(title="e  Effective sample size", xlabel="Epoch", ylabel="$N_{\\mathrm{eff}}\\,/\\,N$")
    axis.set_ylim(0, 1.06)
    max_ticks(axis.xaxis, 5, integer=True)


def _draw_gap(axis: Axes, lines: dict[str, pd.DataFrame], methods: list[str]) -> None:
    for method in methods:
        if method in lines:
            colour, marker = method_look(method)
            size = 26 if marker == "*" else 13
            look = {"color": colour, "marker": marker, "edgecolor": "0.25", "linewidth": 0.3, "zorder": 3}
            axis.scatter(lines[method]["x"], lines[method]["y"], s=size, **look).set_gid(method)
    axis.set(title="f  Gap after training", xlabel="$1\\,/\\sqrt{N_{\\mathrm{eff}}}$")
    axis.set_ylabel("$|L_{\\mathrm{val}} - L_{\\mathrm{train}}|$")
    max_ticks(axis.xaxis, 4)
    max_ticks(axis.yaxis, 5)
    axis.margins(0.08)


def _lines(curves: pd.DataFrame, panel: str) -> dict[str, pd.DataFrame]:
    own = curves[curves["panel"] == panel]
    return {str(series): line for series, line in own.groupby("series", sort=False)}


def _plot_positive(axis: Axes, line: pd.DataFrame, **look: object) -> None:
    """Plot what a logarithmic axis can show."""
    axis.plot(line["x"], line["y"].where(line["y"] > 0), **look)


def _bound_look() -> dict[str, object]:
    return {"color": _BOUND, "linestyle": "--"}


def _log_axes(axis: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set(xscale="log", yscale="log")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(LogLocator(numticks=5))
        side.set_minor_formatter(NullFormatter())
    axis.tick_params(which="minor", length=0)
