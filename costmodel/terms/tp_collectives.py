"""Tensor parallelism with sequence parallelism: the all-gathers and reduce-scatters around each half block."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Block, Collective, Embedding, Head, Source
from costmodel.terms.gemm import stops_early

TERM = "tensor-parallel traffic"

LOSS_REDUCTIONS = 3
"""All-reduces of one number per token in a vocabulary-parallel loss: maximum, sum of exponentials, target logit."""


def price(view: LayerView) -> PassPrice:
    """Fully exposed collectives over the hidden state of a micro-batch (arXiv 2205.05198, section 4.2.2).

    A block gathers before each half (attention, feed-forward) and scatters after it, and the same in backward. The
    embedding scatters its output, the head gathers its input; in backward each does the opposite. A repetition that
    stops early leaves out the last scatter of a block, where backward does not need what it yields.
    """
    tp = view.mesh.tp
    gather = collective_time(view.setting, Collective.ALL_GATHER, tp, 1, view.activation_bytes)
    scatter = collective_time(view.setting, Collective.REDUCE_SCATTER, tp, 1, view.activation_bytes)
    forward_s = backward_s = 0.0
    repeated_s = None
    sources = [gather.source, scatter.source]
    match view.layer:
        case Block():
            forward_s = backward_s = view.layer.num_half_blocks * (gather.time_s + scatter.time_s)
            if stops_early(view):
                repeated_s = forward_s - scatter.time_s
        case Embedding():
            forward_s, backward_s = scatter.time_s, gather.time_s
        case Head():
            loss = collective_time(view.setting, Collective.ALL_REDUCE, tp, 1, 4 * view.tokens)
            sources.append(loss.source)
            forward_s, backward_s = gather.time_s + LOSS_REDUCTIONS * loss.time_s, scatter.time_s
    return PassPrice(TERM, forward_s, backward_s, Source.worst(*sources), repeated_s)
