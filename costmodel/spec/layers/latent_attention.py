"""Multi-head latent attention: keys and values of all heads come out of one small latent (DeepSeek-V2, 2405.04434)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import DotProductAttention, Elementwise, Gemm, Operation, Saved, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class LatentAttention(Kind):
    """Down- and up-projections of queries (if `q_lora_rank`) and of keys with values; one rotary key for all heads.

    Tensor parallel splits heads, so the up-projections and the output; the down-projections are on every rank.

    An indexer picks without gradients, as in transformers' classes: it has no backward pass and keeps nothing. A loss
    of its own, by which DeepSeek trains it (arXiv 2512.02556), has no price.
    """

    kind: Literal["latent_attention"] = "latent_attention"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    q_lora_rank: int | None = Field(default=None, gt=0)
    kv_lora_rank: int = Field(gt=0)
    qk_nope_head_dim: int = Field(gt=0)
    qk_rope_head_dim: int = Field(gt=0)
    v_head_dim: int = Field(gt=0)
    down_bias: bool = False
    """Whether the down-projections have a bias."""
    output_bias: bool = False
    index_heads: int = Field(default=0, ge=0)
    """Heads of a lightning indexer, which picks the keys that a query meets (DeepSeek-V3.2); 0 where there is none."""
    index_head_dim: int = Field(default=0, ge=0)
    index_topk: int | None = Field(default=None, gt=0)
    """How many keys it picks."""

    @property
    def qk_head_dim(self) -> int:
        """Width of a query or key of one head."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Up-projections and output are split; down-projections, their norms and the indexer are on every rank."""
        queries, outputs = self.num_heads * self.qk_head_dim, self.num_heads * self.v_head_dim
        latent = self.kv_lora_rank + self.qk_rope_head_dim
        split = self.kv_lora_rank * self.num_heads * (self.qk_nope_head_dim + self.v_head_dim) + outputs * self.hidden
        whole = self.hidden * latent + self.kv_lora_rank + latent * self.down_bias + self.hidden * self.output_bias
        if self.q_lora_rank is None:
            split += self.hidden * queries
        else:
            split += self.q_lora_rank * queries
            whole += self.hidden * self.q_lora_rank + self.q_lora_rank * (1 + self.down_bias)
        if self.index_heads:
            # Queries from the query latent, one key per token with a LayerNorm, one weight per head.
            source = self.q_lora_rank or self.hidden
            whole += source * self.index_heads * self.index_head_dim
            whole += self.hidden * (self.index_head_dim + self.index_heads) + 2 * self.index_head_dim
        return split // shards.tp + whole

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """As it is trained: keys and values are projected up and meet the queries head by head.

        An indexer scores every pair that is not hidden, writes the scores and reads them to find the highest; only the
        keys it picks enter the attention. On every tensor-parallel rank, since each needs all picks.
        """
        tokens, heads = shards.tokens(batch, seq_len), self.num_heads // shards.tp
        up_width = heads * (self.qk_nope_head_dim + self.v_head_dim)
        query_width = heads * self.qk_head_dim
        downs = self.kv_lora_rank + self.qk_rope_head_dim
        operations: list[Operation] = []
        if self.q_lora_rank is None:
            operations += [Gemm(tokens, query_width + downs, self.hidden)]
        else:
            operations += [
                Gemm(tokens, self.q_lora_rank + downs, self.hidden),
                Gemm(tokens, query_width, self.q_lora_rank),
            ]
        operations += [Gemm(tokens, up_width, self.kv_lora_rank)]
        if self.index_heads:
            operations += self._index_operations(batch, seq_len, shards)
        moved = tokens * (query_width + up_width + downs + (self.q_lora_rank or 0))
        return (
            *operations,
            DotProductAttention(
                batch=batch,
                num_queries=seq_len,
                num_keys=seq_len,
                num_heads=heads,
                num_kv_heads=heads,
                head_dim=self.qk_head_dim,
                value_dim=self.v_head_dim,
                window=self.index_topk,
                num_parts=shards.cp,
            ),
            Elementwise(forward_values=2.0 * moved, backward_values=3.0 * moved),
            Gemm(tokens, self.hidden, heads * self.v_head_dim),
        )

    def _index_operations(self, batch: int, seq_len: int, shards: Shards) -> tuple[Operation, ...]:
        """Queries, one key for all heads, a weight for each; scores of pairs, added up over heads by those weights."""
        tokens = shards.tokens(batch, seq_len)
        scores = DotProductAttention(
            batch=batch,
            num_queries=seq_len,
            num_keys=seq_len,
            num_heads=self.index_heads,
            num_kv_heads=1,
            head_dim=self.index_head_dim,
            value_dim=1,
            has_gradient=False,
            num_parts=shards.cp,
        )
        num_pairs = batch * scores.num_pairs / shards.cp
        return (
            Gemm(tokens, self.index_heads * self.index_head_dim, self.q_lora_rank or self.hidden, num_gradients=0),
            Gemm(tokens, self.index_head_dim + self.index_heads, self.hidden, num_gradients=0),
            scores,
            Elementwise(forward_values=0.0, backward_values=0.0, fp32_values_forward=2.0 * num_pairs),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What the norms of the latents keep and yield, queries, keys, values and the output of every head.

        Values are views of the up-projection, which keep its keys alive beside those joined with the rotary key.
        """
        tokens = shards.tokens(batch, seq_len)
        latents = (self.q_lora_rank or 0) + self.kv_lora_rank
        heads = self.num_heads * (2 * self.qk_head_dim + self.qk_nope_head_dim + 2 * self.v_head_dim)
        whole = latents + self.qk_rope_head_dim
        scores = tokens * seq_len * self.num_heads / shards.tp
        return Norm.RMS.saved(float(tokens * latents), stack) + Saved(
            values=tokens * (whole + heads / shards.tp), bytes=stack.score_bytes_kept * scores
        )

    def state_values(self, seq_len: int) -> int:
        """The latent and the rotary key of each token, and what the indexer compares with."""
        index = self.index_head_dim if self.index_heads else 0
        return seq_len * (self.kv_lora_rank + self.qk_rope_head_dim + index)

    @property
    def ring_width(self) -> int | None:
        """Keys and values as they meet the queries, projected up. How picked keys would go round is not known."""
        return None if self.index_heads else self.num_heads * (self.qk_head_dim + self.v_head_dim)

    def splits(self) -> tuple[Split, ...]:
        """Heads."""
        return (Split(SplitRule.HEADS, "num_attention_heads", self.num_heads),)
