"""Rules that frameworks share, each stated once: what tensor, data and pipeline parallelism ask of shapes and batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from costmodel.spec import DenseBlock, Infeasible, ModelSpec, Plan, Schedule, Workload
from planner.frameworks.framework import Rule

Sizes = Callable[[ModelSpec, Workload], Iterable[int]]


def tensor_parallel_divides(name: str, field: str, sizes: Sizes) -> Rule:
    """A rule that tp divides every size that `sizes` finds; `field` is the name of the size in sentences."""

    def check(model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
        distinct = sorted(set(sizes(model, workload)))
        for size in distinct:
            if size % plan.tp:
                valid = [tp for tp in divisors(size, plan.num_ranks) if all(other % tp == 0 for other in distinct)]
                return Infeasible(
                    rule=name,
                    sentence=f"tp = {plan.tp} does not divide {field} = {size}; "
                    f"valid values up to {plan.num_ranks}: {_listed(valid)}",
                    needed=plan.tp,
                    limit=max(valid),
                )
        return None

    return Rule(name, f"tp divides {field}.", check)


HEADS_DIVIDE = tensor_parallel_divides(
    "heads_divide", "num_attention_heads", lambda model, _workload: (block.num_heads for block in block_shapes(model))
)
KV_HEADS_DIVIDE = tensor_parallel_divides(
    "kv_heads_divide",
    "num_key_value_heads",
    lambda model, _workload: (block.num_kv_heads for block in block_shapes(model)),
)
FFN_DIVIDES = tensor_parallel_divides(
    "ffn_divides", "intermediate_size", lambda model, _workload: (block.ffn_hidden for block in block_shapes(model))
)
SEQ_LEN_DIVIDES = tensor_parallel_divides("seq_len_divides", "seq_len", lambda _model, workload: (workload.seq_len,))
"""Sequence parallelism splits the sequence over the tensor ranks (arXiv 2205.05198)."""
VOCAB_DIVIDES = tensor_parallel_divides("vocab_divides", "vocab_size", lambda model, _workload: (model.vocab,))
"""Where the framework neither pads the vocabulary nor lets the shards differ."""


def _batch_divides(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    batch = workload.global_batch
    if batch % (plan.micro_batch * plan.dp) == 0:
        return None
    if batch % plan.dp:
        what = f"dp = {plan.dp} does not divide global_batch = {batch}"
        valid = f"valid values of dp up to {plan.num_ranks}: {_listed(divisors(batch, plan.num_ranks))}"
    else:
        share = batch // plan.dp
        what = f"micro_batch = {plan.micro_batch} does not divide global_batch / dp = {batch} / {plan.dp} = {share}"
        valid = f"valid values up to {plan.micro_batch}: {_listed(divisors(share, plan.micro_batch))}"
    return Infeasible(rule="batch_divides", sentence=f"{what}; {valid}", needed=plan.micro_batch * plan.dp, limit=batch)


BATCH_DIVIDES = Rule("batch_divides", "micro_batch x dp divides global_batch.", _batch_divides)


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
        f"valid values of micro_batch: {_listed(valid)}"
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


def _cut_covers_model(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    num_layers, num_cut = len(model.layers), sum(plan.cut)
    if num_cut == num_layers:
        return None
    return Infeasible(
        rule="cut_covers_model",
        sentence=f"cut {list(plan.cut)} holds {num_cut} layers, but {model.name} has {num_layers}, "
        f"embedding and head included; the stages must add up to {num_layers}",
        needed=num_layers,
        limit=num_cut,
    )


CUT_COVERS_MODEL = Rule(
    "cut_covers_model", "The stages hold every layer of the model once.", _cut_covers_model, needs_cut=True
)


def zero_expressible(title: str, zero_stages: tuple[int, ...], reason: str) -> Rule:
    """A rule that the ZeRO stage is one of `zero_stages`; `reason` says why the others are not."""

    def check(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
        if plan.zero in zero_stages:
            return None
        return Infeasible(
            rule="zero_expressible",
            sentence=f"zero = {plan.zero} is not possible with {title}: {reason}; valid values: {_listed(zero_stages)}",
            needed=plan.zero,
        )

    return Rule("zero_expressible", f"zero is one of {_listed(zero_stages)}: {reason}.", check)


def schedule_expressible(title: str, schedules: tuple[Schedule, ...]) -> Rule:
    """A rule that a plan with several stages uses one of `schedules`; with one stage the schedule says nothing."""

    def check(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
        if plan.pp == 1 or plan.schedule in schedules:
            return None
        return Infeasible(
            rule="schedule_expressible",
            sentence=f"schedule = {plan.schedule} is not one that {title} has; valid values: {_listed(schedules)}",
        )

    return Rule("schedule_expressible", f"A pipeline runs by schedule {_listed(schedules)}.", check)


def architecture_expressible(title: str, architectures: tuple[str, ...]) -> Rule:
    """A rule that the model is of a class whose every detail the exporter can say."""

    def check(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
        if model.architecture in architectures:
            return None
        return Infeasible(
            rule="architecture_expressible",
            sentence=f"architecture {model.architecture} of {model.name} cannot be expressed for {title}; "
            f"valid values: {_listed(architectures)}",
        )

    return Rule("architecture_expressible", f"The architecture is one of {_listed(architectures)}.", check)


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


def block_shapes(model: ModelSpec) -> list[DenseBlock]:
    """The distinct blocks of a model, in order; far fewer than its blocks, and rules are asked for every mesh."""
    return list(dict.fromkeys(run.layer for run in model.runs if isinstance(run.layer, DenseBlock)))


def divisors(number: int, up_to: int) -> list[int]:
    """The divisors of `number` that are at most `up_to`, in order."""
    small = [value for value in range(1, math.isqrt(number) + 1) if number % value == 0]
    return [value for value in sorted({*small, *(number // value for value in small)}) if value <= up_to]


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values)
