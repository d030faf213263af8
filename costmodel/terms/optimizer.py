"""The optimizer step: reads and writes every parameter a rank owns, its gradient and its state."""

from __future__ import annotations

from costmodel.price import StepPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.terms.gemm import BANDWIDTH_FRAC

TERM = "optimizer"

BYTES_PER_PARAM = 39.0
"""Bytes that Adam moves per owned parameter; fitted on published runs (33 to 46 over the fits)."""


def price(view: LayerView) -> StepPrice:
    """Bytes over bandwidth, or by the measured optimizer step with the nearest number of parameters."""
    mesh, device, profile = view.mesh, view.setting.cluster.device, view.setting.profile_of_device
    owned_params = mesh.owned(view.num_params, view.num_expert_params) if mesh.zero > 0 else view.num_params
    if profile is not None and profile.optimizer:
        nearest = min(profile.optimizer, key=lambda sample: abs(sample.num_params - owned_params))
        time_s = nearest.time.median_s * owned_params / nearest.num_params
        source = Source.MEASURED if nearest.num_params == owned_params else Source.FITTED
        return StepPrice(TERM, source, after_s=time_s)
    rate = device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC
    source = Source.worst(Source.FITTED, device.source)
    return StepPrice(TERM, source, after_s=owned_params * BYTES_PER_PARAM / rate)
