"""What torchtitan 0.3.0 can express in a configuration module.

Checked against `torchtitan/config/configs.py`, `trainer.py`, `models/common/decoder.py` and `distributed/` of that
release, and `torch/distributed/pipelining/stage.py` of torch 2.13.
"""

from __future__ import annotations

from costmodel.spec import Infeasible, ModelSpec, Plan, Precision, Recompute, Schedule, Workload
from planner.frameworks import rules
from planner.frameworks.features import Feature
from planner.frameworks.framework import Rule

TITLE = "torchtitan"
ZERO_STAGES = (0, 1, 2, 3)
PRECISIONS = (Precision.BF16, Precision.FP32)
SCHEDULES = (Schedule.ONE_F_ONE_B, Schedule.GPIPE)
ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM")
EXPRESSES = frozenset({Feature.QK_NORM})
"""What the configuration module says beyond a plain decoder; linear layers of torchtitan's decoders have no bias."""


def zero_stages(pp: int) -> tuple[int, ...]:
    """The ZeRO stages that can be had with `pp` stages.

    Without a pipeline each micro-batch reduce-scatters its gradients, so the optimizer alone cannot be sharded. With
    one, torch.distributed.pipelining reduces gradients once, after the last micro-batch, and keeps parameters gathered
    from the first backward pass on: ZeRO-1 by definition, whatever the resharding option says.
    """
    return (0, 2, 3) if pp == 1 else (0, 1)


def _zero_expressible(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    valid = zero_stages(plan.pp)
    if plan.zero in valid:
        return None
    if plan.pp > 1:
        reason = "its pipeline keeps whole gradients until the last micro-batch"
    else:
        reason = "without a pipeline it shards gradients in every micro-batch"
    return Infeasible(
        rule="zero_expressible",
        sentence=f"zero = {plan.zero} with pp = {plan.pp} is not possible with {TITLE}: {reason}; "
        f"valid values: {', '.join(map(str, valid))}",
        needed=plan.zero,
    )


ZERO_EXPRESSIBLE = Rule(
    "zero_expressible", "zero is 0, 2 or 3 without a pipeline, and 0 or 1 with one.", _zero_expressible
)


def _recompute_expressible(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    ends = {plan.recompute_layers[0], plan.recompute_layers[-1]}
    if plan.recompute in (Recompute.NONE, Recompute.FULL) and ends == {Recompute.NONE}:
        return None
    num_full = plan.recompute_layers.count(Recompute.FULL)
    return Infeasible(
        rule="recompute_expressible",
        sentence=f"{TITLE} recomputes every block or none, and neither embedding nor head, "
        f"but the plan recomputes {num_full} of {len(plan.recompute_layers)} layers; use recompute none or full",
    )


RECOMPUTE_EXPRESSIBLE = Rule(
    "recompute_expressible",
    "Recompute is none or full for all blocks, and none for embedding and head.",
    _recompute_expressible,
    needs_cut=True,
)

RULES: tuple[Rule, ...] = (
    rules.PLANNED_AXES,
    rules.architecture_expressible(TITLE, ARCHITECTURES, EXPRESSES),
    rules.BLOCKS_ALIKE,
    rules.features_expressible(TITLE, EXPRESSES),
    rules.attends_fully(TITLE, ARCHITECTURES),
    ZERO_EXPRESSIBLE,
    rules.schedule_expressible(TITLE, SCHEDULES),
    rules.UNTIED_WITH_PIPELINE,
    *rules.tensor_parallel_divides(),
    rules.BATCH_DIVIDES,
    rules.ENOUGH_MICROBATCHES,
    rules.CUT_COVERS_MODEL,
    RECOMPUTE_EXPRESSIBLE,
)
