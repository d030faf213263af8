"""The pipeline over time: which rank computes which micro-batch when, and where it waits."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from costmodel import units
from costmodel.schedules.timeline import TimedAction, Timeline
from reports import sentences, svg
from reports.section import Answer, Drawing, Paragraph, Section, Table, Tone
from reports.svg import Colour

MAX_PASSES_PER_RANK = 32
"""With more, the picture shows this many in two halves: how the pipeline fills and how it drains."""
MAX_RANKS = 32
"""With more, the picture shows the first and the last half of this many."""

_DIGIT_PX = 6.2


def build(answer: Answer) -> Section:
    """The picture with the waiting time of each rank; one sentence where there is no pipeline."""
    if answer.timeline is None or not answer.timeline.actions:
        text = "There is no pipeline: every rank holds all layers, so no rank waits for another stage."
        return Section(slug="pipeline", title="Pipeline", paragraphs=(Paragraph(text),))
    plan, prediction = answer.plan_file.plan, answer.plan_file.prediction
    text = (
        f"{plan.pp} stages, {sentences.num_microbatches(answer.plan_file):,} micro-batches, schedule "
        f"{sentences.SCHEDULE_WORDS[plan.schedule]}. The deciding rank waits for the pipeline "
        f"{units.format_frac(prediction.bubble_frac)} of the step (the bubble, grey in the picture)."
    )
    excerpt = _excerpt(answer.timeline)
    return Section(
        slug="pipeline",
        title="Pipeline",
        paragraphs=(Paragraph(text), *((Paragraph(excerpt, Tone.NOTE),) if excerpt else ())),
        drawings=(_drawing(answer, answer.timeline),),
        tables=(_table(answer.timeline),),
    )


def passes_per_rank(timeline: Timeline) -> int:
    """Passes of the rank that has most of them."""
    return max(sum(action.rank == rank for action in timeline.actions) for rank in range(timeline.num_ranks))


def _excerpt(timeline: Timeline) -> str:
    """What the picture leaves out, as a sentence; empty where it shows everything."""
    left_out = []
    if (passes := passes_per_rank(timeline)) > MAX_PASSES_PER_RANK:
        left_out.append(
            f"the start and the end of the step, together about {MAX_PASSES_PER_RANK} of {passes:,} passes a rank"
        )
    if timeline.num_ranks > MAX_RANKS:
        left_out.append(f"the first and the last {MAX_RANKS // 2} of {timeline.num_ranks:,} ranks")
    return f"The picture is an excerpt: {'; '.join(left_out)}. The table has every rank." if left_out else ""


def _shown_ranks(num_ranks: int) -> list[int]:
    if num_ranks <= MAX_RANKS:
        return list(range(num_ranks))
    half = MAX_RANKS // 2
    return [*range(half), *range(num_ranks - half, num_ranks)]


def _windows(timeline: Timeline) -> list[tuple[float, float]]:
    """Spans of time that the picture shows, side by side."""
    passes = passes_per_rank(timeline)
    if passes <= MAX_PASSES_PER_RANK:
        return [(0.0, timeline.end_s)]
    span_s = timeline.end_s * MAX_PASSES_PER_RANK / 2 / passes
    return [(0.0, span_s), (timeline.end_s - span_s, timeline.end_s)]


def _drawing(answer: Answer, timeline: Timeline) -> Drawing:
    ranks, windows = _shown_ranks(timeline.num_ranks), _windows(timeline)
    unit, factor = units.second_unit(timeline.end_s)

    def paint(figure: Figure, narrow: bool) -> None:
        panels = figure.subplots(1, len(windows), squeeze=False, sharey=True)[0]
        panel_px = (svg.NARROW_PX if narrow else svg.WIDE_PX) * 0.88 / len(windows)
        for axes, (start_s, end_s) in zip(panels, windows, strict=True):
            _paint_window(axes, timeline.actions, ranks, (start_s, end_s), factor, panel_px)
            axes.set_xlim(start_s / factor, end_s / factor)
            axes.set_xlabel(unit)
            axes.locator_params(axis="x", nbins=3 if narrow else 6)
        panels[0].set_yticks(range(len(ranks)), [str(rank) if narrow else f"rank {rank}" for rank in ranks])
        panels[0].set_ylim(len(ranks) - 0.5, -0.5)
        handles = [
            Patch(color=Colour.FORWARD, label="forward"),
            Patch(color=Colour.BACKWARD, label="backward"),
            Patch(color=Colour.IDLE, label="waiting"),
        ]
        figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=1.1)

    row_px = 26 if len(ranks) <= 16 else 18
    return svg.draw(
        "Passes of each pipeline rank over one step; the numbers are micro-batches",
        f"{timeline.num_ranks} ranks over {units.format_seconds(timeline.end_s)}. "
        "The table below gives the busy and the waiting time of each rank.",
        f"{answer.anchor}-pipeline-figure",
        paint,
        (86 + row_px * len(ranks), 86 + row_px * len(ranks)),
    )


def _paint_window(
    axes: Axes,
    actions: Iterable[TimedAction],
    ranks: list[int],
    window_s: tuple[float, float],
    factor: float,
    panel_px: float,
) -> None:
    """Draw the passes that touch `window_s`, each with its micro-batch where the number has room."""
    start_s, end_s = window_s
    px_per_s = panel_px / (end_s - start_s)
    rows = {rank: row for row, rank in enumerate(ranks)}
    idle_width = (end_s - start_s) / factor
    axes.barh(list(rows.values()), idle_width, left=start_s / factor, height=0.8, color=Colour.IDLE)
    for action in actions:
        if action.rank not in rows or action.end_s <= start_s or action.start_s >= end_s:
            continue
        left_s, right_s = max(action.start_s, start_s), min(action.end_s, end_s)
        row = rows[action.rank]
        axes.add_artist(
            Rectangle(
                (left_s / factor, row - 0.4),
                (right_s - left_s) / factor,
                0.8,
                facecolor=Colour.FORWARD if action.kind == "F" else Colour.BACKWARD,
                edgecolor=Colour.EDGE,
                linewidth=0.8,
            )
        )
        label = str(action.microbatch)
        if (right_s - left_s) * px_per_s >= _DIGIT_PX * len(label) + 2:
            middle_s = (left_s + right_s) / 2
            axes.text(
                middle_s / factor,
                row,
                label,
                ha="center",
                va="center",
                fontsize=10,
                color=Colour.ON_FILL,
            )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _table(timeline: Timeline) -> Table:
    busy_s = [0.0] * timeline.num_ranks
    for action in timeline.actions:
        busy_s[action.rank] += action.end_s - action.start_s
    return Table(
        caption="Busy and waiting time of each pipeline rank",
        columns=("Rank", "Busy", "Waiting", "Waiting share"),
        rows=tuple(
            (
                str(rank),
                units.format_seconds(busy),
                units.format_seconds(timeline.end_s - busy),
                units.format_frac(1 - busy / timeline.end_s),
            )
            for rank, busy in enumerate(busy_s)
        ),
        numeric=frozenset({0, 1, 2, 3}),
        folded=True,
    )
