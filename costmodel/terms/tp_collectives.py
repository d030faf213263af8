"""Tensor parallelism: what its ranks exchange around layers and within, with sequence parallelism or without."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice, Timed
from costmodel.setting import LayerView
from costmodel.spec import Block, Collective, Dense, Embedding, Head, Moe, Source, Stem
from costmodel.spec.operations import AllReduce, Gather
from costmodel.terms.gemm import stops_early

TERM = "tensor-parallel traffic"

LOSS_REDUCTIONS = 3
"""All-reduces of one number per token in a vocabulary-parallel loss: maximum, sum of exponentials, target logit."""


def price(view: LayerView) -> PassPrice:
    """Fully exposed collectives over the hidden state of a micro-batch (arXiv 2205.05198, section 4.2.2).

    A block gathers before each half (attention, feed-forward) and scatters after it, and the same in backward. The
    embedding scatters its output, the head gathers its input; in backward each does the opposite. Stems and lone
    matrices work on whole sequences, each rank for itself: a matrix gathers its input, and either gathers the gradient
    of its output. A norm works on slices. A repetition that stops early leaves out the last scatter of a block, where
    backward does not need what it yields.

    Without sequence parallelism an all-reduce stands in the place of each reduce-scatter and the gather before it
    (arXiv 1909.08053): after each half of a block and the embedding forward, before each half and the head backward.
    """
    if not view.mesh.sp:
        return _with_whole_sequences(view)
    gather = _over_ranks(view, Collective.ALL_GATHER, view.activation_bytes)
    scatter = _over_ranks(view, Collective.REDUCE_SCATTER, view.activation_bytes)
    forward_s = backward_s = 0.0
    repeated_s = None
    sources = [gather.source, scatter.source]
    match view.layer:
        case Block():
            within, within_again = _within(view, Collective.ALL_GATHER), _within(view, Collective.REDUCE_SCATTER)
            sources += [within.source, within_again.source]
            around_s = _num_gathered_halves(view, view.layer) * (gather.time_s + scatter.time_s)
            forward_s, backward_s = around_s + within.time_s, around_s + within_again.time_s
            if stops_early(view):
                repeated_s = forward_s - scatter.time_s
        case Embedding():
            forward_s, backward_s = scatter.time_s, gather.time_s
        case Stem():
            backward_s = gather.time_s
        case Dense():
            output_bytes = view.tokens * view.layer.out * view.setting.workload.precision.bytes
            forward_s, backward_s = gather.time_s, _over_ranks(view, Collective.ALL_GATHER, output_bytes).time_s
        case Head():
            loss = _over_ranks(view, Collective.ALL_REDUCE, 4 * view.tokens)
            sources.append(loss.source)
            forward_s, backward_s = gather.time_s + LOSS_REDUCTIONS * loss.time_s, scatter.time_s
    return PassPrice(TERM, forward_s, backward_s, Source.worst(*sources), repeated_s)


def _with_whole_sequences(view: LayerView) -> PassPrice:
    """Every rank has the whole hidden state, and experts are on the ranks of the rest."""
    reduce = _over_ranks(view, Collective.ALL_REDUCE, view.activation_bytes)
    within = _within(view, Collective.ALL_GATHER)
    forward_s = backward_s = 0.0
    sources = [reduce.source, within.source]
    match view.layer:
        case Block():
            forward_s = backward_s = view.layer.num_half_blocks * reduce.time_s + within.time_s
        case Embedding():
            forward_s = reduce.time_s
        case Head():
            loss = _over_ranks(view, Collective.ALL_REDUCE, 4 * view.tokens)
            sources.append(loss.source)
            forward_s, backward_s = LOSS_REDUCTIONS * loss.time_s, reduce.time_s
    return PassPrice(TERM, forward_s, backward_s, Source.worst(*sources))


def _num_gathered_halves(view: LayerView, block: Block) -> int:
    """Halves whose input all tensor-parallel ranks need; routed experts on other ranks get theirs by an exchange."""
    exchanged = (
        view.mesh.shards.experts_apart and isinstance(block.feed_forward, Moe) and block.feed_forward.shared is None
    )
    return block.num_half_blocks - exchanged


def _within(view: LayerView, gathering: Collective) -> Timed:
    """What the parts of a block exchange besides the hidden state, in the pass in which slices are gathered, or in the
    one in which their gradients are scattered."""
    value_bytes, total = view.setting.workload.precision.bytes, Timed(0.0, Source.ANALYTIC)
    for op in view.operations:
        match op:
            case AllReduce():
                size_bytes = op.values * value_bytes + 4 * op.fp32_values
                total += _over_ranks(view, Collective.ALL_REDUCE, size_bytes)
            case Gather():
                total += _over_ranks(view, gathering, op.values * value_bytes)
    return total


def _over_ranks(view: LayerView, op: Collective, size_bytes: float) -> Timed:
    return collective_time(view.setting, op, view.mesh.tp, 1, size_bytes)
