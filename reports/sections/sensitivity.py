"""How the step time answers to inputs that nobody measured."""

from __future__ import annotations

from costmodel import units
from reports import sentences
from reports.section import Answer, Paragraph, Section, Table


def build(answer: Answer) -> Section | None:
    """A table, the most influential input first; None where the file holds no sensitivities."""
    reference_s = answer.plan_file.prediction.step_time_s
    ordered = sorted(answer.plan_file.sensitivities, key=lambda entry: -abs(entry.step_time_s - reference_s))
    if not ordered:
        return None
    return Section(
        slug="sensitivity",
        title="Sensitivity to inputs",
        paragraphs=(Paragraph("What the step time would be if an input differed, all else equal."),),
        tables=(
            Table(
                caption="Step time under another input, the largest effect first",
                columns=("Input", "Change", "Step time", "Against plan"),
                rows=tuple(
                    (
                        entry.input,
                        entry.change,
                        units.format_seconds(entry.step_time_s),
                        sentences.ratio(entry.step_time_s, reference_s),
                    )
                    for entry in ordered
                ),
                numeric=frozenset({2, 3}),
            ),
        ),
    )
