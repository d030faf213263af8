"""What torchtitan 0.3.0 can express in a configuration module.

Checked against `torchtitan/config/configs.py`, `trainer.py`, `models/common/decoder.py` and `distributed/` of that
release, and `torch/distributed/pipelining/stage.py` of torch 2.13.
"""

from __future__ import annotations

from costmodel.spec import Infeasible, ModelSpec, Plan, Precision, Recompute, Schedule, Workload
from planner.frameworks import rules
from planner.frameworks.framework import Rule

TITLE = "torchtitan"
ZERO_STAGES = (0, 1, 2, 3)
PRECISIONS = (Precision.BF16, Precision.FP32)
SCHEDULES = (Schedule.ONE_F_ONE_B, Schedule.GPIPE)
ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM")


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


def _no_biases(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
    if not rules.is_plain(model.blocks[0]):
        return None
    attention, mlp = rules.halves(model)
    if not (attention.qkv_bias or attention.output_bias or mlp.bias):
        return None
    return Infeasible(
        rule="no_biases",
        sentence=f"{model.name} has biases in its linear layers, which the models of {TITLE} do not have; "
        "use framework native or megatron",
    )


NO_BIASES = Rule("no_biases", "Linear layers have no bias.", _no_biases)


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
    rules.architecture_expressible(TITLE, ARCHITECTURES),
    rules.BLOCKS_ALIKE,
    rules.plain_blocks(TITLE),
    rules.attends_fully(TITLE, ARCHITECTURES),
    NO_BIASES,
    ZERO_EXPRESSIBLE,
    rules.schedule_expressible(TITLE, SCHEDULES),
    rules.UNTIED_WITH_PIPELINE,
    *rules.tensor_parallel_divides(),
    rules.BATCH_DIVIDES,
    rules.ENOUGH_MICROBATCHES,
    rules.CUT_COVERS_MODEL,
    RECOMPUTE_EXPRESSIBLE,
)
