"""Activation recomputation by layer (arXiv 1604.06174): keep a block's input, compute the rest again in backward.

Repeating a block stops as soon as all that backward needs is there. Under tensor parallelism it repeats both
all-gathers and the first reduce-scatter. ZeRO-3 gathers no more than without: backward gathers the weights anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper

from costmodel.spec import Recompute
from executor.models.stage import Stage


def apply(stage: Stage, modes: Sequence[Recompute]) -> None:
    """Wrap the blocks of `stage` whose mode is full; `modes` has one entry for each layer of the whole model.

    Comes after tensor parallelism, so that its collectives are repeated with the block, and before FSDP, so that
    parameters are gathered around the repetition. Embedding and head are never wrapped.
    """
    for name, block in stage.model.layers.items():
        if modes[int(name) + 1] is Recompute.FULL:
            stage.model.layers[name] = checkpoint_wrapper(block, CheckpointImpl.NO_REENTRANT)
