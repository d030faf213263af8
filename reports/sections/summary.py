"""The plan in a sentence, how the batch is made up, what is proven, and what was assumed."""

from __future__ import annotations

from costmodel.spec import Source
from reports import sentences
from reports.section import Answer, Paragraph, Section, Tone

_SOURCE_WORDS = {
    Source.MEASURED: "timed on the device at hand",
    Source.FITTED: "scaled from measurements of the device at hand",
    Source.ANALYTIC: "computed from published figures of the device",
    Source.ASSUMED: "resting on a default that nobody measured",
}


def build(answer: Answer) -> Section:
    """The summary; every answer has one."""
    plan_file = answer.plan_file
    prediction = plan_file.prediction
    trust = (
        f"The step time is {prediction.source.value}: {_SOURCE_WORDS[prediction.source]} "
        "(the least trustworthy of its terms that matter)."
    )
    assumed = (*plan_file.assumptions, *plan_file.model.assumptions)
    return Section(
        slug="plan",
        title="The plan",
        paragraphs=(
            Paragraph(sentences.headline(plan_file)),
            Paragraph(sentences.batch_line(plan_file)),
            Paragraph(sentences.proof(plan_file.certificate, plan_file.prediction.verdict)),
            Paragraph(trust),
            *(Paragraph(f"Assumed: {text}", Tone.NOTE) for text in assumed),
        ),
    )
