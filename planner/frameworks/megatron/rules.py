"""What Megatron-LM core_v0.16.1 can express by command-line arguments.

Checked against `megatron/training/arguments.py`, `megatron/core/transformer/transformer_config.py` and
`transformer_block.py` of that tag. Megatron-LM replicates key and value heads where tp is a multiple of them; such
plans are refused, since the cost model has no price for the copies.
"""

from __future__ import annotations

from costmodel.spec import Infeasible, ModelSpec, Plan, Precision, Recompute, Schedule, Workload
from planner.frameworks import rules
from planner.frameworks.features import Feature
from planner.frameworks.framework import Rule

TITLE = "Megatron-LM"
ZERO_STAGES = (0, 1)
PRECISIONS = (Precision.BF16, Precision.FP16, Precision.FP32)
SCHEDULES = (Schedule.ONE_F_ONE_B,)
ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")

EXPRESSES = frozenset({Feature.QK_NORM, Feature.BIASES})
"""What the arguments of `pretrain_gpt.py` that are written say beyond a plain decoder. Megatron-LM has more, such as
experts and latent attention: no argument is written for them."""

BIAS_FLAGS: dict[tuple[bool, bool, bool], tuple[str, ...]] = {
    (False, False, False): ("--disable-bias-linear",),
    (True, False, False): ("--disable-bias-linear", "--add-qkv-bias"),
    (True, True, True): (),
}
"""Flags by (qkv, attention output, feed-forward) bias; Megatron-LM has no others."""


def _biases_expressible(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
    if not rules.is_plain(model.blocks[0]):
        return None
    attention, mlp = rules.halves(model)
    biases = (attention.qkv_bias, attention.output_bias, mlp.bias)
    if biases in BIAS_FLAGS:
        return None
    where = ("query, key and value", "attention output", "feed-forward")
    present = " and ".join(name for name, bias in zip(where, biases, strict=True) if bias)
    return Infeasible(
        rule="biases_expressible",
        sentence=f"{model.name} has biases on {present} only, but {TITLE} puts them on none, "
        "on query, key and value, or on all linear layers; use framework native",
    )


BIASES_EXPRESSIBLE = Rule(
    "biases_expressible",
    "Linear layers have no bias, or only query, key and value have, or all have.",
    _biases_expressible,
)


def recomputed_per_stage(plan: Plan) -> tuple[tuple[Recompute, ...], ...]:
    """Recompute mode of each block, by stage; embedding and head left out."""
    last = len(plan.recompute_layers) - 1
    return tuple(tuple(plan.recompute_layers[index] for index in stage if 0 < index < last) for stage in plan.stages)


def block_recompute_count(plan: Plan) -> int | None:
    """The n for which `plan` recomputes the first n blocks of every stage (all, where it has fewer), else None."""
    stages = recomputed_per_stage(plan)
    count = max(modes.count(Recompute.FULL) for modes in stages)
    for modes in stages:
        expected = min(count, len(modes))
        if modes != (Recompute.FULL,) * expected + (Recompute.NONE,) * (len(modes) - expected):
            return None
    return count


def _recompute_expressible(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    if Recompute.FULL in (plan.recompute_layers[0], plan.recompute_layers[-1]):
        what = f"{TITLE} recomputes neither the embedding nor the head"
    elif block_recompute_count(plan) is None:
        counts = [modes.count(Recompute.FULL) for modes in recomputed_per_stage(plan)]
        what = (
            f"{TITLE} recomputes the first n blocks of every stage, with one n for all stages, "
            f"but the plan recomputes {', '.join(map(str, counts))} blocks of its stages"
        )
    else:
        return None
    return Infeasible(
        rule="recompute_expressible",
        sentence=f"{what}; recompute the same number of first blocks in every stage, or use none or full",
    )


RECOMPUTE_EXPRESSIBLE = Rule(
    "recompute_expressible",
    "Every stage recomputes its first n blocks, with the same n in all stages (a stage with fewer recomputes all).",
    _recompute_expressible,
    needs_cut=True,
)

RULES: tuple[Rule, ...] = (
    rules.PLANNED_AXES,
    rules.architecture_expressible(TITLE, ARCHITECTURES, EXPRESSES),
    rules.BLOCKS_ALIKE,
    rules.features_expressible(TITLE, EXPRESSES),
    rules.attends_fully(TITLE, ARCHITECTURES),
    BIASES_EXPRESSIBLE,
    rules.zero_expressible(
        TITLE,
        ZERO_STAGES,
        "its distributed optimizer shards optimizer state alone, and its FSDP is an engine that is not priced here",
    ),
    rules.schedule_expressible(TITLE, SCHEDULES),
    *rules.tensor_parallel_divides(),
    rules.BATCH_DIVIDES,
    rules.CUT_COVERS_MODEL,
    RECOMPUTE_EXPRESSIBLE,
)
