"""The operations a layer is made of: what the compute terms price."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gemm:
    """A matrix multiplication of (m, k) with (k, n) in the forward pass, `count` of them.

    The backward pass multiplies twice at the same cost: the gradient of the input (m, n) x (n, k) and of the
    weight (k, m) x (m, n).
    """

    m: int
    n: int
    k: int
    count: int = 1

    @property
    def flop(self) -> float:
        """FLOP of the forward pass (multiply and add = 2)."""
        return 2.0 * self.m * self.n * self.k * self.count


@dataclass(frozen=True)
class CausalAttention:
    """Scaled dot-product attention of `batch` sequences, queries attending to themselves and to what is before."""

    batch: int
    seq_len: int
    num_heads: int
    num_kv_heads: int
    head_dim: int

    @property
    def flop(self) -> float:
        """FLOP of the forward pass with the causal half counted: two GEMMs of half of seq_len x seq_len."""
        return 2.0 * self.batch * self.num_heads * self.seq_len**2 * self.head_dim


@dataclass(frozen=True)
class Elementwise:
    """Memory-bound work: numbers moved to or from device memory per pass, before the stack's traffic factor.

    `fp32_values` are moved in four bytes whatever the precision (logits in the loss).
    """

    forward_values: float
    backward_values: float
    fp32_values_forward: float = 0.0
    fp32_values_backward: float = 0.0


Operation = Gemm | CausalAttention | Elementwise
