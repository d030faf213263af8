"""What saving leaves out of nested objects: sizes that are the defaults of the class of that object.

transformers writes all sizes of a config itself, but of an object inside it only what differs from the defaults of its
class. The published configs of LLaVA 1.5, PaliGemma and Gemma 3 name neither heads nor vocabulary, so a size that is
missing there, unlike one on the outside, stands for the default. Defaults are those of the pinned transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Sizes = Mapping[str, int]


def _text(hidden: int, ffn: int, blocks: int, heads: int, vocab: int, **more: int) -> Sizes:
    return {**_tower(hidden, ffn, blocks, heads), "vocab_size": vocab, **more}


def _tower(hidden: int, ffn: int, blocks: int, heads: int) -> Sizes:
    sizes = {"intermediate_size": ffn, "num_hidden_layers": blocks, "num_attention_heads": heads}
    return {"hidden_size": hidden, **sizes}


_QWEN3_VISION = {"hidden_size": 1152, "intermediate_size": 4304, "depth": 27, "num_heads": 16}
_QWEN2_TEXT = _text(8192, 29568, 80, 64, 152_064)
_QWEN2_5_VISION = {"hidden_size": 3584, "intermediate_size": 3420, "depth": 32, "num_heads": 16}
_QWEN_AUDIO = {"d_model": 1280, "encoder_ffn_dim": 5120, "encoder_layers": 32, "encoder_attention_heads": 20}
_SIGLIP_VISION = _tower(768, 3072, 12, 12)

BY_MODEL_TYPE: Mapping[str, Sizes] = {
    "llama": _text(4096, 11008, 32, 32, 32_000),
    "mistral": _text(4096, 14336, 32, 32, 32_000),
    "qwen2": _text(4096, 22016, 32, 32, 151_936),
    "qwen3": _text(4096, 22016, 32, 32, 151_936),
    "mixtral": _text(4096, 14336, 32, 32, 32_000, num_local_experts=8, num_experts_per_tok=2),
    "gemma": _text(3072, 24576, 28, 16, 256_000),
    "gemma2": _text(2304, 9216, 26, 8, 256_000),
    "gemma3_text": _text(2304, 9216, 26, 8, 262_208),
    "phi": _text(2048, 8192, 24, 32, 51_200),
    "phi3": _text(3072, 8192, 32, 32, 32_064),
    "clip_vision_model": _tower(768, 3072, 12, 12),
    "siglip_vision_model": _SIGLIP_VISION,
    "pixtral": _tower(1024, 4096, 24, 16),
}
"""Of objects whose model_type says which class they are of."""

_ANY_TEXT = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "gemma", "gemma2", "gemma3_text", "phi", "phi3")
_ANY_TOWER = ("clip_vision_model", "siglip_vision_model", "pixtral")


def _of(first: str, *others: str) -> Mapping[str | None, Sizes]:
    """The kinds that an object may be of; the first where it does not say."""
    return {None: BY_MODEL_TYPE[first], **{kind: BY_MODEL_TYPE[kind] for kind in (first, *others)}}


NESTED: Mapping[str, Mapping[str, Sizes | Mapping[str | None, Sizes]]] = {
    "llava": {"text_config": _of("llama", *_ANY_TEXT), "vision_config": _of(*_ANY_TOWER)},
    "llava_next": {"text_config": _of("llama", *_ANY_TEXT), "vision_config": _of(*_ANY_TOWER)},
    "llava_onevision": {
        "text_config": _of("qwen2", *_ANY_TEXT),
        "vision_config": _of("siglip_vision_model", *_ANY_TOWER),
    },
    "mistral3": {"text_config": _of("mistral", *_ANY_TEXT), "vision_config": _of("pixtral")},
    "paligemma": {"text_config": _of("gemma", "gemma2"), "vision_config": _of("siglip_vision_model")},
    "gemma3": {"text_config": _of("gemma3_text"), "vision_config": _of("siglip_vision_model")},
    "gemma4": {
        "text_config": _text(2304, 9216, 30, 8, 262_144),
        "vision_config": {**_tower(768, 3072, 16, 12), "num_key_value_heads": 12},
        "audio_config": {"hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8},
    },
    "clip": {"text_config": _text(512, 2048, 12, 8, 49_408), "vision_config": _tower(768, 3072, 12, 12)},
    "siglip": {"text_config": _text(768, 3072, 12, 12, 32_000), "vision_config": _SIGLIP_VISION},
    "llama4": {
        "text_config": _text(
            *(5120, 8192, 48, 40, 202_048), intermediate_size_mlp=16384, num_local_experts=16, num_experts_per_tok=1
        ),
        "vision_config": _tower(768, 5632, 34, 16),
    },
    "mllama": {
        "text_config": _text(4096, 14336, 40, 32, 128_256),
        "vision_config": {
            "hidden_size": 1280,
            "intermediate_size": 5120,
            "num_hidden_layers": 32,
            "attention_heads": 16,
        },
    },
    "qwen2_vl": {"text_config": _QWEN2_TEXT, "vision_config": {"embed_dim": 1280, "depth": 32, "num_heads": 16}},
    "qwen2_5_vl": {
        "text_config": _QWEN2_TEXT,
        "vision_config": _QWEN2_5_VISION,
    },
    "qwen3_vl": {"text_config": _text(4096, 22016, 32, 32, 151_936), "vision_config": _QWEN3_VISION},
    "qwen3_vl_moe": {
        "text_config": _text(
            *(2048, 5632, 24, 16, 151_936), num_experts=60, num_experts_per_tok=4, moe_intermediate_size=1408
        ),
        "vision_config": _QWEN3_VISION,
    },
    "qwen3_5": {"text_config": _text(4096, 12288, 32, 16, 248_320), "vision_config": _QWEN3_VISION},
    "qwen3_5_moe": {
        "text_config": {
            "hidden_size": 2048,
            "moe_intermediate_size": 512,
            "shared_expert_intermediate_size": 512,
            "num_hidden_layers": 40,
            "num_attention_heads": 16,
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "vocab_size": 248_320,
        },
        "vision_config": _QWEN3_VISION,
    },
    "qwen2_audio": {
        "text_config": _of("qwen2", "llama", "mistral", "qwen3"),
        "audio_config": _QWEN_AUDIO,
    },
    "qwen2_5_omni_thinker": {
        "text_config": _text(3584, 18944, 28, 28, 152_064),
        "vision_config": _QWEN2_5_VISION,
        "audio_config": _QWEN_AUDIO,
    },
    "idefics3": {"text_config": _of("llama", *_ANY_TEXT), "vision_config": _tower(1152, 3072, 12, 16)},
    "smolvlm": {"text_config": _of("llama", *_ANY_TEXT), "vision_config": _tower(1152, 3072, 12, 16)},
    "internvl": {"text_config": _of("qwen2", *_ANY_TEXT), "vision_config": _tower(1024, 4096, 24, 16)},
    "voxtral": {
        # Defaults of the outer class, whatever the model_type of text_config.
        "text_config": _text(3072, 8192, 30, 32, 131_072),
        "audio_config": _tower(1280, 5120, 32, 20),
    },
}
"""By the model_type of the outer class and the key of the object: its sizes, or those of each kind it may be of."""

ALIASES = (
    ("num_experts", "num_local_experts"),
    ("d_model", "hidden_size"),
    ("encoder_ffn_dim", "intermediate_size"),
    ("encoder_layers", "num_hidden_layers"),
    ("encoder_attention_heads", "num_attention_heads"),
    ("attention_heads", "num_attention_heads"),
)
"""Keys that some class reads alike."""


def fill_nested(data: dict[str, Any], model_type: str) -> tuple[dict[str, Any], list[str]]:
    """`data` of an outer class with the sizes that its nested objects lack, and a sentence on each object filled."""
    filled, sentences = dict(data), []
    for section, kinds in NESTED.get(model_type, {}).items():
        nested = data.get(section)
        # An object that says nothing describes no model, and nothing was left out of it.
        if not isinstance(nested, dict) or not nested:
            continue
        sizes = _sizes(kinds, nested.get("model_type"))
        missing = {key: size for key, size in sizes.items() if not any(name in nested for name in _spellings(key))}
        if missing:
            filled[section] = {**nested, **missing}
            listed = ", ".join(f"{key} = {size:,}" for key, size in missing.items())
            sentences.append(f"{section} lacks what saving leaves out, the defaults of its class: {listed}.")
    return filled, sentences


def _sizes(kinds: Mapping[Any, Any], model_type: object) -> Sizes:
    """The sizes of an object of this model_type; none where its outer class knows it not."""
    if None not in kinds:
        return kinds
    found: Sizes = kinds.get(model_type, {}) if isinstance(model_type, str | None) else {}
    return found


def _spellings(key: str) -> set[str]:
    return {key}.union(*(pair for pair in ALIASES if key in pair))
