"""Activation functions of feed-forward networks: how many tensors each leaves for backward where it is written out."""

from __future__ import annotations

from enum import StrEnum


class Activation(StrEnum):
    """How a framework that fuses nothing computes it, as transformers does."""

    KERNEL = "kernel"
    """One kernel that keeps its input: SiLU, GELU, its tanh form of torch. The square of a ReLU keeps as many."""
    RESULT = "result"
    """One kernel that keeps its result, which the next multiplication keeps anyway: ReLU, sigmoid, tangent."""
    GELU_NEW = "gelu_new"
    """0.5 x (1 + tanh(...)) written out: x, half of it, the tangent and one more than it."""
    GELU_FAST = "gelu_fast"
    """The same with the argument of the tangent in three products, which keep 0.7979 x, 0.0447 x and their sums too."""
    GELU_PYTHON = "gelu_python"
    """x (1 + erf(x / sqrt 2)) / 2 written out: half of x, x / sqrt 2 and one more than the error function."""
    QUICK_GELU = "quick_gelu"
    """x sigmoid(1.702 x) written out: x and the sigmoid. One that is clipped keeps two tensors as well."""
    XIELU = "xielu"
    """Two branches written out, which learn a number each (Apertus): four tensors, and a byte for the branch taken."""
    CLAMPED_SWISH = "clamped_swish"
    """The gate of gpt-oss: x, x clamped, its sigmoid, and the other factor plus one."""

    @property
    def num_kept(self) -> float:
        """Tensors of the width of the network that it keeps, apart from its result; of bytes it is half a tensor."""
        return {
            Activation.KERNEL: 1,
            Activation.RESULT: 0,
            Activation.GELU_NEW: 4,
            Activation.GELU_FAST: 7,
            Activation.GELU_PYTHON: 3,
            Activation.QUICK_GELU: 2,
            Activation.XIELU: 4.5,
            Activation.CLAMPED_SWISH: 4,
        }[self]
