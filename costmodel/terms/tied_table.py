"""A table tied between embedding and head, in a pipeline: the first and the last stage each hold a copy."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import StepPrice
from costmodel.setting import LayerView
from costmodel.spec import Collective, Embedding, Head, Source

TERM = "tied embeddings"


def price(view: LayerView) -> StepPrice:
    """Once per step the two stages add up their gradients of the table, as Megatron-LM's embedding group does; nothing
    hides it, since the first stage is the last to end."""
    if not isinstance(view.layer, Embedding | Head) or view.copied_table_params == 0:
        return StepPrice(TERM, Source.ANALYTIC)
    mesh = view.mesh
    size_bytes = view.copied_table_params * view.setting.stack.grad_bytes_per_param
    reduce = collective_time(view.setting, Collective.ALL_REDUCE, 2, (mesh.pp - 1) * mesh.pp_stride, size_bytes)
    return StepPrice(TERM, reduce.source, after_s=reduce.time_s)
