"""Bytes a layer keeps from forward to backward: measured, scaled from a measurement, or counted tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.setting import LayerView
from costmodel.spec import DenseBlock, Embedding, Head, LayerSample, Source
from costmodel.terms import measured_layer


@dataclass(frozen=True)
class Saved:
    """Bytes of one micro-batch kept for backward, and where the number comes from."""

    size_bytes: int
    source: Source


def saved(view: LayerView) -> Saved:
    """Measured, scaled from a measurement of the same layer and shard, or counted tensor by tensor."""
    sample = measured_layer.exact(view)
    if sample is not None:
        return Saved(sample.saved_bytes, Source.MEASURED)
    neighbour = measured_layer.nearest(view)
    if neighbour is not None and _scales(neighbour.sample, view):
        tokens = neighbour.sample.micro_batch * neighbour.sample.seq_len
        return Saved(round(neighbour.sample.saved_bytes * view.tokens / tokens), Source.FITTED)
    return Saved(_counted_bytes(view), Source.ANALYTIC)


def input_bytes(view: LayerView) -> int:
    """What a recomputed layer keeps: its input, the slice of the sequence that a tensor-parallel rank holds."""
    if isinstance(view.layer, Embedding):
        return 8 * view.tokens  # token numbers, int64
    return view.activation_bytes // view.mesh.tp


def _scales(sample: LayerSample, view: LayerView) -> bool:
    return sample.layer == view.layer and sample.tp == view.mesh.tp


def _counted_bytes(view: LayerView) -> int:
    """Tensors that autograd keeps, e bytes a number, sequence-parallel slices divided by tp.

    Block: two norms (e h each, plus an fp32 copy of their input where the stack makes one), the gathered inputs of
    attention and feed-forward (e h each), queries and the attention output (2 e q), keys and values (2 e kv), and
    e f for each kept tensor of the feed-forward network: gate, activation, up and product if gated, else
    pre-activation and activation; one fewer where activation and product are one kernel.
    Head: norm, gathered input and the fp32 log-probabilities of the loss. What the loss needs only for a moment is a
    memory term of its own.
    """
    e, tp, tokens = view.setting.workload.precision.bytes, view.mesh.tp, view.tokens
    layer, stack = view.layer, view.setting.stack
    norm = (e + (4 if stack.norm_keeps_fp32_copy else 0)) * layer.hidden / tp
    match layer:
        case Embedding():
            return 8 * tokens
        case Head():
            return round(tokens * (norm + e * layer.hidden + 4 * -(-layer.vocab // tp)))
        case DenseBlock():
            ffn_tensors = (4 if layer.gated_mlp else 2) - (1 if stack.mlp_activation_fused and layer.gated_mlp else 0)
            gathered = 2 * layer.hidden / (1 if stack.gathered_input_saved else tp)
            widths = gathered + (2 * layer.query_width + 2 * layer.kv_width + ffn_tensors * layer.ffn_hidden) / tp
            return round(tokens * (2 * norm + e * widths))
