"""Logits and their gradients: alive for a moment at the start of backward, for one micro-batch."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView


def item(view: StageView) -> Moments:
    """Bytes alive per logit beyond the saved log-probabilities (by stack and precision), times the logits."""
    per_logit = view.setting.stack.logits_bytes_per_logit[view.setting.workload.precision]
    return Moments("logits", backward_start_bytes=round(view.logits_per_rank * per_logit))
