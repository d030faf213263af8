"""The words of an answer: the plan, its batch, its proof and its verdict, each as one sentence."""

from __future__ import annotations

from costmodel import units
from costmodel.errors import BadInputError
from costmodel.spec import Certificate, DeviceKind, Plan, PlanFile, Prediction, Recompute, Schedule, Verdict

AXIS_WORDS = {"tp": "tensor", "cp": "context", "ep": "expert", "pp": "pipeline", "dp": "data"}
SCHEDULE_WORDS = {Schedule.GPIPE: "GPipe", Schedule.ONE_F_ONE_B: "1F1B"}
VERDICT_WORDS = {Verdict.FITS: "FITS", Verdict.TIGHT: "TIGHT", Verdict.DOES_NOT_FIT: "DOES NOT FIT"}
ROUNDING_FRAC = 1e-6
"""A gap below this is the rounding of times to whole ticks in the solver."""


def devices(plan_file: PlanFile, count: int) -> str:
    """How many devices of the cluster's kind, e.g. `8 GPUs` or `1 CPU rank`."""
    noun = "GPU" if plan_file.cluster.device.kind is DeviceKind.CUDA else "CPU rank"
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def device_noun(plan_file: PlanFile) -> str:
    """What one rank runs on, for rates: `GPU` or `rank`."""
    return "GPU" if plan_file.cluster.device.kind is DeviceKind.CUDA else "rank"


def num_microbatches(plan_file: PlanFile) -> int:
    """Micro-batches per step and data-parallel rank; raises BadInputError where the file's batch does not divide."""
    try:
        return plan_file.plan.num_microbatches(plan_file.workload.global_batch)
    except ValueError as error:
        raise BadInputError(f"plan file: {error}") from None


def recompute_words(plan: Plan) -> str:
    """Which blocks are computed again in backward."""
    blocks = plan.recompute_layers[1:-1]
    full = sum(mode is Recompute.FULL for mode in blocks)
    if full == 0:
        return "no recomputation"
    return "full recomputation" if full == len(blocks) else f"recomputation of {full} of {len(blocks)} blocks"


def layout_words(plan: Plan) -> str:
    """The degrees above one, e.g. `tensor 2 x data 4 with ZeRO-1`."""
    degrees = [f"{word} {getattr(plan, axis)}" for axis, word in AXIS_WORDS.items() if getattr(plan, axis) > 1]
    zero = f" with ZeRO-{plan.zero}" if plan.dp > 1 else ""
    schedule = f", schedule {SCHEDULE_WORDS[plan.schedule]}" if plan.pp > 1 else ""
    return (" x ".join(degrees) or "one rank") + zero + schedule


def layout_short(plan: Plan) -> str:
    """The layout for a table cell, e.g. `tp 2, pp 1, dp 4, ZeRO-1, mb 2, no recomputation`."""
    schedule = f" {SCHEDULE_WORDS[plan.schedule]}" if plan.pp > 1 else ""
    return (
        f"tp {plan.tp}, pp {plan.pp}{schedule}, dp {plan.dp}, ZeRO-{plan.zero}, "
        f"mb {plan.micro_batch}, {recompute_words(plan)}"
    )


def headline(plan_file: PlanFile) -> str:
    """The plan and what it costs, in one sentence."""
    plan, prediction, count = plan_file.plan, plan_file.prediction, num_microbatches(plan_file)
    return (
        f"{devices(plan_file, plan.num_ranks)} as {layout_words(plan)}, micro-batch {plan.micro_batch}, "
        f"{count:,} micro-batch{'' if count == 1 else 'es'} per step, {recompute_words(plan)}: "
        f"{units.format_seconds(prediction.step_time_s)} per step ({step_interval(prediction)}), "
        f"{units.format_count(prediction.tokens_per_s_per_gpu)} tokens/s/{device_noun(plan_file)}, "
        f"MFU {units.format_frac(prediction.mfu_frac)}, "
        f"peak {peak_of_limit(prediction)}: {VERDICT_WORDS[prediction.verdict]}."
    )


def step_interval(prediction: Prediction) -> str:
    """The predicted interval of the step time."""
    return units.format_seconds_range(prediction.step_time_low_s, prediction.step_time_high_s)


def peak_of_limit(prediction: Prediction) -> str:
    """Peak memory of the worst rank beside what a process may allocate."""
    return f"{units.format_bytes(prediction.peak_memory_bytes)} of {units.format_bytes(prediction.memory_limit_bytes)}"


def batch_line(plan_file: PlanFile) -> str:
    """How the global batch is made up."""
    plan, workload, count = plan_file.plan, plan_file.workload, num_microbatches(plan_file)
    return (
        f"Global batch {workload.global_batch:,} sequences = micro-batch {plan.micro_batch:,} x "
        f"{count:,} accumulated x data parallel {plan.dp:,}; {workload.seq_len:,} tokens a sequence, "
        f"{workload.tokens_per_step:,} tokens a step."
    )


def tight(prediction: Prediction) -> str:
    """What TIGHT means for this plan, as the end of a sentence."""
    interval = units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes)
    limit = units.format_bytes(prediction.memory_limit_bytes)
    return f"TIGHT: the limit of {limit} lies within the interval of its peak, {interval}, so it may run out of memory"


def proof(certificate: Certificate | None, verdict: Verdict) -> str:
    """What is proven about the plan of this `verdict`, or that nothing is."""
    if certificate is None:
        return "This layout was given, not searched for: nothing is claimed about how near it is to the best one."
    # With --allow-tight the best plan may be a TIGHT one.
    which = "that FITS" if verdict is Verdict.FITS else "that FITS or is TIGHT"
    bound, gap = units.format_seconds(certificate.lower_bound_s), units.format_frac(certificate.gap_frac)
    if certificate.gap_frac < ROUNDING_FRAC:
        claim = f"Proven the best plan {which} for this cost model: none takes less than {bound}."
    else:
        claim = f"Proven within {gap} of the best plan {which} for this cost model: none takes less than {bound}."
    if certificate.restrictions:
        inside = units.format_frac(certificate.gap_in_space_frac)
        claim += f" Within the restrictions ({'; '.join(certificate.restrictions)}) the gap is {inside}."
    return f"{claim} {effort(certificate)}"


def effort(certificate: Certificate) -> str:
    """How many layouts the search met and what became of them."""
    return (
        f"Of {certificate.considered:,} layouts, rules refused {sum(certificate.refused.values()):,}, lower bounds "
        f"settled {certificate.pruned:,} and the solver settled {certificate.solved:,}, "
        f"in {units.format_seconds(certificate.wall_s)}."
    )


def ratio(step_time_s: float, reference_s: float) -> str:
    """A step time as a multiple of the plan's."""
    return f"{step_time_s / reference_s:.2f} x"


def capitalised(text: str) -> str:
    """`text` as the start of a sentence; what follows the first letter stays as it is."""
    return text[:1].upper() + text[1:]
