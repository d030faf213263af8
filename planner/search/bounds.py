"""Lower bound of a mesh: what no stage cut and no recompute choice can undercut, from layer prices alone."""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.price import LayerPrice
from costmodel.schedules import SCHEDULES
from costmodel.setting import Mesh, Setting
from costmodel.terms import host


def mesh_lower_bound_s(setting: Setting, mesh: Mesh, prices: Sequence[LayerPrice]) -> float:
    """The larger of two bounds on the step, without recomputation.

    The pipeline bound of the schedule on the total and on the stage that must hold the most blocks, plus what the
    first stage, which holds the embedding and ends last, does once per step; and the work of all stages, averaged,
    since no stage ends before its own work is done.
    """
    passes_s = [price.forward_s + price.backward_s for price in prices]
    total_s, outside_s = sum(passes_s), sum(price.outside_s for price in prices)
    most_blocks = -(-setting.model.num_layers // mesh.pp)
    bottleneck_s = max(total_s / mesh.pp, most_blocks * min(passes_s[1:-1]), passes_s[-1])
    pipeline_s = SCHEDULES[mesh.schedule].any_cut_bound_s(total_s, bottleneck_s, mesh.pp, mesh.num_microbatches)
    average_s = (mesh.num_microbatches * total_s + outside_s) / mesh.pp
    return max(pipeline_s + prices[0].outside_s, average_s) + host.per_step(setting).after_s
