"""llm-foundry on Composer: eager FSDP with the fused attention of 2023, which skips no hidden pair."""

from __future__ import annotations

from costmodel.stacks.eager_fsdp import EAGER_FSDP, KNOWN_EAGER_FSDP
from costmodel.stacks.evidence import KnownStack, runs

LLM_FOUNDRY = EAGER_FSDP.model_copy(update={"name": "llm-foundry", "attention_time_factor": 1.95})

KNOWN_LLM_FOUNDRY = KnownStack(LLM_FOUNDRY, {**KNOWN_EAGER_FSDP.supported_by, "attention_time_factor": runs("llmf")})
