"""Counts the bytes that autograd keeps from the forward to the backward pass."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


class SavedBytes:
    """A context manager around a forward pass; afterwards `total` holds the bytes kept for backward.

    Each storage counts once, however many tensors look at it. The storages of `resident` (parameters and buffers)
    do not count: they stay whether or not a backward pass follows.
    """

    def __init__(self, resident: Iterable[Tensor]) -> None:
        self._resident = {tensor.untyped_storage().data_ptr() for tensor in resident}
        self._bytes_by_storage: dict[int, int] = {}
        self._hooks = saved_tensors_hooks(self._pack, lambda tensor: tensor)

    @property
    def total(self) -> int:
        """Bytes of the distinct storages kept so far."""
        return sum(self._bytes_by_storage.values())

    def __enter__(self) -> Self:
        self._hooks.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._hooks.__exit__(kind, error, _)

    def _pack(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._resident:
            self._bytes_by_storage[storage.data_ptr()] = storage.nbytes()
        # The tensor itself would hold its own graph in a cycle, and never be freed.
        return tensor.detach()
