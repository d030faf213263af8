"""Qwen that sees: 2-VL, 2.5-VL, 3-VL and 3.5. Each a tower of vision before a language model."""

from __future__ import annotations

from costmodel.spec import QkNorm
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.encoder_parts import inside
from planner.models.families.language import ONE_IMAGE, Language, by_model_type
from planner.models.families.llama import LAYER_TYPES
from planner.models.families.parts import HEAD_SPLIT, HEADS, LAYERS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.families.qwen_moe import (
    HYBRID_CHECKS,
    QWEN3_5_MOE_MTP,
    QWEN3_5_MOE_TEXT,
    QWEN3_5_MTP,
    QWEN3_5_TEXT,
    QWEN3_VL_MOE_TEXT,
    TEXT_CHECKS,
)
from planner.models.families.qwen_vision import DeepStack, tower_2, tower_2_5, tower_3
from planner.models.family import Family, RunSource, Within
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, tokens, width


def _text_2_layer_type(config: Config, layer: int) -> str:
    """Windows are off unless switched on, and then begin at block max_window_layers."""
    length = tokens("sliding_window", default=4096, null=None).read(config, layer)
    if length is None or not Flag("use_sliding_window", default=False).read(config, layer):
        return "full_attention"
    first = Size("max_window_layers", default=80, least=0).read(config, layer)
    return "sliding_attention" if layer >= first else "full_attention"


def _text_2_window(config: Config, layer: int) -> int:
    if not Flag("use_sliding_window", default=False).read(config, layer):
        config.fail(
            f"{config.place('layer_types')}[{layer}] is 'sliding_attention', but use_sliding_window is not true; "
            "make them agree"
        )
    return int(tokens("sliding_window", default=4096).read(config, layer))


def text_2(num_kv_heads: int) -> tuple[RunSource, ...]:
    """The language model, with `num_kv_heads` where its config gives none."""
    layer_types = PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_text_2_layer_type))
    window = Choose(layer_types, {"full_attention": None, "sliding_attention": Computed(_text_2_window)})
    kv_heads = Size("num_key_value_heads", default=num_kv_heads, null=HEADS)
    mixer = attention(num_kv_heads=kv_heads, head_dim=HEAD_SPLIT, window=window, **biased(True))
    return decoder(block(mixer, mlp()), tied=UNTIED)


TEXT_2 = text_2(8)
TEXT_2_CHECKS = (Rotation(HEAD_SPLIT, renamed={"mrope": "default"}), Activation())
BIAS = Flag("attention_bias", default=False)
HEAD_DIM_OF_128 = width("head_dim", default=128)
TEXT_3 = decoder(
    block(
        attention(
            num_kv_heads=Size("num_key_value_heads", default=32, null=HEADS),
            head_dim=HEAD_DIM_OF_128,
            qk_norm=QkNorm.HEAD,
            output_bias=BIAS,
            **biased(BIAS),
        ),
        mlp(),
    ),
    tied=UNTIED,
)


def _language(default: str, *families: Family, may_be_flat: bool = False) -> Language:
    """Of 2-VL and 2.5-VL, which may be told flat, text_config may tie the tables; of the others the outer config."""
    table = by_model_type(*families)
    # The class reads every text_config alike; older ones bear the name of the whole model.
    table[default.removesuffix("_text")] = table[default]
    return Language(table, default, or_nested=may_be_flat, may_be_flat=may_be_flat)


LANGUAGE_2 = _language(
    "qwen2_vl_text", Family("Qwen2VLTextModel", "qwen2_vl_text", TEXT_2, checks=TEXT_2_CHECKS), may_be_flat=True
)
LANGUAGE_2_5 = _language(
    "qwen2_5_vl_text",
    Family("Qwen2_5_VLTextModel", "qwen2_5_vl_text", TEXT_2, checks=TEXT_2_CHECKS),
    may_be_flat=True,
)
LANGUAGE_3 = _language(
    "qwen3_vl_text",
    Family("Qwen3VLTextModel", "qwen3_vl_text", TEXT_3, checks=(Rotation(HEAD_DIM_OF_128), Activation())),
)
LANGUAGE_3_MOE = _language(
    "qwen3_vl_moe_text",
    Family("Qwen3VLMoeTextModel", "qwen3_vl_moe_text", QWEN3_VL_MOE_TEXT, checks=TEXT_CHECKS),
)
LANGUAGE_3_5 = _language("qwen3_5_text", Family("Qwen3_5TextModel", "qwen3_5_text", QWEN3_5_TEXT, checks=HYBRID_CHECKS))
LANGUAGE_3_5_MOE = _language(
    "qwen3_5_moe_text", Family("Qwen3_5MoeTextModel", "qwen3_5_moe_text", QWEN3_5_MOE_TEXT, checks=HYBRID_CHECKS)
)


def _family(
    architecture: str,
    model_type: str,
    tower: tuple[RunSource, ...],
    language: Language,
    activation: str,
    mtp: tuple[RunSource, ...] = (),
) -> Family:
    """A tower of vision before a language model."""
    return Family(
        architecture,
        model_type,
        (*tower, language),
        max_seq_len=language.longest,
        mtp=(Within("text_config", mtp),) if mtp else (),
        checks=(inside("vision_config", Activation("hidden_act", activation)),),
        note=ONE_IMAGE,
    )


FAMILIES: tuple[Family, ...] = (
    _family("Qwen2VLForConditionalGeneration", "qwen2_vl", tower_2(LANGUAGE_2), LANGUAGE_2, "quick_gelu"),
    _family("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", tower_2_5(LANGUAGE_2_5), LANGUAGE_2_5, "silu"),
    _family(
        "Qwen3VLForConditionalGeneration",
        "qwen3_vl",
        (*tower_3(LANGUAGE_3), DeepStack(LANGUAGE_3)),
        LANGUAGE_3,
        "gelu_pytorch_tanh",
    ),
    _family(
        "Qwen3VLMoeForConditionalGeneration",
        "qwen3_vl_moe",
        (*tower_3(LANGUAGE_3_MOE), DeepStack(LANGUAGE_3_MOE)),
        LANGUAGE_3_MOE,
        "gelu_pytorch_tanh",
    ),
    _family(
        "Qwen3_5ForConditionalGeneration",
        "qwen3_5",
        tower_3(LANGUAGE_3_5),
        LANGUAGE_3_5,
        "gelu_pytorch_tanh",
        QWEN3_5_MTP,
    ),
    _family(
        "Qwen3_5MoeForConditionalGeneration",
        "qwen3_5_moe",
        tower_3(LANGUAGE_3_5_MOE),
        LANGUAGE_3_5_MOE,
        "gelu_pytorch_tanh",
        QWEN3_5_MOE_MTP,
    ),
)
