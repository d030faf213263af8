"""Rules that frameworks share, each stated once: what tensor, data and pipeline parallelism ask of shapes and batch."""

from __future__ import annotations

from costmodel import divisibility, feasibility
from costmodel.divisibility import block_shapes, divisors, listed
from costmodel.spec import Infeasible, ModelSpec, Plan, Recompute, Schedule, Workload
from planner.frameworks.framework import Rule

HEADS_DIVIDE = Rule("heads_divide", "tp divides num_attention_heads.", divisibility.heads)
KV_HEADS_DIVIDE = Rule("kv_heads_divide", "tp divides num_key_value_heads.", divisibility.kv_heads)
FFN_DIVIDES = Rule("ffn_divides", "tp divides intermediate_size.", divisibility.ffn)
SEQ_LEN_DIVIDES = Rule("seq_len_divides", "tp divides seq_len.", divisibility.seq_len)
VOCAB_DIVIDES = Rule("vocab_divides", "tp divides vocab_size.", divisibility.vocab)
"""Where the framework neither pads the vocabulary nor lets the shards differ."""
BATCH_DIVIDES = Rule("batch_divides", "micro_batch x dp divides global_batch.", divisibility.batch)


def _enough_microbatches(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    batch = workload.global_batch
    if plan.pp == 1 or plan.schedule is not Schedule.ONE_F_ONE_B or batch % (plan.micro_batch * plan.dp):
        return None
    count = batch // (plan.micro_batch * plan.dp)
    if count >= plan.pp:
        return None
    share = batch // plan.dp
    valid = [size for size in divisors(share, plan.micro_batch) if share // size >= plan.pp]
    remedy = (
        f"valid values of micro_batch: {listed(valid)}"
        if valid
        else f"it takes global_batch of at least pp x dp = {plan.pp * plan.dp}"
    )
    return Infeasible(
        rule="enough_microbatches",
        sentence=f"schedule 1f1b needs at least as many micro-batches as stages, but global_batch = {batch}, "
        f"micro_batch = {plan.micro_batch} and dp = {plan.dp} give {count} for pp = {plan.pp}; {remedy}",
        needed=plan.pp,
        limit=count,
    )


ENOUGH_MICROBATCHES = Rule(
    "enough_microbatches",
    "With schedule 1f1b each data-parallel rank has at least as many micro-batches as there are stages.",
    _enough_microbatches,
)
"""torch.distributed.pipelining raises a ValueError otherwise."""


def _untied_with_pipeline(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    if plan.pp == 1 or not model.tied:
        return None
    return Infeasible(
        rule="untied_with_pipeline",
        sentence=f"pp = {plan.pp} would put embedding and head of {model.name} on different stages, "
        f"but tie_word_embeddings is true; use pp = 1",
        needed=plan.pp,
        limit=1,
    )


UNTIED_WITH_PIPELINE = Rule(
    "untied_with_pipeline", "A model with tied embeddings is not split into pipeline stages.", _untied_with_pipeline
)


CUT_COVERS_MODEL = Rule(
    "cut_covers_model", "The stages hold every layer of the model once.", feasibility.cut_covers_model, needs_cut=True
)


def blocks_alone_recomputed(title: str) -> Rule:
    """A rule that neither embedding nor head is recomputed, where any set of blocks may be."""

    def check(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
        if Recompute.FULL not in (plan.recompute_layers[0], plan.recompute_layers[-1]):
            return None
        return Infeasible(
            rule="recompute_expressible",
            sentence=f"{title} recomputes neither the embedding nor the head; recompute blocks alone",
        )

    return Rule("recompute_expressible", "Embedding and head are not recomputed.", check, needs_cut=True)


def zero_expressible(title: str, zero_stages: tuple[int, ...], reason: str) -> Rule:
    """A rule that the ZeRO stage is one of `zero_stages`; `reason` says why the others are not."""

    def check(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
        if plan.zero in zero_stages:
            return None
        return Infeasible(
            rule="zero_expressible",
            sentence=f"zero = {plan.zero} is not possible with {title}: {reason}; valid values: {listed(zero_stages)}",
            needed=plan.zero,
        )

    return Rule("zero_expressible", f"zero is one of {listed(zero_stages)}: {reason}.", check)


def schedule_expressible(title: str, schedules: tuple[Schedule, ...]) -> Rule:
    """A rule that a plan with several stages uses one of `schedules`; with one stage the schedule says nothing."""

    def check(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
        if plan.pp == 1 or plan.schedule in schedules:
            return None
        return Infeasible(
            rule="schedule_expressible",
            sentence=f"schedule = {plan.schedule} is not one that {title} has; valid values: {listed(schedules)}",
        )

    return Rule("schedule_expressible", f"A pipeline runs by schedule {listed(schedules)}.", check)


def architecture_expressible(title: str, architectures: tuple[str, ...]) -> Rule:
    """A rule that the model is of a class whose every detail the exporter can say."""

    def check(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
        if model.architecture in architectures:
            return None
        return Infeasible(
            rule="architecture_expressible",
            sentence=f"architecture {model.architecture} of {model.name} cannot be expressed for {title}; "
            f"valid values: {listed(architectures)}",
        )

    return Rule("architecture_expressible", f"The architecture is one of {listed(architectures)}.", check)


def _blocks_alike(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
    shapes = block_shapes(model)
    if len(shapes) == 1:
        return None
    return Infeasible(
        rule="blocks_alike",
        sentence=f"the blocks of {model.name} have {len(shapes)} different shapes, "
        "but the configuration holds one shape for all blocks; use framework native",
        needed=len(shapes),
        limit=1,
    )


BLOCKS_ALIKE = Rule("blocks_alike", "All blocks have one shape.", _blocks_alike)


def gated_mlp(title: str) -> Rule:
    """A rule that the feed-forward network is gated, the only kind the exporter can say."""

    def check(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
        if all(block.gated_mlp for block in block_shapes(model)):
            return None
        return Infeasible(
            rule="gated_mlp",
            sentence=f"the feed-forward network of {model.name} is not gated, but only gated ones "
            f"can be expressed for {title}; use framework native",
        )

    return Rule("gated_mlp", "The feed-forward network is gated (SwiGLU).", check)
