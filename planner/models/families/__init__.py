"""Model families as data, one file for those that resemble each other, listed here once."""

from __future__ import annotations

from planner.models.families import (
    bart,
    bert,
    bloom,
    clip,
    dbrx,
    deepseek,
    falcon,
    glm,
    gpt2,
    gpt_neox,
    gpt_oss,
    llama,
    llama4,
    mimo,
    minimax,
    mixtral,
    olmo,
    opt,
    phi,
    qwen_moe,
    starcoder2,
    t5,
    vit,
    whisper,
)
from planner.models.family import Family

FAMILIES: tuple[Family, ...] = (
    *llama.FAMILIES,
    *gpt2.FAMILIES,
    *starcoder2.FAMILIES,
    *phi.FAMILIES,
    *opt.FAMILIES,
    *olmo.FAMILIES,
    *gpt_neox.FAMILIES,
    *falcon.FAMILIES,
    *bloom.FAMILIES,
    *bert.FAMILIES,
    *t5.FAMILIES,
    *bart.FAMILIES,
    *whisper.FAMILIES,
    *mixtral.FAMILIES,
    *qwen_moe.FAMILIES,
    *deepseek.FAMILIES,
    *glm.FAMILIES,
    *vit.FAMILIES,
    *clip.FAMILIES,
    *minimax.FAMILIES,
    *gpt_oss.FAMILIES,
    *dbrx.FAMILIES,
    *llama4.FAMILIES,
    *mimo.FAMILIES,
)
"""Where a config names no class, the first family of its model_type counts."""
