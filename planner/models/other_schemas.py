"""Model descriptions that are not Hugging Face configs: recognised by their keys, so that the refusal can say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OtherSchema:
    """A format of another tool, by keys that only it has together."""

    title: str
    keys: frozenset[str]


OTHER_SCHEMAS = (
    OtherSchema("llm-analysis", frozenset({"n_head", "hidden_dim", "num_layers"})),
    OtherSchema("SimuMax", frozenset({"head_num", "layer_num"})),
    OtherSchema("Diffusers", frozenset({"_class_name", "_diffusers_version"})),
    OtherSchema("Mistral's params.json", frozenset({"dim", "n_layers", "n_heads", "hidden_dim", "head_dim"})),
    OtherSchema("Meta's params.json", frozenset({"dim", "n_layers", "n_heads"})),
    OtherSchema("Megatron-LM's arguments", frozenset({"num_layers", "hidden_size", "ffn_hidden_size"})),
    OtherSchema("CTranslate2", frozenset({"alignment_heads", "lang_ids"})),
    OtherSchema("a PEFT adapter", frozenset({"peft_type", "base_model_name_or_path"})),
    OtherSchema("a tokenizer", frozenset({"tokenizer_class", "model_max_length"})),
    OtherSchema("DeepSpeed", frozenset({"zero_optimization"})),
)


def other_schema(data: Mapping[str, Any]) -> str | None:
    """The tool whose format `data` is in, if it is a known one and names no Hugging Face class."""
    if data.get("architectures"):
        return None
    return next((schema.title for schema in OTHER_SCHEMAS if schema.keys <= set(data)), None)
