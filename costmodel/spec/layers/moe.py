"""Mixture of experts: a router sends each token to some of many feed-forward networks (arXiv 2101.03961)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from costmodel.spec.layers.activation import Activation
from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.mlp import Mlp, kept_per_column
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, GroupedGemm, Operation, Saved, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Moe(Kind):
    """Router, `num_experts` experts of `ffn_hidden` columns of which each token meets `experts_per_token`, and perhaps
    a network that all tokens meet. Tensor parallel splits the columns of every expert."""

    kind: Literal["moe"] = "moe"
    hidden: int = Field(gt=0)
    num_experts: int = Field(gt=0)
    experts_per_token: int = Field(gt=0)
    ffn_hidden: int = Field(gt=0)
    gated: bool = True
    activation: Activation = Activation.KERNEL
    """Of the routed experts."""
    bias: bool = False
    router_bias: bool = False
    router_in_fp32: bool = False
    """Whether the router multiplies a copy of the tokens in fp32 (DeepSeek)."""
    router_norm: bool = False
    """Whether the router norms and scales the tokens before (Gemma 4); what it learns counts as `other_params`."""
    latent: int | None = Field(default=None, gt=0)
    """Width that a projection without bias narrows tokens to for the routed experts, and another widens from
    (Nemotron 3)."""
    shared: Mlp | None = None
    """Network that every token meets: shared experts, or a dense network beside the experts."""
    shared_gate: bool = False
    """Whether a learned gate weighs what the shared network yields (Qwen 2 MoE)."""
    other_params: int = Field(default=0, ge=0)
    """Further small parameters (scales), on every tensor-parallel rank."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.experts_per_token > self.num_experts:
            raise ValueError(
                f"experts_per_token {self.experts_per_token} is above num_experts {self.num_experts}; "
                "give at most as many"
            )
        if self.shared is not None and self.shared.hidden != self.hidden:
            raise ValueError(f"shared.hidden {self.shared.hidden} is not hidden {self.hidden}")
        return self

    @property
    def routed_width(self) -> int:
        """Width of a token as the routed experts meet it."""
        return self.latent or self.hidden

    @property
    def expert(self) -> Mlp:
        """One routed expert."""
        return Mlp(hidden=self.routed_width, ffn_hidden=self.ffn_hidden, gated=self.gated, bias=self.bias)

    @property
    def _beside_experts(self) -> int:
        """Parameters of router, projections around the experts, gate and scales."""
        router = self.num_experts * (self.hidden + self.router_bias)
        projections = 2 * self.hidden * (self.latent or 0)
        return router + projections + self.hidden * self.shared_gate + self.other_params

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Every rank holds a slice of each of its experts and the whole router."""
        shared = 0 if self.shared is None else self.shared.num_params(shards)
        return self._beside_experts + shared + self.num_expert_params(shards)

    def num_expert_params(self, shards: Shards = WHOLE) -> int:
        """A slice of each expert of a rank."""
        return self.num_experts // shards.ep * self.expert.num_params(Shards(tp=shards.expert_tp))

    def num_active_params(self) -> int:
        """The experts that one token meets, the shared network and the router."""
        shared = 0 if self.shared is None else self.shared.num_params()
        return self._beside_experts + shared + self.experts_per_token * self.expert.num_params()

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Router, shared network, then dispatch, grouped multiplications of the experts, and combination.

        Tokens are copied once per expert they meet and read back weighted: twice their width each way. Routing is
        taken as even, so that the rows of all ranks fall on all experts alike.
        """
        tokens = shards.tokens(batch, seq_len)
        rows, ffn = self._rows(batch, seq_len, shards), self.ffn_hidden // shards.expert_tp
        width = self.expert.up_matrices * ffn
        routing = Elementwise(
            forward_values=4.0 * rows * self.routed_width,
            backward_values=4.0 * rows * self.routed_width,
            fp32_values_forward=3.0 * tokens * self.num_experts,
            fp32_values_backward=3.0 * tokens * self.num_experts,
        )
        return (
            Gemm(tokens, self.num_experts, self.hidden),
            *(() if self.shared is None else self.shared.operations(batch, seq_len, shards)),
            *(() if self.latent is None else (Gemm(tokens, self.latent, self.hidden),)),
            routing,
            GroupedGemm(rows, width, self.routed_width, self.num_experts // shards.ep),
            Elementwise(forward_values=2.0 * rows * width, backward_values=3.5 * rows * width),
            GroupedGemm(rows, self.routed_width, ffn, self.num_experts // shards.ep),
            *(() if self.latent is None else (Gemm(tokens, self.hidden, self.latent),)),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """The routed copies of the tokens and what the experts yield for each, their columns, router scores in fp32,
        the router's copy of the tokens where eager code makes one, and the shared network's, of a gated one also its
        result and the gate. A router with a norm keeps what that does, and the tokens before and after the scale."""
        tokens, rows = shards.tokens(batch, seq_len), self._rows(batch, seq_len, shards)
        columns = kept_per_column(self.gated, self.activation, stack) * self.ffn_hidden / shards.expert_tp
        copied = self.hidden if self.router_in_fp32 and not stack.mlp_activation_fused else 0
        gated = self.hidden + 1 if self.shared_gate else 0
        routed = Saved(
            values=rows * (2 * self.routed_width + columns) + tokens * (2.0 * (self.latent or 0) + gated),
            fp32_values=tokens * (2.0 * self.num_experts + copied),
            int64_values=float(rows),
        )
        if self.router_norm:
            values = float(tokens * self.hidden)
            routed += Norm.FIXED_IN_FP32.saved(values, stack) + Saved(values=2 * values)
        return routed if self.shared is None else routed + self.shared.saved(batch, seq_len, shards, stack)

    def _rows(self, batch: int, seq_len: int, shards: Shards) -> int:
        """Copies of tokens that the experts of one rank work on.

        Those of a slice of the sequence, gathered where ranks share the columns of an expert.
        """
        return shards.tokens(batch, seq_len) * self.experts_per_token * shards.expert_tp // shards.tp

    def splits(self) -> tuple[Split, ...]:
        """Columns of the experts and of the shared network."""
        experts = (Split(SplitRule.FFN, "moe_intermediate_size", self.ffn_hidden),)
        return experts if self.shared is None else experts + self.shared.splits()
