"""Rules that frameworks share, each stated once: what tensor, data and pipeline parallelism ask of shapes and batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from costmodel import divisibility, feasibility
from costmodel.divisors import divisors, listed
from costmodel.spec import (
    Attention,
    Block,
    Infeasible,
    Mlp,
    ModelSpec,
    Norm,
    Plan,
    Recompute,
    Schedule,
    Traced,
    Workload,
)
from planner.frameworks.features import Feature, features_of
from planner.frameworks.framework import ARCHITECTURE_EXPRESSIBLE, Rule

SINGLE_STREAM = Rule(
    "pipeline_single_stream",
    "Only one stack of blocks between an embedding and a head is split into pipeline stages.",
    feasibility.single_stream,
)
KNOWN_LAYERS = Rule(
    "tensor_parallel_known_layers", "Layers known by tracing only are not split.", feasibility.splittable
)
PLANNED_AXES = Rule(
    "planned_axes",
    "Sequences are split by tensor-parallel ranks and by no others, experts as other layers are.",
    feasibility.planned_axes,
)
BATCH_DIVIDES = Rule("batch_divides", "micro_batch x dp divides global_batch.", divisibility.batch)


def tensor_parallel_divides(*, whole_vocab: bool = False) -> tuple[Rule, ...]:
    """Rules that tp divides what it splits; with `whole_vocab` also the vocabulary, for a framework that neither pads
    it nor lets the shards differ."""

    def divides(name: str, summary: str, check: Callable[..., Infeasible | None]) -> Rule:
        return Rule(name, summary, partial(check, whole_vocab=whole_vocab))

    vocab = Rule("vocab_divides", "tp divides vocab_size.", divisibility.vocab)
    return (
        divides("heads_divide", "tp divides num_attention_heads.", divisibility.heads),
        divides("kv_heads_divide", "tp divides num_key_value_heads.", divisibility.kv_heads),
        divides("ffn_divides", "tp divides the width of feed-forward networks.", divisibility.ffn),
        divides(
            "recurrence_divides",
            "tp divides channels, heads and groups of state-space layers and linear attention.",
            divisibility.recurrence,
        ),
        *((vocab,) if whole_vocab else ()),
        divides("seq_len_divides", "tp divides seq_len.", divisibility.seq_len),
    )


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


def architecture_expressible(title: str, architectures: tuple[str, ...], expresses: frozenset[Feature]) -> Rule:
    """A rule that the model is of a class whose every detail the exporter can say."""

    def check(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
        if model.architecture in architectures:
            return None
        foreign = [feature for feature in features_of(model) if feature not in expresses]
        why = f"it has {', '.join(foreign)}" if foreign else "its class was never compared with what is written there"
        return Infeasible(
            rule=ARCHITECTURE_EXPRESSIBLE,
            sentence=f"architecture {model.architecture} of {model.name} cannot be expressed for {title}: {why}; "
            f"valid values: {listed(architectures)}; use framework native, which prices it",
        )

    return Rule(ARCHITECTURE_EXPRESSIBLE, f"The architecture is one of {listed(architectures)}.", check)


def features_expressible(title: str, expresses: frozenset[Feature]) -> Rule:
    """A rule that a model has nothing beyond a plain decoder but what `expresses` names."""

    def check(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
        foreign = [feature for feature in features_of(model) if feature not in expresses]
        if not foreign:
            return None
        return Infeasible(
            rule="features_expressible",
            sentence=f"{model.name} has {', '.join(foreign)}, which cannot be expressed for {title}; use framework "
            "native, which prices it",
        )

    can = f" and {', '.join(sorted(expresses))}" if expresses else ""
    return Rule("features_expressible", f"The model is a plain decoder{can}.", check)


def _blocks_alike(model: ModelSpec, _workload: Workload, _plan: Plan) -> Infeasible | None:
    shapes = set(model.blocks)
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


def attends_fully(title: str, architectures: tuple[str, ...]) -> Rule:
    """A rule that no attention window of a model of `architectures` is shorter than the sequence."""

    def check(model: ModelSpec, workload: Workload, _plan: Plan) -> Infeasible | None:
        window = _shortest_window(model)
        if model.architecture not in architectures or window is None or window >= workload.seq_len:
            return None
        return Infeasible(
            rule="attends_fully",
            sentence=f"{model.name} attends to a window of {window} tokens, but {title} attends to the whole sequence, "
            f"and seq_len is {workload.seq_len}; use seq_len of at most {window}",
            needed=workload.seq_len,
            limit=window,
        )

    return Rule("attends_fully", "No attention window is shorter than the sequence.", check)


def _shortest_window(model: ModelSpec) -> int | None:
    mixers = (run.layer.mixer for run in model.runs if isinstance(run.layer, Block))
    windows = [mixer.window for mixer in mixers if isinstance(mixer, Attention) and mixer.window is not None]
    return min(windows, default=None)


def halves(model: ModelSpec) -> tuple[Attention, Mlp]:
    """Attention and feed-forward network of the first block, of a model whose blocks are made of these two.

    Raises ValueError for another; the rule `features_expressible` refuses it first.
    """
    block = model.blocks[0]
    if isinstance(block, Block) and isinstance(block.mixer, Attention) and isinstance(block.feed_forward, Mlp):
        return block.mixer, block.feed_forward
    raise ValueError(f"the first block of {model.name} is not attention and a dense feed-forward network")


def is_plain(block: Block | Traced) -> bool:
    """Whether a block is attention and a gated dense feed-forward network, one after the other, with RMS norms."""
    return (
        isinstance(block, Block)
        and isinstance(block.mixer, Attention)
        and block.cross_attention is None
        and isinstance(block.feed_forward, Mlp)
        and block.feed_forward.gated
        and block.norm is Norm.RMS
        and not block.parallel
    )
