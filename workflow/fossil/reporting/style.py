"""How figures look: sizes, fonts, one colour and marker per method, names of metrics, and how they are saved.

Modules of figures are imported while jobs are planned, so that matplotlib is imported within the functions here.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fossil.config.datasets import DATASETS
from fossil.config.methods import METHODS
from fossil.runtime.files import atomic_path

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

TEXT_WIDTH = 6.5
"""Width of a text column in inches."""

METHOD_COLOURS = {
    "erm": "#0072B2",
    "static": "#EE7733",
    "static_inverted": "#8C510A",
    "effective_number": "#E8A9A0",
    "focal": "#009E73",
    "meta_weight_net": "#CC3311",
    "curriculum": "#9350A1",
    "fossil": "#F2C80F",
    "fossil_bilevel": "#A8B820",
}

METHOD_MARKERS = {
    "erm": "o",
    "static": "s",
    "static_inverted": "v",
    "effective_number": "p",
    "focal": "^",
    "meta_weight_net": "D",
    "curriculum": "P",
    "fossil": "*",
    "fossil_bilevel": "X",
}

_UP, _DOWN = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"

SMALL = 6.5
"""The smallest font in points."""

_FURTHER = (
    ("#33BBEE", "H"),
    ("#EE99AA", "8"),
    ("#777777", "h"),
    ("#44AA99", "<"),
    ("#332288", ">"),
    ("#999933", "d"),
)

_PHANTOMS = {
    "phantom": "PHANTOM DATA (drawn, no patients)",
    "phantom_external": "PHANTOM DATA OF ANOTHER LOOK (drawn, no patients)",
}

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "figure.titlesize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw and save in this style; what was set before comes back afterwards."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(height: float, *, wspace: float | None = None, hspace: float | None = None) -> Figure:
    """Return a figure as wide as the text, of a height in inches, that lays out its panels by itself."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(TEXT_WIDTH, height), layout=ConstrainedLayoutEngine(wspace=wspace, hspace=hspace))


def max_ticks(axis: Axis, count: int, *, integer: bool = False, steps: list[float] | None = None) -> None:
    """Put at most so many ticks on an axis, and one more."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(count, integer=integer, steps=steps))


def legend_line(label: str, **look: Any) -> Line2D:
    """Return an entry of a legend that looks like a line or a marker."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def spread_out(count: int) -> NDArray[np.floating]:
    """Return offsets from -.5 to .5 of neighbouring points, which lie apart and are the same every time."""
    import numpy as np

    return (np.arange(count) * 0.618034) % 1 - 0.5


def method_look(method: str) -> tuple[str, str]:
    """Return a method's colour and marker; one without any above takes from a fixed cycle, in the registry's order."""
    if method in METHOD_COLOURS:
        return METHOD_COLOURS[method], METHOD_MARKERS[method]
    others = [name for name in [*METHODS, method] if name not in METHOD_COLOURS]
    return _FURTHER[others.index(method) % len(_FURTHER)]


def metric_label(metric: str) -> str:
    """Return a metric's name in figures."""
    from fossil.evaluation.metrics import METRICS

    return METRICS[metric].label


def metric_title(metric: str) -> str:
    """Return a metric's label, with an arrow to the better side where there is one; ``arrow_notes`` explains it."""
    from fossil.evaluation.metrics import METRICS

    entry = METRICS[metric]
    if not entry.marks_best:
        return entry.label
    return f"{entry.label} {_DOWN if entry.lower_is_better else _UP}"


def arrow_notes(metrics: Collection[str]) -> list[str]:
    """Explain the arrows that the titles of these metrics have, and why regret has none."""
    from fossil.evaluation.metrics import REGRETS

    titles = [metric_title(metric) for metric in metrics]
    notes = {
        f"{_UP} higher is better": any(title.endswith(_UP) for title in titles),
        f"{_DOWN} lower is better": any(title.endswith(_DOWN) for title in titles),
        "regret has no arrow: a loss that only falls has none, however high": not set(REGRETS).isdisjoint(metrics),
    }
    return [note for note, holds in notes.items() if holds]


def add_notes(figure: Figure, notes: list[str]) -> None:
    """Write a line for each note below all panels of a figure whose layout is constrained."""
    figure.supxlabel("\n".join(notes), fontsize=7, linespacing=1.4)


def method_handle(method: str, label: str) -> Line2D:
    """Return an entry of a legend for a line with a method's colour and marker."""
    colour, marker = method_look(method)
    size = 7 if marker == "*" else 5
    edge = {"markeredgecolor": "0.25", "markeredgewidth": 0.4}
    return legend_line(label, color=colour, marker=marker, markersize=size, **edge)


def mark_line(line: Line2D, method: str, *, place: int, of: int) -> None:
    """Give a line its method's colour, and its marker at five places or so.

    Lines at the same height show their markers in turn: this one is number ``place`` of ``of``.
    """
    colour, marker = method_look(method)
    every = max(1, len(line.get_xdata()) // 5)
    line.set(color=colour, marker=marker, markevery=(place * every // max(1, of), every))
    line.set(markersize=4, markeredgecolor="0.25", markeredgewidth=0.3, zorder=3)


def figure_title(text: str, dataset: str) -> str:
    """Put the data set in front of a title; nobody shall take drawn images for patients."""
    return f"{_PHANTOMS.get(dataset, DATASETS[dataset])} - {text}"


def save_figure(figure: Figure, path_pdf: Path, path_png: Path) -> None:
    """Write a figure as PDF and PNG; equal figures give equal bytes, since no date or program goes into the files."""
    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)
    for path, metadata in ((path_pdf, {"CreationDate": None}), (path_png, {"Software": None})):
        with figure_style(), atomic_path(path) as temporary:
            figure.savefig(temporary, metadata=metadata)
