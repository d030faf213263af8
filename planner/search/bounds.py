"""Lower bound of a mesh: what no stage cut and no recompute choice can undercut, from layer prices alone."""

from __future__ import annotations

from collections.abc import Mapping

from costmodel.price import LayerPrice
from costmodel.schedules import SCHEDULES
from costmodel.setting import Mesh, Setting
from costmodel.spec import Layer
from costmodel.terms import host


def mesh_lower_bound_s(setting: Setting, mesh: Mesh, prices: Mapping[Layer, LayerPrice]) -> float:
    """The larger of two bounds on the step, without recomputation.

    The pipeline bound of the schedule on the total and on the stage that must hold the most blocks, plus what the
    first stage, which holds the embedding and ends last, does after it; and the work of all stages, averaged,
    since no stage ends before its own work is done.
    """
    runs = setting.model.runs
    total_s = sum(run.count * _pass_s(prices[run.layer]) for run in runs)
    outside_s = sum(run.count * _step_s(prices[run.layer]) for run in runs)
    blocks = runs[1:-1]
    most_blocks = -(-setting.model.num_layers // mesh.pp)
    bottleneck_s = max(
        total_s / mesh.pp,
        most_blocks * min(_pass_s(prices[run.layer]) for run in blocks),
        _pass_s(prices[setting.model.head]),
    )
    pipeline_s = SCHEDULES[mesh.schedule].any_cut_bound_s(total_s, bottleneck_s, mesh.pp, mesh.num_microbatches)
    average_s = (mesh.num_microbatches * total_s + outside_s) / mesh.pp
    first_stage_s = _step_s(prices[setting.model.embedding])
    return max(pipeline_s + first_stage_s, average_s) + host.per_step(setting).after_s


def _pass_s(price: LayerPrice) -> float:
    return price.forward_s + price.backward_s


def _step_s(price: LayerPrice) -> float:
    return sum(step.before_s + step.after_s for step in price.steps)
