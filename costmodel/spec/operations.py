"""The operations a layer is made of: what the compute terms price."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


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
    num_gradients: int = 2
    """Products of the backward pass: one where the input needs no gradient, none where the weight needs none
    either."""

    @property
    def flop(self) -> float:
        """FLOP of the forward pass (multiply and add = 2)."""
        return 2.0 * self.m * self.n * self.k * self.count

    @property
    def moved_values(self) -> float:
        """Numbers read and written once: both factors and the product."""
        return float(self.m * self.k + self.k * self.n + self.m * self.n) * self.count


@dataclass(frozen=True)
class GroupedGemm:
    """Matrix multiplications of experts: `m` rows in all, shared out evenly over `groups` matrices of (k, n)."""

    m: int
    n: int
    k: int
    groups: int
    num_gradients: ClassVar[int] = 2

    @property
    def flop(self) -> float:
        """FLOP of the forward pass."""
        return 2.0 * self.m * self.n * self.k

    @property
    def moved_values(self) -> float:
        """Numbers read and written once: the rows, the matrix of every expert that has one, the product."""
        return float(self.m * self.k + min(self.m, self.groups) * self.k * self.n + self.m * self.n)


@dataclass(frozen=True)
class DotProductAttention:
    """Scaled dot-product attention of `batch` sequences of `num_queries` tokens over `num_keys` tokens each."""

    batch: int
    num_queries: int
    num_keys: int
    num_heads: int
    num_kv_heads: int
    """Heads share keys and values in groups. That saves no FLOP, but a kernel that is timed has as many."""
    head_dim: int
    value_dim: int
    causal: bool = True
    window: int | None = None
    """How many tokens a query sees, itself included; None where it sees all (before it, if causal)."""
    chunked: bool = False
    """Whether the window is a fixed chunk of the sequence instead of sliding with the query."""
    reads_mask: bool = False
    """Whether numbers out of memory are added to the scores: a kernel that takes them skips no hidden pair."""
    has_gradient: bool = True
    """Whether a gradient is asked for."""
    num_parts: int = 1
    """Context-parallel ranks that share the pairs of each sequence evenly; the other sizes are those of the whole."""

    @property
    def num_gradients(self) -> int:
        """Products of the backward pass for each of the forward pass, apart from scores that a fused kernel computes
        again."""
        return 2 if self.has_gradient else 0

    @property
    def num_pairs(self) -> float:
        """Pairs of query and key that meet in one sequence; a causal triangle counts as half of its square."""
        if self.chunked and self.window is not None:
            full, rest = divmod(self.num_queries, self.window)
            return (full * self.window**2 + rest**2) / (2 if self.causal else 1)
        seen = 2 * self.num_keys if self.window is None else self.window
        if self.causal:
            seen = min(seen, self.num_keys)
            return self.num_queries * seen - seen**2 / 2
        # Half of the window lies before the query and half behind it; both ends of the sequence cut off a triangle.
        seen = min(seen, 2 * self.num_keys)
        return self.num_queries * seen - self.num_queries * seen**2 / (4 * self.num_keys)

    @property
    def flop(self) -> float:
        """FLOP of the forward pass, of the pairs that meet: queries with keys, and weights with values."""
        pairs = self.num_pairs / self.num_parts
        return 2.0 * self.batch * self.num_heads * pairs * (self.head_dim + self.value_dim)

    @property
    def num_scores(self) -> float:
        """Scores of one rank, hidden ones counted, as a kernel that is not fused writes them."""
        return float(self.batch * self.num_heads * self.num_queries * self.num_keys) / self.num_parts

    @property
    def full_flop(self) -> float:
        """FLOP of the forward pass where every query meets every key, whatever is hidden."""
        pairs = self.num_queries * self.num_keys / self.num_parts
        return 2.0 * self.batch * self.num_heads * pairs * (self.head_dim + self.value_dim)

    @property
    def kernel_flop(self) -> float:
        """FLOP that a fused kernel does in the forward pass: of the pairs that meet, or of all if it reads a mask."""
        return self.full_flop if self.reads_mask else self.flop


@dataclass(frozen=True)
class Scan:
    """A recurrence along the sequence (state-space layer, linear attention), computed in chunks or by a scan."""

    flop: float
    """Of the forward pass."""
    moved_values: float
    """Numbers read and written once in the forward pass."""
    num_gradients: ClassVar[int] = 2


@dataclass(frozen=True)
class Convolution:
    """A convolution that moves little: depthwise along the sequence, or of patches and frames."""

    flop: float
    moved_values: float
    num_gradients: ClassVar[int] = 2


@dataclass(frozen=True)
class Elementwise:
    """Memory-bound work: numbers moved to or from device memory per pass, before the stack's traffic factor.

    `fp32_values` are moved in four bytes whatever the precision (logits in the loss), and `kernel_values` by a kernel
    that is the same in every stack: neither takes the factor.
    """

    forward_values: float
    backward_values: float
    fp32_values_forward: float = 0.0
    fp32_values_backward: float = 0.0
    kernel_values_forward: float = 0.0
    kernel_values_backward: float = 0.0
    flop: ClassVar[float] = 0.0
    """Not counted: model FLOP are those of multiplications (arXiv 2204.02311, appendix B)."""
    num_gradients: ClassVar[int] = 0


@dataclass(frozen=True)
class AllReduce:
    """Numbers that tensor-parallel ranks add up within a layer, and as many in backward; `fp32_values` in 4 bytes."""

    values: float = 0.0
    fp32_values: float = 0.0
    flop: ClassVar[float] = 0.0
    num_gradients: ClassVar[int] = 0


@dataclass(frozen=True)
class Gather:
    """Numbers of which each tensor-parallel rank has a slice and needs all; backward reduces and scatters gradients."""

    values: float
    flop: ClassVar[float] = 0.0
    num_gradients: ClassVar[int] = 0


Multiplication = Gemm | GroupedGemm
Operation = Gemm | GroupedGemm | DotProductAttention | Scan | Convolution | Elementwise | AllReduce | Gather


@dataclass(frozen=True)
class Saved:
    """Numbers that one rank keeps of a layer from forward to backward: in the compute precision, fp32 and int64."""

    values: float = 0.0
    fp32_values: float = 0.0
    int64_values: float = 0.0
    bytes: float = 0.0
    """What is counted in bytes, whatever the precision."""

    def __add__(self, other: Saved) -> Saved:
        return Saved(
            self.values + other.values,
            self.fp32_values + other.fp32_values,
            self.int64_values + other.int64_values,
            self.bytes + other.bytes,
        )

    def size_bytes(self, value_bytes: int) -> int:
        """Bytes with `value_bytes` per number in the compute precision."""
        return round(value_bytes * self.values + 4 * self.fp32_values + 8 * self.int64_values + self.bytes)


class SplitRule(StrEnum):
    """Names of the rules that a tp breaks which does not divide what it splits."""

    HEADS = "heads_divide"
    KV_HEADS = "kv_heads_divide"
    FFN = "ffn_divides"
    RECURRENCE = "recurrence_divides"


@dataclass(frozen=True)
class Split:
    """A size that tensor parallelism divides among its ranks."""

    rule: SplitRule
    field: str
    """What configs call the size."""
    size: int
