"""Hands the attention of transformers' classes to a recorder, through the registry that transformers has for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from profiler.tracing.recorder import Recorder
from profiler.tracing.transformers_model import ATTENTION


class RecordedAttention:
    """Attention as transformers calls it. It takes no mask: whether it is causal, and over what window, its module
    says."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        """Of the pass that runs."""

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        sliding_window: int | None = None,
        is_causal: bool | None = None,
        position_bias: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        """The output [b, q, heads, d_v] of queries [b, heads, q, d] over keys [b, kv_heads, k, d], and no weights.

        `position_bias` [1 or b, heads, q, k] is added to the scores.
        """
        from transformers.integrations.sdpa_attention import create_position_bias_mask

        if self.recorder is None:
            raise RuntimeError("attention is called, but no pass is recorded")
        causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        if position_bias is not None:
            # Kernels take a bias as a mask, and keep it.
            attention_mask = create_position_bias_mask(position_bias, attention_mask, causal, query, key)
        output = self.recorder.attend(query, key, value, causal=causal, window=sliding_window, mask=attention_mask)
        return output.transpose(1, 2).contiguous(), None


@contextmanager
def recorded_attention() -> Iterator[RecordedAttention]:
    """While it lasts, classes of transformers may be built and run with the attention called `ATTENTION`."""
    from transformers import AttentionInterface, AttentionMaskInterface

    attention = RecordedAttention()
    AttentionInterface.register(ATTENTION, attention)
    AttentionMaskInterface.register(ATTENTION, lambda *_, **__: None)
    try:
        yield attention
    finally:
        for registry in (AttentionInterface, AttentionMaskInterface):
            del registry._global_mapping[ATTENTION]
