"""Records what a forward pass on tensors without values does: multiplications, and what autograd keeps for backward.

Attention is taken out of the hands of torch: whatever kernel it would choose for tensors without values, what is
recorded is a fused kernel, which keeps queries, keys, values, output and one number per row, but no scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, UntypedStorage
from torch.autograd.function import FunctionCtx
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

NARROW_WINDOW = 1024
"""Tokens. Sequences that are trained are longer than such a window, so the pairs of a layer grow with its tokens, not
with their square, also where the sequence that is traced is short."""


MAX_CALLS = 20_000
"""Into torch, of a pass that is recorded. Several distinct blocks take some thousand; more would take minutes."""


class TooManyCallsError(Exception):
    """A pass takes more calls into torch than it may."""


@dataclass(frozen=True)
class Work:
    """What part of a forward pass did."""

    flop: float = 0.0
    """Multiplications as torch counts them. Of fused attention the pairs that meet: half of the square if causal, and
    `num_queries x window` over a window of at most `NARROW_WINDOW`; a wider one counts as the whole sequence."""
    saved_bytes: int = 0
    experts: tuple[int, float] | None = None
    """How many experts a grouped multiplication was shared out to, and its rows."""
    has_fused_attention: bool = False
    has_masked_attention: bool = False
    """Fused attention was given a mask, whose hidden pairs count too."""
    has_wide_window: bool = False

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flop + other.flop,
            self.saved_bytes + other.saved_bytes,
            self.experts or other.experts,
            self.has_fused_attention or other.has_fused_attention,
            self.has_masked_attention or other.has_masked_attention,
            self.has_wide_window or other.has_wide_window,
        )


class Recorder:
    """A context manager around a forward pass; `take` hands out what was done since it was last called."""

    def __init__(self, resident: Iterable[Tensor], max_calls: int = MAX_CALLS) -> None:
        """`resident` tensors (parameters and buffers) stay whether or not a backward pass follows: they do not count
        as saved. More than `max_calls` calls into torch raise TooManyCallsError."""
        self._resident = {storage_id(tensor) for tensor in resident}
        self._calls = _Calls(self, max_calls)
        self._flop_before = 0
        self._begin()
        self._flop = FlopCounterMode(display=False, custom_mapping=self._grouped_multiplications())
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._flop)
        self._stack.enter_context(saved_tensors_hooks(self._pack, lambda tensor: tensor))
        self._stack.enter_context(self._calls)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def num_calls(self) -> int:
        """Calls into torch so far."""
        return self._calls.num_calls

    def take(self, shared: Iterable[Tensor] = ()) -> Work:
        """The work since the last call; each storage counts once, and those of `shared` do not, since they serve more
        than this part."""
        excluded = {storage_id(tensor) for tensor in shared}
        total = self._flop.get_total_flops()
        work = Work(
            flop=total - self._flop_before + self._attention_flop,
            saved_bytes=sum(storage.nbytes() for key, storage in self._kept.items() if key not in excluded),
            experts=self._experts,
            has_fused_attention=self._has_fused_attention,
            has_masked_attention=self._has_masked_attention,
            has_wide_window=self._has_wide_window,
        )
        self._flop_before = total
        self._begin()
        return work

    def _begin(self) -> None:
        self._kept: dict[int, UntypedStorage] = {}
        self._attention_flop = 0.0
        self._experts: tuple[int, float] | None = None
        self._has_fused_attention = False
        self._has_masked_attention = False
        self._has_wide_window = False

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, causal: bool, window: int | None, mask: Tensor | None
    ) -> Tensor:
        """The output of attention [b, heads, q, d_v] of queries [b, heads, q, d] over keys [b, kv_heads, k, d]."""
        num_queries, num_keys = query.shape[-2], key.shape[-2]
        # Keys beyond as many as there are queries (a prefix, a summary of the past) are met by every query.
        own_keys = min(num_queries, num_keys)
        pairs = float(num_queries * (num_keys - own_keys))
        if window is not None and window <= NARROW_WINDOW:
            pairs += num_queries * window
        else:
            pairs += num_queries * own_keys / (2 if causal and num_queries > 1 else 1)
        rows = query.numel() // (num_queries * query.shape[-1])
        self._attention_flop += 2.0 * rows * pairs * (query.shape[-1] + value.shape[-1])
        self._has_fused_attention = True
        self._has_masked_attention |= mask is not None
        self._has_wide_window |= window is not None and window > NARROW_WINDOW
        output: Tensor = _Attend.apply(query, key, value, mask)  # type: ignore[no-untyped-call]
        return output

    def _pack(self, tensor: Tensor) -> Tensor:
        key = storage_id(tensor)
        if key not in self._resident:
            # Held until it is counted: the address of a storage that is gone may be given to another.
            self._kept[key] = tensor.untyped_storage()
        # The tensor itself would hold its own graph in a cycle, and never be freed.
        return tensor.detach()

    def _grouped_multiplications(self) -> dict[Any, Callable[..., float]]:
        """How to count multiplications of rows [m, k] with one of several matrices [g, k, n] each, by operator."""

        def count(rows: tuple[int, ...], matrices: tuple[int, ...], *_: Any, **__: Any) -> float:
            self._experts = (matrices[0], float(rows[0]))
            return 2.0 * rows[0] * rows[1] * matrices[-1]

        operators: dict[Any, Callable[..., float]] = {torch.ops.aten._grouped_mm: count}
        fallback = getattr(torch.ops.transformers, "grouped_mm_fallback", None)
        return operators if fallback is None else operators | {fallback: count}


def storage_id(tensor: Tensor) -> int:
    """The same for all tensors that look at one storage."""
    return int(tensor.untyped_storage()._cdata)


class _Attend(torch.autograd.Function):
    """Stands for a fused attention kernel: it has its output's shape and keeps what such a kernel keeps."""

    @staticmethod
    def forward(ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        # Laid out by token as fused kernels do, so that heads are joined without a copy.
        batch, heads, num_queries = query.shape[:-1]
        output = query.new_empty((batch, num_queries, heads, value.shape[-1])).transpose(1, 2)
        row_sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, output, row_sums, *(() if mask is None else (mask,)))
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a pass that is traced has no backward")


class _Calls(TorchFunctionMode):
    """Counts calls into torch, and hands those of its attention to the recorder."""

    def __init__(self, recorder: Recorder, max_calls: int) -> None:
        super().__init__()
        self._recorder, self._max_calls = recorder, max_calls
        self.num_calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.num_calls += 1
        if self.num_calls > self._max_calls:
            raise TooManyCallsError
        if func is functional.scaled_dot_product_attention:
            return self._attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,  # noqa: ARG002
        is_causal: bool = False,
        scale: float | None = None,  # noqa: ARG002
        enable_gqa: bool = False,  # noqa: ARG002
    ) -> Tensor:
        return self._recorder.attend(query, key, value, causal=is_causal, window=None, mask=attn_mask)
