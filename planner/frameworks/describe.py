"""What every exported file says at its top: what was planned, for which version, and every degree of the plan."""

from __future__ import annotations

from costmodel.spec import PlanFile

MARK = "Written by parallelism-planner"
"""Tells an exported file from any other."""


def describe(plan_file: PlanFile, target: str) -> tuple[str, ...]:
    """Lines of plain text: model, job, layout and the version the files are written for."""
    plan, workload = plan_file.plan, plan_file.workload
    num_microbatches = plan.num_microbatches(workload.global_batch)
    lines = (
        f"{plan_file.model.name} on {plan.num_ranks} x {plan_file.cluster.device.name}, plan {plan.plan_id}",
        f"{MARK} for {target}; other versions are not promised.",
        f"Layout: tp {plan.tp}, pp {plan.pp}, dp {plan.dp}, zero {plan.zero}, schedule {plan.schedule}, "
        f"recompute {plan.recompute}, layers per stage {', '.join(map(str, plan.cut))}",
        f"Batch: {workload.global_batch} sequences of {workload.seq_len} tokens in {workload.precision}, "
        f"{num_microbatches} micro-batches of {plan.micro_batch} per data-parallel rank",
        "Further arguments of train.sh go to the trainer and override those written here.",
    )
    return tuple(_plain(line) for line in lines)


def _plain(text: str) -> str:
    """`text` on one line and without characters that could end a comment or a string."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
