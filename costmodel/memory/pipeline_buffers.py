"""Receive buffers between pipeline stages: hidden states coming forward, gradients coming backward."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView


def item(view: StageView) -> Moments:
    """A hidden state for each micro-batch of the step and direction (torch allocates them all), or one each.

    Hidden states of micro-batches in flight are activations already.
    """
    mesh = view.mesh
    values = mesh.shards.tokens(mesh.micro_batch, view.setting.workload.seq_len) * view.setting.model.hidden
    message_bytes = view.compute_bytes * values // mesh.shards.sequence
    messages = mesh.num_microbatches if view.setting.stack.pipeline_buffer_per_microbatch else 1
    forward = backward = 0
    for chunk, in_flight in enumerate(view.in_flight_of_chunks):
        stage = chunk * mesh.pp + view.stage
        forward += max(0, messages - in_flight) if stage > 0 else 0
        backward += messages if stage < mesh.pp * mesh.vpp - 1 else 0
    return Moments.always("pipeline buffers", (forward + backward) * message_bytes)
