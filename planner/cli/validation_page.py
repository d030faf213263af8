"""From scores to the page that `reports` renders."""

from __future__ import annotations

from collections.abc import Sequence

from planner.cli import validation_tables
from planner.cli.validation_tables import Figures
from planner.validation.answers import Answer
from planner.validation.measured import GIB
from planner.validation.scores.scored import Scored
from planner.validation.scores.sources import NOT_SCORED
from planner.validation.scores.summary import Scores
from planner.validation.unsaid import Unsaid
from reports.section import Drawing, Paragraph, Section, Table
from reports.validation import Point, render, scatter

NUM_WORST = 40


def validation_page(file: str, answers: Sequence[Answer | Unsaid], scores: Scores) -> str:
    """HTML with predicted against measured, and the tables of the terminal."""
    timed = [row for row in scores.time.rows if row.source not in NOT_SCORED]
    sections = [
        _section("overview", "Overview", [validation_tables.overview(scores)], [_widths(scores)]),
        _section(
            "time",
            "Step time",
            [validation_tables.time_by_source(scores), validation_tables.worst_rows(scores, answers, NUM_WORST)],
            drawings=_drawing("Step times", "s", "validation-time", timed, 1.0),
        ),
        _section(
            "memory",
            "Peak memory",
            [validation_tables.memory(scores), validation_tables.verdicts(scores)],
            drawings=[
                drawing
                for counter, score in scores.memory.items()
                for drawing in _drawing(
                    f"Peak memory as {counter.value}", "GiB", f"validation-{counter.value}", score.rows, GIB
                )
            ],
        ),
        _section("unanswered", "Without a prediction", [validation_tables.unanswered(scores.unanswered)]),
    ]
    return render(file, validation_tables.num_predicted(answers), sections)


def _widths(scores: Scores) -> Paragraph:
    return Paragraph(validation_tables.needed_half_widths(scores))


def _section(
    slug: str,
    title: str,
    figures: Sequence[Figures],
    paragraphs: Sequence[Paragraph] = (),
    drawings: Sequence[Drawing] = (),
) -> Section:
    tables = tuple(
        Table(
            table.caption, table.columns, table.rows, numeric=frozenset(range(1, len(table.columns) - table.has_words))
        )
        for table in figures
        if table.rows
    )
    return Section(slug, title, tuple(paragraphs), tuple(drawings), tables)


def _drawing(caption: str, unit: str, anchor: str, rows: Sequence[Scored], scale: float) -> list[Drawing]:
    points = [
        Point(row.source, row.measured / scale, row.predicted.value / scale)
        for row in rows
        if row.predicted is not None
    ]
    return [scatter(f"{caption}, predicted against measured", unit, anchor, points)] if points else []
