"""The model that a run describes, out of its sizes."""

from __future__ import annotations

from itertools import groupby

from costmodel.spec import (
    Attention,
    Block,
    Embedding,
    Head,
    LatentAttention,
    LayerRun,
    Mlp,
    ModelSpec,
    Moe,
    Norm,
    Part,
)
from planner.validation.configuration import Configuration

MLA_KV_LORA_RANK, MLA_Q_LORA_RANK, MLA_ROPE_HEAD_DIM, MLA_VALUE_HEAD_DIM = 512, 1536, 64, 128
"""Of DeepSeek-V2 and -V3 and of Kimi K2, by their configs; no column states them."""


def model_of(run: Configuration) -> tuple[ModelSpec, tuple[str, ...]]:
    """The layers of `run`, and what was assumed of them."""
    notes = []
    if run.attention == "mla":
        notes.append("ranks of latent attention not stated, taken as DeepSeek-V3's")
    if run.experts is not None and run.routing == "unbalanced":
        notes.append("routing is priced as balanced")
    embedding = Embedding(vocab=run.vocab, hidden=run.hidden)
    norm = Norm.RMS if run.gated_mlp else Norm.LAYER
    head = Head(vocab=run.vocab, hidden=run.hidden, tied=run.tied_embeddings, norm=norm)
    spec = ModelSpec(
        name=run.model or "model",
        architecture="LlamaForCausalLM" if run.gated_mlp else "GPT2LMHeadModel",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=embedding),
            *_block_runs(run, norm),
            LayerRun(part=Part.HEAD, layer=head),
        ),
    )
    return spec, tuple(notes)


def _block_runs(run: Configuration, norm: Norm) -> list[LayerRun]:
    """Runs of equal blocks; of a mixture of experts the first ones may be dense, and then all but every n-th."""
    first, every = run.dense_first_layers or 0, run.moe_every or 1
    kinds = [
        run.experts is not None and index >= first and (index - first + 1) % every == 0 for index in range(run.layers)
    ]
    blocks = {
        routed: Block(hidden=run.hidden, mixer=_mixer(run), feed_forward=_feed_forward(run, routed), norm=norm)
        for routed in set(kinds)
    }
    return [
        LayerRun(part=Part.BLOCKS, layer=blocks[routed], count=len(list(group))) for routed, group in groupby(kinds)
    ]


def _mixer(run: Configuration) -> Attention | LatentAttention:
    head_dim = run.head_dim or run.hidden // run.heads
    if run.attention == "mla":
        return LatentAttention(
            hidden=run.hidden,
            num_heads=run.heads,
            q_lora_rank=MLA_Q_LORA_RANK,
            kv_lora_rank=MLA_KV_LORA_RANK,
            qk_nope_head_dim=max(1, head_dim - MLA_ROPE_HEAD_DIM),
            qk_rope_head_dim=MLA_ROPE_HEAD_DIM,
            v_head_dim=MLA_VALUE_HEAD_DIM,
        )
    return Attention(hidden=run.hidden, num_heads=run.heads, num_kv_heads=run.kv_heads or run.heads, head_dim=head_dim)


def _feed_forward(run: Configuration, routed: bool) -> Mlp | Moe:
    if not routed:
        # A mixture may leave out the width of dense blocks that it has none of, or a few of.
        return Mlp(hidden=run.hidden, ffn_hidden=run.ffn_hidden or run.expert_ffn, gated=run.gated_mlp)
    shared = None
    if run.shared_expert_ffn is not None:
        shared = Mlp(hidden=run.hidden, ffn_hidden=run.shared_expert_ffn, gated=run.gated_mlp)
    return Moe(
        hidden=run.hidden,
        num_experts=run.experts,
        experts_per_token=run.top_k,
        ffn_hidden=run.expert_ffn,
        gated=run.gated_mlp,
        shared=shared,
    )
