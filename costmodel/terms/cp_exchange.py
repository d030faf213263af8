"""Context parallelism: keys and values go round the ring of ranks that share a sequence (arXiv 2310.01889)."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Block, Collective, Source

TERM = "context-parallel traffic"

EXPOSED_FORWARD_FRAC = 0.3
EXPOSED_BACKWARD_FRAC = 0.6
"""What of the exchange attention does not hide: assumed; the four published runs that test it lie within 3 %."""


def price(view: LayerView) -> PassPrice:
    """Each rank passes on, once to every other rank, the keys and values of its tokens; backward their gradients too.

    Tensor-parallel ranks have a share of the heads each.
    """
    mesh = view.mesh
    if mesh.cp == 1 or not isinstance(view.layer, Block):
        return PassPrice(TERM, 0.0, 0.0, Source.ANALYTIC)
    values = view.tokens * sum(part.ring_width or 0 for part in view.layer.parts) / mesh.tp
    size_bytes = values * view.setting.workload.precision.bytes
    hop = collective_time(view.setting, Collective.SEND_RECV, mesh.cp, mesh.tp, size_bytes)
    ring_s = (mesh.cp - 1) * hop.time_s
    return PassPrice(
        TERM,
        EXPOSED_FORWARD_FRAC * ring_s,
        EXPOSED_BACKWARD_FRAC * 2 * ring_s,
        Source.worst(hop.source, Source.ASSUMED),
    )
