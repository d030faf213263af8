"""Mistral 4: latent attention as in DeepSeek-V3, with experts from the first block on unless told otherwise."""

from __future__ import annotations

from planner.models.families.deepseek import latent_attention, latent_checks, query_latent
from planner.models.families.experts import ROUTED, dense_first, dense_or_sparse, experts, shared_experts
from planner.models.families.parts import UNTIED, block, decoder
from planner.models.family import Family
from planner.models.keys import Size, layers, width

ATTENTION = latent_attention(query_latent(1024), nope=64, kv_lora_rank=width("kv_lora_rank", default=256))
EXPERTS = experts(ROUTED, shared=shared_experts(Size("n_shared_experts", default=1)))
DENSE_FIRST = dense_first(layers("first_k_dense_replace", default=0, least=0))

FAMILIES = (
    Family(
        "Mistral4ForCausalLM",
        "mistral4",
        decoder(block(ATTENTION, dense_or_sparse(DENSE_FIRST, EXPERTS)), tied=UNTIED),
        checks=latent_checks(ATTENTION, ROUTED),
    ),
)
