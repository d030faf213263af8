"""Lower bounds of a mesh: step time and memory that no stage cut and no recompute choice can undercut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from costmodel.layer_price import price_layers
from costmodel.memory import StageView, optimizer_state, weights
from costmodel.price import LayerPrice
from costmodel.schedules import SCHEDULES
from costmodel.setting import Mesh, Setting
from costmodel.spec import Recompute
from costmodel.terms import host


def mesh_lower_bound_s(setting: Setting, mesh: Mesh, prices: Sequence[LayerPrice], num_recomputed: int = 0) -> float:
    """The larger of two bounds on the step, where every stage recomputes `num_recomputed` blocks, or all that it has.

    The pipeline bound of the schedule on the total and on the stage that must take longest, plus what the first
    stage, which holds the embedding and ends last, does once per step; and the work of all stages, averaged, since no
    stage ends before its own work is done. Some stage holds at least its share of the blocks, rounded up.
    """
    blocks, head = prices[1:-1], prices[-1]
    most_blocks = -(-len(blocks) // mesh.pp)
    again_s = min(price.recompute_s for price in blocks)
    total_s = _total_s(prices) + min(num_recomputed, len(blocks)) * again_s
    outside_s = sum(price.outside_s for price in prices)
    most_blocks_s = most_blocks * min(price.forward_s + price.backward_s for price in blocks)
    most_blocks_s += min(num_recomputed, most_blocks) * again_s
    bottleneck_s = max(total_s / mesh.pp, most_blocks_s, head.forward_s + head.backward_s)
    pipeline_s = SCHEDULES[mesh.schedule].any_cut_bound_s(total_s, bottleneck_s, mesh.pp, mesh.num_microbatches)
    average_s = (mesh.num_microbatches * total_s + outside_s) / mesh.pp
    return max(pipeline_s + prices[0].outside_s, average_s) + host.per_step(setting).after_s


class TimeFloor:
    """A looser bound that costs nothing to ask: the work of all micro-batches, spread evenly over the stages.

    A pass is never faster with data parallelism around it than without, so one pricing of a tensor degree and
    micro-batch serves all meshes that share them.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._total_s: dict[tuple[int, int], float] = {}

    def of(self, mesh: Mesh) -> float:
        """Seconds per step that no plan on `mesh` undercuts."""
        key = mesh.tp, mesh.micro_batch
        if key not in self._total_s:
            alone = replace(mesh, pp=1, dp=1, zero=0)
            self._total_s[key] = _total_s(price_layers(self._setting, alone))
        return mesh.num_microbatches * self._total_s[key] / mesh.pp + host.per_step(self._setting).after_s


def memory_floor_bytes(setting: Setting, mesh: Mesh, prices: tuple[LayerPrice, ...]) -> int:
    """Peak that some stage of every plan on `mesh` reaches: its share of weights and optimizer state, which stay."""
    modes = (Recompute.NONE,) * len(prices)
    whole = StageView(setting, mesh, mesh.pp - 1, setting.model.layers, prices, modes)
    kept_bytes = weights.item(whole).checkpoint_bytes + optimizer_state.item(whole).checkpoint_bytes
    # Each stage may round either kind down by a byte.
    return kept_bytes // mesh.pp - 2


def _total_s(prices: Sequence[LayerPrice]) -> float:
    return sum(price.forward_s + price.backward_s for price in prices)
