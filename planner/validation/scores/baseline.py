"""The simplest model: FLOP of the model over a constant share of the peak, whatever the layout."""

from __future__ import annotations

from costmodel.spec import Precision
from planner.clusters.presets import device_data
from planner.validation.configuration import Configuration
from planner.validation.machines import preset_of
from planner.validation.precisions import Narrow, precision_named
from planner.validation.unsaid import Unsaid

EFFICIENCY_16_BIT = 0.41
EFFICIENCY_NARROW = 0.35
"""Below 16 bits."""
PEAK_RATIO: dict[Precision | Narrow, int] = {Narrow.FP8: 2, Narrow.FP4: 4}
"""Dense peak over that of 16 bits."""


def baseline_s(run: Configuration) -> float | None:
    """Step time at constant efficiency: 6 FLOP per active parameter and token, and attention with its causal half.

    None for a GPU that no preset describes, and for a number format that is not known. Latent attention counts as one
    of full heads.
    """
    preset = preset_of(run.gpu)
    if isinstance(preset, Unsaid):
        return None
    precision = precision_named(run.precision)
    if precision is None:
        return None
    peak = device_data(preset)["peak_flop_per_s"]["fp16"] * PEAK_RATIO.get(precision, 1)
    efficiency = EFFICIENCY_NARROW if isinstance(precision, Narrow) else EFFICIENCY_16_BIT
    head_dim = run.head_dim or run.hidden // run.heads
    attention = 6 * run.layers * run.seq_len * run.heads * head_dim
    flop = (6 * active_params(run) + attention) * run.global_batch * run.seq_len
    return float(flop / (efficiency * peak * run.n_gpus))


def active_params(run: Configuration) -> float:
    """Parameters of the matrices that a token meets: blocks with the experts it is sent to, and the head."""
    head_dim = run.head_dim or run.hidden // run.heads
    matrices = 3 if run.gated_mlp else 2
    attention = 2 * run.hidden * head_dim * (run.heads + (run.kv_heads or run.heads))
    routed = 0.0
    experts = 0
    if run.experts is not None:
        routed = (run.layers - (run.dense_first_layers or 0)) / (run.moe_every or 1)
        experts = (run.top_k or 1) * (run.expert_ffn or 0) + (run.shared_expert_ffn or 0)
    columns = routed * experts + (run.layers - routed) * (run.ffn_hidden or 0)
    return run.layers * attention + matrices * run.hidden * columns + run.vocab * run.hidden
