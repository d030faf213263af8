"""The page of a validation: predicted against measured, drawn and in tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from reports.section import Drawing, Section
from reports.svg import SERIES, Colour, draw
from reports.templating import style, template

HEIGHTS_PX = (600.0, 470.0)
MAX_NAMED = len(SERIES) - 1
"""Sources that have a colour of their own; the others share the last one."""
OTHERS = "others"
FACTOR = 1.2
"""The dashed lines: predictions that are 20 % off."""


@dataclass(frozen=True)
class Point:
    """One run, in the unit of its chart."""

    group: str
    """Its source."""
    measured: float
    predicted: float


def render(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """HTML of a validation. The same arguments give the same bytes."""
    return template("validation.html.j2").render(
        title=title, subtitle=subtitle, sections=tuple(sections), style=style()
    )


def scatter(caption: str, unit: str, anchor: str, points: Sequence[Point]) -> Drawing:
    """Predicted against measured on two logarithmic axes; there must be points.

    The largest sources have a colour each. On the solid line a prediction is right.
    """
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(point.group, []).append(point)
    largest = sorted(groups, key=lambda name: (-len(groups[name]), name))
    named = largest if len(largest) <= len(SERIES) else largest[:MAX_NAMED]
    shown = {name: groups[name] for name in named}
    rest = [point for name in largest if name not in shown for point in groups[name]]
    if rest:
        shown[OTHERS] = rest
    values = [value for point in points for value in (point.measured, point.predicted)]
    low, high = _around(values)

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _place: f"{value:g}")
            axis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True)
        axes.plot([low, high], [low, high], color=Colour.INK.value, linewidth=1)
        for factor in (FACTOR, 1 / FACTOR):
            axes.plot([low, high], [low * factor, high * factor], color=Colour.MUTED.value, linewidth=0.8, ls="--")
        for colour, (name, found) in zip(SERIES, shown.items(), strict=False):
            axes.scatter(
                [point.measured for point in found],
                [point.predicted for point in found],
                s=8 if narrow else 14,
                color=colour.value,
                alpha=0.6,
                linewidths=0,
                label=f"{name} ({len(found)})",
            )
        axes.set_xlabel(f"measured, {unit}")
        axes.set_ylabel(f"predicted, {unit}")
        if narrow:
            figure.legend(loc="outside lower center", ncols=2, markerscale=2)
        else:
            figure.legend(loc="outside right upper", markerscale=2)

    within = sum(1 / FACTOR <= point.predicted / point.measured <= FACTOR for point in points)
    description = (
        f"{len(points)} runs of {len(groups)} sources; of {within} the prediction is within a factor of {FACTOR:g} of "
        f"the measurement. Above the line predictions are too high."
    )
    return draw(caption, description, anchor, paint, HEIGHTS_PX)


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Bounds of an axis that holds all values with some room."""
    return min(values) / math.sqrt(2), max(values) * math.sqrt(2)
