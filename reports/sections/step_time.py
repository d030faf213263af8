"""Step time by term: what the deciding rank spends its step on, coloured by where each number comes from."""

from __future__ import annotations

from itertools import accumulate

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from costmodel import units
from costmodel.spec import Source
from reports import sentences, svg
from reports.section import Answer, Drawing, Paragraph, Section, Table, Tone
from reports.svg import Colour
from reports.text import one_line

SOURCE_COLOURS = {
    Source.MEASURED: Colour.GREEN,
    Source.FITTED: Colour.BLUE,
    Source.ANALYTIC: Colour.ORANGE,
    Source.ASSUMED: Colour.GREY,
}


def build(answer: Answer) -> Section:
    """The waterfall and its table."""
    prediction = answer.plan_file.prediction
    longest = max(prediction.terms, key=lambda term: term.time_s, default=None)
    text = (
        f"The largest term is {longest.name} with "
        f"{units.format_frac(longest.time_s / prediction.step_time_s)} of the step."
        if longest
        else "The prediction does not itemise its step time."
    )
    return Section(
        slug="time",
        title="Step time by term",
        paragraphs=(Paragraph(text), Paragraph(f"Interval: {prediction.interval_note}", Tone.NOTE)),
        drawings=(_drawing(answer),) if longest else (),
        tables=(_table(answer),) if longest else (),
    )


def _drawing(answer: Answer) -> Drawing:
    prediction = answer.plan_file.prediction
    terms = [term for term in prediction.terms if term.time_s > 0]
    starts = [0.0, *accumulate(term.time_s for term in terms)]
    right = 1.3 * max(prediction.step_time_high_s, starts[-1])
    unit, factor = units.second_unit(prediction.step_time_s)
    sources = [source for source in Source if any(term.source is source for term in terms)]

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.subplots()
        for row, term in enumerate(terms):
            axes.barh(
                row, term.time_s / factor, left=starts[row] / factor, color=SOURCE_COLOURS[term.source], height=0.56
            )
            text = f"{units.format_seconds(term.time_s)}, {units.format_frac(term.time_s / prediction.step_time_s)}"
            start, end = starts[row] / factor, starts[row + 1] / factor
            if narrow and end > 0.6 * right / factor:
                svg.beside(axes, start, row, text, left=True)
            else:
                svg.beside(axes, end, row, text)
        last = len(terms)
        axes.barh(last, prediction.step_time_s / factor, color=Colour.INK, height=0.3)
        interval = [prediction.step_time_low_s / factor, prediction.step_time_high_s / factor]
        axes.plot(interval, [last, last], color=Colour.LIMIT, linewidth=1.8, marker="|", markersize=10)
        axes.set_xlim(0, right / factor)
        axes.set_xlabel(f"{unit}; red: interval of the step time")
        names = [one_line(term.name, 36) for term in terms]
        svg.name_rows(axes, [*names, f"step time {units.format_seconds(prediction.step_time_s)}"], narrow)
        handles = [Patch(color=SOURCE_COLOURS[source], label=source.value) for source in sources]
        figure.legend(handles=handles, loc="outside lower left", ncols=2 if narrow else 4, handlelength=1.1)

    return svg.draw(
        "Step time by term on the rank that decides it, coloured by the source of each number",
        f"The terms add up to {units.format_seconds(prediction.step_time_s)} "
        f"({sentences.step_interval(prediction)}). The table below holds every number of this figure.",
        f"{answer.anchor}-time-figure",
        paint,
        (90 + 30 * (len(terms) + 1), 100 + 44 * (len(terms) + 1)),
    )


def _table(answer: Answer) -> Table:
    prediction = answer.plan_file.prediction
    rows = [
        (
            term.name,
            units.format_seconds(term.time_s),
            units.format_frac(term.time_s / prediction.step_time_s),
            term.source.value,
            term.note,
        )
        for term in prediction.terms
    ]
    total = ("Step time", units.format_seconds(prediction.step_time_s), "100 %", prediction.source.value, "")
    return Table(
        caption="Terms of the step time",
        columns=("Term", "Time", "Share", "Source", "Note"),
        rows=(*rows, total),
        numeric=frozenset({1, 2}),
        highlight=len(rows),
    )
