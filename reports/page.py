"""The page: one self-contained HTML document that loads nothing, runs no script, and reads on paper and on a phone."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel import units
from costmodel.errors import BadInputError
from costmodel.predict import timeline_of
from costmodel.schedules.timeline import Timeline
from costmodel.spec import Measurement, PlanFile
from reports import sentences
from reports.section import Answer, Section, Table
from reports.sections import SECTIONS
from reports.templating import style, template


def render(plan_file: PlanFile, measurement: Measurement | None = None, neighbours: tuple[PlanFile, ...] = ()) -> str:
    """HTML of the answer in `plan_file`, with the run that tried it, and of further answers shown beside it.

    The same arguments give the same bytes. Raises BadInputError where `measurement` belongs to another plan file or
    where a plan file contradicts itself.
    """
    if measurement is not None and measurement.question_id != plan_file.question_id:
        raise BadInputError(
            f"measurement: question_id is {measurement.question_id!r}, but that of the plan file is "
            f"{plan_file.question_id!r}: another model, workload, cluster, plan or prediction was run; "
            f"run this plan file, or report it without the measurement"
        )
    files = (plan_file, *neighbours)
    answers = [
        Answer(f"a{number}", file, _timeline(file), measurement if number == 1 else None)
        for number, file in enumerate(files, start=1)
    ]
    views = [_view(answer) for answer in answers]
    return template("page.html.j2").render(
        title=_title(plan_file),
        answers=views,
        overview=_overview(answers) if len(answers) > 1 else None,
        style=style(),
    )


@dataclass(frozen=True)
class _Tile:
    """One figure of the answer that a reader looks for first."""

    label: str
    value: str
    note: str


@dataclass(frozen=True)
class _View:
    """What the template shows of one answer."""

    anchor: str
    title: str
    subtitle: str
    verdict: str
    tone: str
    tiles: tuple[_Tile, ...]
    sections: tuple[Section, ...]


def _timeline(plan_file: PlanFile) -> Timeline | None:
    plan = plan_file.plan
    if plan.pp == 1:
        return None
    try:
        return timeline_of(
            plan_file.model, plan_file.workload, plan_file.cluster, plan_file.stack, plan, plan_file.profile
        )
    except ValueError as error:
        raise BadInputError(f"plan file: {error}") from None


def _title(plan_file: PlanFile) -> str:
    return f"{plan_file.model.name} on {sentences.devices(plan_file, plan_file.plan.num_ranks)}"


def _view(answer: Answer) -> _View:
    plan_file = answer.plan_file
    prediction, cluster = plan_file.prediction, plan_file.cluster
    rate = units.format_count(prediction.tokens_per_s_per_gpu)
    peak = units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes)
    return _View(
        anchor=answer.anchor,
        title=_title(plan_file),
        subtitle=f"{cluster.name}, {cluster.device.name}, planned for {plan_file.plan.framework}",
        verdict=sentences.VERDICT_WORDS[prediction.verdict],
        tone=prediction.verdict.value.lower().replace("_", "-"),
        tiles=(
            _Tile("Step time", units.format_seconds(prediction.step_time_s), sentences.step_interval(prediction)),
            _Tile(f"Tokens/s per {sentences.device_noun(plan_file)}", rate, "predicted"),
            _Tile(
                "MFU", units.format_frac(prediction.mfu_frac), f"of the dense {plan_file.workload.precision.value} peak"
            ),
            _Tile(
                "Peak memory",
                units.format_bytes(prediction.peak_memory_bytes),
                f"{peak}, limit {units.format_bytes(prediction.memory_limit_bytes)}",
            ),
        ),
        sections=tuple(section for build in SECTIONS if (section := build(answer)) is not None),
    )


def _overview(answers: list[Answer]) -> Table:
    """All answers of the page, one a row."""
    return Table(
        caption="The answers on this page",
        columns=("Answer", "Layout", "Step time", "Interval", "MFU", "Peak memory", "Verdict"),
        rows=tuple(
            (
                _title(file),
                sentences.capitalised(sentences.layout_words(file.plan)),
                units.format_seconds(file.prediction.step_time_s),
                sentences.step_interval(file.prediction),
                units.format_frac(file.prediction.mfu_frac),
                sentences.peak_of_limit(file.prediction),
                sentences.VERDICT_WORDS[file.prediction.verdict],
            )
            for file in (answer.plan_file for answer in answers)
        ),
        numeric=frozenset({2, 3, 4, 5}),
    )
