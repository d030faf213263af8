"""The plan beside what else was possible: ranked alternatives, rules of thumb, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from costmodel import units
from costmodel.spec import Baseline, Plan, PlanFile, Prediction
from reports import sentences, svg
from reports.section import Answer, Drawing, Paragraph, Section, Table
from reports.svg import Colour
from reports.text import one_line

MAX_DRAWN = 12
"""Rows of the figure at most; the tables hold all."""


@dataclass(frozen=True)
class _Entry:
    """One plan with a price."""

    label: str
    plan: Plan
    prediction: Prediction
    colour: Colour


def build(answer: Answer) -> Section | None:
    """Figure and tables; None where the file holds nothing to compare with."""
    plan_file = answer.plan_file
    tables = [
        *([_alternatives(plan_file)] if plan_file.alternatives else []),
        *([_baselines(plan_file)] if plan_file.baselines else []),
        *([_refused(plan_file)] if plan_file.refused else []),
    ]
    if not tables:
        return None
    entries = _entries(plan_file)
    return Section(
        slug="alternatives",
        title="Alternatives and rules of thumb",
        paragraphs=tuple(Paragraph(_against(baseline, plan_file.prediction)) for baseline in plan_file.baselines),
        drawings=(_drawing(answer, entries),) if len(entries) > 1 else (),
        tables=tuple(tables),
    )


def _entries(plan_file: PlanFile) -> list[_Entry]:
    """The plan, the rules of thumb that have a price, and the best alternatives, as many as the figure holds."""
    baselines = [
        _Entry(baseline.name, baseline.plan, baseline.prediction, Colour.ORANGE)
        for baseline in plan_file.baselines
        if baseline.plan is not None and baseline.prediction is not None
    ]
    alternatives = [
        _Entry(f"alternative {rank}", alternative.plan, alternative.prediction, Colour.GREY)
        for rank, alternative in enumerate(plan_file.alternatives, start=2)
    ]
    chosen = _Entry("this plan", plan_file.plan, plan_file.prediction, Colour.GREEN)
    return [chosen, *alternatives[: max(0, MAX_DRAWN - 1 - len(baselines))], *baselines]


def _against(baseline: Baseline, prediction: Prediction) -> str:
    """What following the rule of thumb instead would have cost."""
    start = f"{sentences.capitalised(baseline.name)} ({baseline.rule.rstrip('.')})"
    if baseline.prediction is None:
        reason = baseline.infeasible.sentence if baseline.infeasible else "it gives no plan here."
        return f"{start}: {reason}"
    factor = baseline.prediction.step_time_s / prediction.step_time_s
    relation = f"{factor:.2f} times the step time of this plan" if abs(factor - 1) >= 0.005 else "the same step time"
    verdict = sentences.VERDICT_WORDS[baseline.prediction.verdict]
    return f"{start}: {units.format_seconds(baseline.prediction.step_time_s)} per step, {relation}; {verdict}."


def _drawing(answer: Answer, entries: list[_Entry]) -> Drawing:
    unit, factor = units.second_unit(answer.plan_file.prediction.step_time_s)
    right = max(entry.prediction.step_time_high_s for entry in entries) / factor

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.subplots()
        for row, entry in enumerate(entries):
            low_s, high_s = entry.prediction.step_time_low_s, entry.prediction.step_time_high_s
            axes.barh(row, (high_s - low_s) / factor, left=low_s / factor, height=0.34, color=entry.colour, alpha=0.35)
            axes.plot(entry.prediction.step_time_s / factor, row, "o", color=entry.colour, markersize=8)
            verdict = sentences.VERDICT_WORDS[entry.prediction.verdict]
            svg.beside(axes, high_s / factor, row, f"{units.format_seconds(entry.prediction.step_time_s)}, {verdict}")
        axes.axvline(entries[0].prediction.step_time_s / factor, color=Colour.MUTED, linewidth=0.8, linestyle=":")
        axes.set_xlim(0, right * (1.75 if narrow else 1.3))
        axes.set_xlabel(f"step time in {unit}; bar: interval")
        labels = [one_line(entry.label, 34) for entry in entries]
        if not narrow:
            labels = [f"{label}: {_degrees(entry.plan)}" for label, entry in zip(labels, entries, strict=True)]
        svg.name_rows(axes, labels, narrow)

    return svg.draw(
        "Step time of this plan (green), its alternatives (grey) and rules of thumb (orange)",
        f"{len(entries)} plans. The tables below hold every number of this figure.",
        f"{answer.anchor}-alternatives-figure",
        paint,
        (70 + 30 * len(entries), 70 + 44 * len(entries)),
    )


def _degrees(plan: Plan) -> str:
    return f"tp {plan.tp}, pp {plan.pp}, dp {plan.dp}, ZeRO-{plan.zero}, mb {plan.micro_batch}"


def _priced(plan: Plan, prediction: Prediction, reference: Prediction) -> tuple[str, ...]:
    return (
        sentences.layout_short(plan),
        units.format_seconds(prediction.step_time_s),
        sentences.step_interval(prediction),
        sentences.ratio(prediction.step_time_s, reference.step_time_s),
        units.format_bytes(prediction.peak_memory_bytes),
        sentences.VERDICT_WORDS[prediction.verdict],
    )


_PRICE_COLUMNS = ("Layout", "Step time", "Interval", "Against plan", "Peak memory", "Verdict")


def _alternatives(plan_file: PlanFile) -> Table:
    reference = plan_file.prediction
    others = (
        (str(rank), *_priced(alternative.plan, alternative.prediction, reference), alternative.why_not)
        for rank, alternative in enumerate(plan_file.alternatives, start=2)
    )
    chosen = ("1", *_priced(plan_file.plan, reference, reference), "the answer")
    return Table(
        caption="Ranked alternatives, and why each is not the answer",
        columns=("Rank", *_PRICE_COLUMNS, "Why not"),
        rows=(chosen, *others),
        numeric=frozenset({0, 2, 3, 4, 5}),
        highlight=0,
    )


def _baselines(plan_file: PlanFile) -> Table:
    rows: list[tuple[str, ...]] = []
    for baseline in plan_file.baselines:
        reason = baseline.infeasible.sentence if baseline.infeasible else ""
        if baseline.plan is None or baseline.prediction is None:
            layout = sentences.layout_short(baseline.plan) if baseline.plan else "none"
            rows.append((baseline.name, layout, "none", "none", "none", "none", "NO PLAN", reason))
        else:
            priced = _priced(baseline.plan, baseline.prediction, plan_file.prediction)
            rows.append((baseline.name, *priced, reason))
    return Table(
        caption="What a rule of thumb would have given",
        columns=("Rule", *_PRICE_COLUMNS, "Reason"),
        rows=tuple(rows),
        numeric=frozenset({2, 3, 4, 5}),
    )


def _refused(plan_file: PlanFile) -> Table:
    rows = []
    for refused in plan_file.refused:
        infeasible = refused.infeasible
        missing = units.format_bytes(infeasible.missing_bytes) if infeasible.missing_bytes is not None else ""
        nearest = sentences.layout_short(infeasible.nearest) if infeasible.nearest else ""
        rows.append((sentences.layout_short(refused.plan), infeasible.rule, infeasible.sentence, missing, nearest))
    return Table(
        caption="Refused layouts and the rule that refused each",
        columns=("Layout", "Rule", "Reason", "Missing", "Nearest that works"),
        rows=tuple(rows),
        numeric=frozenset({3}),
        folded=len(rows) > 6,
    )
