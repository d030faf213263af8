"""What can be said against training a plan before any rank starts, each as one sentence."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.feasibility import planned_axes
from costmodel.spec import PlanFile, Schedule
from executor.models import HFCausalLM
from executor.parallel.pipeline import SCHEDULES
from executor.text import NUM_BYTES


def check_runnable(plan_file: PlanFile, model: HFCausalLM) -> None:
    """Raises BadInputError for a plan that the executor cannot run as it stands."""
    plan, workload = plan_file.plan, plan_file.workload
    if plan.framework != "native":
        raise BadInputError(
            f"plan: framework is {plan.framework!r}, but run trains native plans only; "
            f"export this one with `planner export`, or solve with --framework native"
        )
    refusal = planned_axes(plan_file.model, workload, plan)
    if refusal is not None:
        raise BadInputError(f"plan: {refusal.sentence}")
    if plan.schedule not in SCHEDULES:
        raise BadInputError(f"plan: schedule is {plan.schedule.value!r}, but run trains with {' and '.join(SCHEDULES)}")
    if len(plan.recompute_layers) != model.num_layers:
        raise BadInputError(
            f"plan: cut holds {len(plan.recompute_layers)} layers, but the model has {model.num_layers} "
            f"with embedding and head; solve again for this model"
        )
    try:
        num_microbatches = plan.num_microbatches(workload.global_batch)
    except ValueError as error:
        raise BadInputError(f"plan: {error}") from None
    if plan.schedule is Schedule.ONE_F_ONE_B and num_microbatches < plan.pp:
        raise BadInputError(
            f"plan: 1f1b needs at least one micro-batch for each of its {plan.pp} stages, but the step has "
            f"{num_microbatches}; use --schedule gpipe, a smaller --micro-batch or a larger --global-batch"
        )
    model.check_divides(plan.tp)
    model.check_sequence(workload.seq_len)
    if workload.seq_len % plan.tp:
        raise BadInputError(f"plan: tp is {plan.tp}, but seq_len is {workload.seq_len}; tp must divide it")
    if model.tied and plan.pp > 1:
        raise BadInputError(
            f"plan: pp is {plan.pp}, but the model ties embedding and head, which must be on one stage; use --pp 1"
        )
    if (model.vocab or 0) < NUM_BYTES:
        raise BadInputError(
            f"config: vocab_size is {model.vocab}, but text is read as bytes; at least {NUM_BYTES} is needed"
        )
