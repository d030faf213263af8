"""Activation functions of feed-forward networks: how many tensors each leaves for backward where it is written out."""

from __future__ import annotations

from enum import StrEnum


class Activation(StrEnum):
    """How a framework that fuses nothing computes it, as transformers does."""

    KERNEL = "kernel"
    """One kernel that keeps its input: SiLU, GELU, its tanh form of torch. The square of a ReLU keeps as many."""
    RELU = "relu"
    """One kernel that keeps its result, which the next multiplication keeps anyway."""
    GELU_NEW = "gelu_new"
    """0.5 x (1 + tanh(...)) written out: x, half of it, the tangent and one more than it."""
    QUICK_GELU = "quick_gelu"
    """x sigmoid(1.702 x) written out: x and the sigmoid."""
    CLAMPED_SWISH = "clamped_swish"
    """The gate of gpt-oss: x, x clamped, its sigmoid, and the other factor plus one."""

    @property
    def num_kept(self) -> int:
        """Tensors of the width of the network that it keeps, apart from its result."""
        return {
            Activation.KERNEL: 1,
            Activation.RELU: 0,
            Activation.GELU_NEW: 4,
            Activation.QUICK_GELU: 2,
            Activation.CLAMPED_SWISH: 4,
        }[self]
