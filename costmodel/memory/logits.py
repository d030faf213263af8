"""Logits and their gradients: alive for a moment at the start of backward, for one micro-batch."""

from __future__ import annotations

from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, Source


def item(view: StageView) -> MemoryItem:
    """Bytes alive per logit beyond the saved log-probabilities (by stack and precision), times the logits."""
    per_logit = view.setting.stack.logits_bytes_per_logit[view.setting.workload.precision]
    return MemoryItem(
        name="logits",
        steady_bytes=round(view.logits_per_rank * per_logit),
        first_step_bytes=0,
        checkpoint_bytes=0,
        source=Source.ANALYTIC,
    )
