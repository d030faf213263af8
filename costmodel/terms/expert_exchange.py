"""Expert parallelism: tokens go to the ranks that hold their experts, and come back (arXiv 2006.16668)."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice, Timed
from costmodel.setting import LayerView
from costmodel.spec import Block, Collective, Moe, Source

TERM = "expert-parallel traffic"


def price(view: LayerView) -> PassPrice:
    """Each rank sends the copies of its slice's tokens to their experts and gets the results: an all-to-all each way.

    Where ranks share the columns of experts, they gather the copies behind the one and scatter before the other.
    Backward does the same the other way round. Nothing is hidden.
    """
    mesh, shards = view.mesh, view.mesh.shards
    if not shards.experts_apart or not isinstance(view.layer, Block) or not isinstance(view.layer.feed_forward, Moe):
        return PassPrice(TERM, 0.0, 0.0, Source.ANALYTIC)
    experts = view.layer.feed_forward
    rows = view.tokens * experts.experts_per_token / shards.tp
    size_bytes = rows * experts.routed_width * view.setting.workload.precision.bytes
    exchange = collective_time(view.setting, Collective.ALL_TO_ALL, mesh.ep, shards.expert_tp, size_bytes)
    gathered_bytes = size_bytes * shards.expert_tp
    around = Timed(0.0, Source.ANALYTIC)
    for op in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER):
        around += collective_time(view.setting, op, shards.expert_tp, 1, gathered_bytes)
    pass_s = 2 * exchange.time_s + around.time_s
    return PassPrice(TERM, pass_s, pass_s, Source.worst(exchange.source, around.source))
