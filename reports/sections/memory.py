"""Memory per pipeline stage: what it is made of at its three peaks, against what a process may allocate."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from costmodel import units
from costmodel.spec import MemoryItem, Prediction, StageMemory, Verdict
from reports import svg
from reports.section import Answer, Drawing, Paragraph, Section, Table, Tone
from reports.svg import SERIES, Colour
from reports.text import one_line

MOMENTS = ("steady", "first step", "checkpoint")
MAX_STAGES_DRAWN_THRICE = 8
"""With more stages, only the highest of the three moments of each is drawn."""
FAR_LIMIT_FACTOR = 3.0
"""A limit this far above the peak is written at the edge instead of squeezing the bars."""

TONES = {Verdict.FITS: Tone.GOOD, Verdict.TIGHT: Tone.BAD, Verdict.DOES_NOT_FIT: Tone.BAD}
EXPLANATION = (
    "Allocated bytes of the worst rank of each stage: while training (steady), while the optimizer allocates its "
    "state in the first step, and while a checkpoint is written or read back."
)


def build(answer: Answer) -> Section:
    """Stacked bars and the same numbers as a table."""
    prediction = answer.plan_file.prediction
    return Section(
        slug="memory",
        title="Memory per stage",
        paragraphs=(
            Paragraph(verdict_sentence(prediction), TONES[prediction.verdict]),
            Paragraph(EXPLANATION, Tone.NOTE),
        ),
        drawings=(_drawing(answer),) if prediction.stages else (),
        tables=(
            *(_table(stage) for stage in prediction.stages if stage.stage == prediction.peak_stage),
            *((_every_stage(prediction),) if len(prediction.stages) > 1 else ()),
        ),
    )


def verdict_sentence(prediction: Prediction) -> str:
    """Peak, interval and limit, and by how much the limit may be passed."""
    interval = units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes)
    limit = units.format_bytes(prediction.memory_limit_bytes)
    peak = f"The peak is {units.format_bytes(prediction.peak_memory_bytes)} on stage {prediction.peak_stage}"
    if prediction.verdict is Verdict.FITS:
        return f"{peak}; its whole interval ({interval}) is within the limit of {limit}."
    missing = units.format_bytes(prediction.peak_memory_high_bytes - prediction.memory_limit_bytes)
    if prediction.verdict is Verdict.TIGHT:
        return f"{peak}; its interval ({interval}) straddles the limit of {limit}, by up to {missing}."
    return f"{peak}; its whole interval ({interval}) is above the limit of {limit}, by up to {missing}."


def bytes_at(item: MemoryItem, moment: str) -> int:
    """Bytes of `item` at one of `MOMENTS`."""
    return {"steady": item.steady_bytes, "first step": item.first_step_bytes, "checkpoint": item.checkpoint_bytes}[
        moment
    ]


def _bars(prediction: Prediction) -> list[tuple[str, StageMemory, str]]:
    """Label, stage and moment of each bar that is drawn, from the top."""
    bars = []
    for stage in prediction.stages:
        totals = dict(zip(MOMENTS, (stage.steady_bytes, stage.first_step_bytes, stage.checkpoint_bytes), strict=True))
        moments = (
            MOMENTS if len(prediction.stages) <= MAX_STAGES_DRAWN_THRICE else (max(MOMENTS, key=totals.__getitem__),)
        )
        bars += [
            (f"stage {stage.stage}, {moment}" if len(prediction.stages) > 1 else moment, stage, moment)
            for moment in moments
        ]
    return bars


def _kinds(prediction: Prediction) -> list[tuple[str, Colour]]:
    """The kinds of memory that are there, each with a colour.

    A kind keeps its colour from plan to plan, as long as the predictions list their kinds in the same order and there
    are no more kinds than colours; else the largest ones get the colours.
    """
    largest: dict[str, int] = {}
    for stage in prediction.stages:
        for item in stage.items:
            size = max(bytes_at(item, moment) for moment in MOMENTS)
            largest[item.name] = max(largest.get(item.name, 0), size)
    names = list(largest)
    if len(names) > len(SERIES):
        kept = sorted(names, key=lambda name: -largest[name])[: len(SERIES)]
        names = [name for name in names if name in kept]
    return [(name, colour) for name, colour in zip(names, SERIES, strict=False) if largest[name] > 0]


def _drawing(answer: Answer) -> Drawing:
    prediction = answer.plan_file.prediction
    bars, kinds = _bars(prediction), _kinds(prediction)
    highest = max(prediction.peak_memory_high_bytes, *(stage.peak_bytes for stage in prediction.stages))
    far = prediction.memory_limit_bytes > FAR_LIMIT_FACTOR * highest
    right = highest * 1.25 if far else max(highest, prediction.memory_limit_bytes) * 1.08
    unit, factor = units.byte_unit(right)

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.subplots()
        start_bytes = [0] * len(bars)
        for name, colour in kinds:
            sizes = [
                sum(bytes_at(item, moment) for item in stage.items if item.name == name) for _, stage, moment in bars
            ]
            _stack(axes, start_bytes, sizes, factor, colour)
            start_bytes = [start + size for start, size in zip(start_bytes, sizes, strict=True)]
        others = [
            stage_total(stage, moment) - start for (_, stage, moment), start in zip(bars, start_bytes, strict=True)
        ]
        _stack(axes, start_bytes, others, factor, Colour.LINE)
        limit = prediction.memory_limit_bytes / factor
        text = f"limit {units.format_bytes(prediction.memory_limit_bytes)}"
        if far:
            svg.beside(axes, right / factor, -0.8, f"{text} →", left=True, colour=Colour.LIMIT)
        else:
            axes.axvline(limit, color=Colour.LIMIT, linewidth=1.6, linestyle=(0, (5, 2)))
            svg.beside(axes, limit, -0.8, text, left=True, colour=Colour.LIMIT)
        axes.axvspan(
            prediction.peak_memory_low_bytes / factor,
            prediction.peak_memory_high_bytes / factor,
            color=Colour.IDLE,
            zorder=0,
        )
        axes.set_xlim(0, right / factor)
        axes.set_xlabel(f"{unit} per rank; shaded: interval of the peak")
        svg.name_rows(axes, [label for label, _, _ in bars], narrow)
        axes.set_ylim(axes.get_ylim()[0], -1.15)
        handles = [Patch(color=colour, label=one_line(name, 32)) for name, colour in kinds]
        if any(others):
            handles.append(Patch(color=Colour.LINE, label="other"))
        figure.legend(handles=handles, loc="outside lower left", ncols=2 if narrow else 4, handlelength=1.1)

    legend_rows = (-(-len(kinds) // 4), -(-len(kinds) // 2))
    return svg.draw(
        "Memory of the worst rank of each stage by kind, against the limit",
        f"{verdict_sentence(prediction)} The table below holds every number of this figure.",
        f"{answer.anchor}-memory-figure",
        paint,
        (90 + 27 * len(bars) + 20 * legend_rows[0], 90 + 40 * len(bars) + 18 * legend_rows[1]),
    )


def stage_total(stage: StageMemory, moment: str) -> int:
    """Bytes of all kinds of `stage` at `moment`."""
    return sum(bytes_at(item, moment) for item in stage.items)


def _stack(axes: Axes, start_bytes: list[int], sizes: list[int], factor: int, colour: Colour) -> None:
    """One kind of memory in every bar, behind what is there already."""
    axes.barh(
        range(len(sizes)),
        [size / factor for size in sizes],
        left=[start / factor for start in start_bytes],
        color=colour,
        edgecolor=Colour.EDGE,
        linewidth=[0.8 if size else 0.0 for size in sizes],
        height=0.62,
    )


def _table(stage: StageMemory) -> Table:
    """The stage of the peak, itemised."""
    unit, factor = units.byte_unit(stage.peak_bytes)
    rows = [(item.name, *_sizes(item, factor), item.source.value) for item in stage.items]
    return Table(
        caption=f"Stage {stage.stage}, the peak: memory of one rank in {unit}",
        columns=("Kind", "Steady", "First step", "Checkpoint", "Source"),
        rows=(*rows, ("Total", *_totals(stage, factor), "")),
        numeric=frozenset({1, 2, 3}),
        highlight=len(rows),
    )


def _every_stage(prediction: Prediction) -> Table:
    unit, factor = units.byte_unit(max(stage.peak_bytes for stage in prediction.stages))
    rows = []
    for stage in prediction.stages:
        rows += [(str(stage.stage), item.name, *_sizes(item, factor), item.source.value) for item in stage.items]
        rows.append((str(stage.stage), "total", *_totals(stage, factor), ""))
    return Table(
        caption=f"Every stage: memory of one rank in {unit}",
        columns=("Stage", "Kind", "Steady", "First step", "Checkpoint", "Source"),
        rows=tuple(rows),
        numeric=frozenset({0, 2, 3, 4}),
        folded=True,
    )


def _sizes(item: MemoryItem, factor: int) -> tuple[str, str, str]:
    return (
        units.format_number(item.steady_bytes / factor),
        units.format_number(item.first_step_bytes / factor),
        units.format_number(item.checkpoint_bytes / factor),
    )


def _totals(stage: StageMemory, factor: int) -> tuple[str, str, str]:
    return (
        units.format_number(stage.steady_bytes / factor),
        units.format_number(stage.first_step_bytes / factor),
        units.format_number(stage.checkpoint_bytes / factor),
    )
