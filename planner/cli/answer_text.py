"""The answer of `solve` and `check` as a person reads it: assumptions, verdict, plan, proof, next step."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from costmodel import units
from costmodel.spec import Baseline, Infeasible, Plan, PlanFile, Verdict
from planner.cli.console import STYLES, line, print_assumptions, table
from planner.frameworks import registry
from planner.job import Answer
from reports import sentences

NUM_ALTERNATIVES = 5


def print_answer(console: Console, answer: Answer, assumptions: tuple[str, ...], path: Path | None) -> None:
    """Print `answer`; `assumptions` come first, `path` (where the plan file was written) last."""
    print_assumptions(console, assumptions)
    if answer.infeasible is not None:
        print_infeasible(console, answer.infeasible)
    if answer.plan_file is not None:
        print_plan_file(console, answer.plan_file)
        if path is not None:
            print_next(console, answer.plan_file, path, runs=answer.infeasible is None)


def print_plan_file(console: Console, file: PlanFile) -> None:
    """The plan, what it costs, how good it is, and what else there is."""
    prediction = file.prediction
    console.print(line(sentences.headline(file), STYLES[prediction.verdict.value]))
    console.print(line(sentences.batch_line(file)))
    peak = units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes)
    console.print(
        line(
            f"Peak memory {sentences.peak_of_limit(prediction)} a process may allocate ({peak}), in stage "
            f"{prediction.peak_stage}; {units.format_frac(prediction.bubble_frac)} of the step waits for the pipeline."
        )
    )
    if prediction.verdict is Verdict.TIGHT:
        console.print(line(f"{sentences.tight(prediction)}.", STYLES[prediction.verdict.value]))
    console.print(line(f"Interval: {prediction.interval_note}", "dim"))
    if file.certificate is not None:
        console.print(line(sentences.proof(file.certificate, prediction.verdict)))
    for sensitivity in file.sensitivities:
        changed = units.format_seconds(sensitivity.step_time_s)
        question = sentences.capitalised(sensitivity.input)
        console.print(line(f"{question}, {sensitivity.change}: {changed} per step."))
    for baseline in file.baselines:
        console.print(line(_baseline_sentence(baseline, file)))
    if file.alternatives:
        rows = [
            (
                sentences.layout_short(other.plan),
                units.format_seconds(other.prediction.step_time_s),
                units.format_bytes(other.prediction.peak_memory_bytes),
                other.why_not,
            )
            for other in file.alternatives[:NUM_ALTERNATIVES]
        ]
        console.print()
        console.print(table(("layout", "step time", "peak", "why not"), rows, "Next best"))


def print_infeasible(console: Console, infeasible: Infeasible) -> None:
    """Why nothing fits, and the flags of the nearest plan that would."""
    console.print(line(f"NOT FEASIBLE ({infeasible.rule}): {infeasible.sentence}.", STYLES["DOES_NOT_FIT"]))
    if infeasible.nearest is not None:
        nearest = infeasible.nearest
        console.print(line(f"Flags of the nearest plan: --gpus {nearest.num_ranks} {layout_flags(nearest)}"))


def layout_flags(plan: Plan) -> str:
    """The flags with which `check` and `solve` name the layout of `plan`, as far as flags can say it."""
    flags = f"--tp {plan.tp} --pp {plan.pp} --dp {plan.dp} --zero {plan.zero} --micro-batch {plan.micro_batch}"
    if plan.pp > 1:
        flags += f" --schedule {plan.schedule.value}"
    return flags if plan.recompute == "mixed" else f"{flags} --recompute {plan.recompute}"


def print_next(console: Console, file: PlanFile, path: Path, *, runs: bool) -> None:
    """The commands that come next.

    A plan for one node of native ranks can be run here and another is handed on; one that does not fit (`runs` is
    false) can be reported on.
    """
    framework = file.plan.framework
    here = framework == "native" and file.plan.num_ranks <= file.cluster.node_sizes[0]
    use = f"planner run {path}" if here else f"planner export {path} --to {framework}"
    runs = runs and file.model.architecture in registry.get(framework).trains
    console.print()
    console.print(line(f"Written to {path}. Next: `planner report {path}`{f' or `{use}`' if runs else ''}."))


def _baseline_sentence(baseline: Baseline, file: PlanFile) -> str:
    if baseline.prediction is None or baseline.plan is None:
        reason = f": {baseline.infeasible.sentence}" if baseline.infeasible is not None else ""
        return f"Rule of thumb ({baseline.name}) gives no plan{reason}"
    ratio = sentences.ratio(baseline.prediction.step_time_s, file.prediction.step_time_s)
    verdict = baseline.prediction.verdict
    judged = sentences.VERDICT_WORDS[verdict]
    if verdict is Verdict.TIGHT:
        judged = f"{sentences.tight(baseline.prediction)}; solve takes such plans only with --allow-tight"
    return (
        f"Rule of thumb ({baseline.name}): {sentences.layout_short(baseline.plan)}, "
        f"{units.format_seconds(baseline.prediction.step_time_s)} per step ({ratio} of this plan), "
        f"{judged}."
    )
