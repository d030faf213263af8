"""Encoders of images: ViT, DeiT, DINOv2, and CLIP and SigLIP with their towers of text.

An image becomes one token for each patch, made by a convolution. Source: arXiv 2010.11929, 2012.12877, 2304.07193,
2309.16588, 2103.00020, 2303.15343 and `modeling_*.py` of transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.fuzz.formulas.encoders import block, classifier, num_labels
from tests.fuzz.formulas.keys import Keys


def _sides(size: Any) -> tuple[int, int]:
    height, width = size if isinstance(size, list) else (size, size)
    return height, width


def _patches(k: Keys, image: int = 224, patch: int = 16) -> tuple[int, int]:
    """Patches in an image, and numbers in a patch."""
    height, width = _sides(k("image_size", default=image))
    rows, columns = _sides(k("patch_size", default=patch))
    return (height // rows) * (width // columns), rows * columns * k("num_channels", default=3)


def _attention(k: Keys) -> int:
    """Four matrices, the last with a bias, the others perhaps; heads may have a width of their own."""
    h, a = k("hidden_size"), k("num_attention_heads")
    inner = a * k("head_dim", default=h // a)
    return 4 * h * inner + h + (3 * inner if k.flag("qkv_bias", default=True) else 0)


def _vit(k: Keys, special_tokens: int, has_mask: bool = False) -> int:
    h = k("hidden_size")
    patches, values = _patches(k)
    tokens = special_tokens + has_mask
    f = k("intermediate_size")
    blocks = _attention(k) + 2 * h * f + f + h + 4 * h
    positions = patches + special_tokens
    return (values + 1) * h + (tokens + positions) * h + k("num_hidden_layers") * blocks + 2 * h


def _pooled(k: Keys, special_tokens: int) -> int:
    width = k("pooler_output_size", default=k("hidden_size"))
    return _vit(k, special_tokens) + k("hidden_size") * width + width


def _labelled(k: Keys, special_tokens: int, heads: int = 1) -> int:
    return _vit(k, special_tokens) + heads * classifier(k, k("hidden_size"))


def _painted(k: Keys, special_tokens: int) -> int:
    """With a decoder of pixels from masked tokens."""
    pixels = k("encoder_stride", default=16) ** 2 * k("num_channels", default=3)
    return _vit(k, special_tokens, has_mask=True) + k("hidden_size") * pixels + pixels


def _dinov2(k: Keys, patch: int, has_registers: bool) -> int:
    h, ratio = k("hidden_size"), k("mlp_ratio", default=4)
    patches, values = _patches(k, patch=patch)
    registers = k("num_register_tokens", default=4) if has_registers else 0
    has_mask = has_registers or k.flag("use_mask_token", default=True)
    f, matrices = int(h * ratio), 2
    if k.flag("use_swiglu_ffn", default=False):
        # Two thirds of the width, in multiples of 8.
        f, matrices = (int(f * 2 / 3) + 7) // 8 * 8, 3
    # Two layer norms of 2 h and two scales of h.
    each = _attention(k) + matrices * h * f + (matrices - 1) * f + h + 6 * h
    tokens = 1 + has_mask + registers + patches + 1
    return (values + 1) * h + tokens * h + k("num_hidden_layers") * each + 2 * h


def _dinov2_labelled(k: Keys, patch: int, has_registers: bool) -> int:
    labels = num_labels(k)
    return _dinov2(k, patch, has_registers) + 2 * k("hidden_size") * labels + labels


def _text_tower(k: Keys, positions: int) -> int:
    h = k("hidden_size")
    rows = k("vocab_size") + k("max_position_embeddings", default=positions)
    return rows * h + k("num_hidden_layers") * block(h, k("intermediate_size")) + 2 * h


def clip_text(k: Keys) -> int:
    return _text_tower(k, 77)


def clip_vision(k: Keys) -> int:
    h = k("hidden_size")
    patches, values = _patches(k, patch=32)
    return values * h + (patches + 2) * h + 4 * h + k("num_hidden_layers") * block(h, k("intermediate_size"))


def _projected(k: Keys, tower: Callable[[Keys], int]) -> int:
    return tower(k) + k("hidden_size") * k("projection_dim", default=512)


def clip(k: Keys) -> int:
    text, vision, width = k.under("text_config"), k.under("vision_config"), k("projection_dim", default=512)
    # One number scales the products of images and texts.
    return clip_text(text) + clip_vision(vision) + (text("hidden_size") + vision("hidden_size")) * width + 1


def siglip_text(k: Keys) -> int:
    width = k("projection_size", default=k("hidden_size"))
    return _text_tower(k, 64) + k("hidden_size") * width + width


def siglip_vision(k: Keys) -> int:
    h, f = k("hidden_size"), k("intermediate_size")
    patches, values = _patches(k)
    # A token that attends to all others, and a feed-forward network after it, with one norm.
    pooling = h + block(h, f) - 2 * h if k.flag("vision_use_head", default=True) else 0
    return (values + 1) * h + patches * h + k("num_hidden_layers") * block(h, f) + 2 * h + pooling


def siglip(k: Keys) -> int:
    # A scale and a bias of the products of images and texts.
    return siglip_text(k.under("text_config")) + siglip_vision(k.under("vision_config")) + 2


FORMULAS: dict[str, Callable[[Keys], int]] = {
    "ViTModel": partial(_pooled, special_tokens=1),
    "ViTForImageClassification": partial(_labelled, special_tokens=1),
    "ViTForMaskedImageModeling": partial(_painted, special_tokens=1),
    "DeiTModel": partial(_pooled, special_tokens=2),
    "DeiTForImageClassification": partial(_labelled, special_tokens=2),
    "DeiTForImageClassificationWithTeacher": partial(_labelled, special_tokens=2, heads=2),
    "DeiTForMaskedImageModeling": partial(_painted, special_tokens=2),
    "Dinov2Model": partial(_dinov2, patch=14, has_registers=False),
    "Dinov2ForImageClassification": partial(_dinov2_labelled, patch=14, has_registers=False),
    "Dinov2WithRegistersModel": partial(_dinov2, patch=16, has_registers=True),
    "Dinov2WithRegistersForImageClassification": partial(_dinov2_labelled, patch=16, has_registers=True),
    "CLIPModel": clip,
    "CLIPTextModel": clip_text,
    "CLIPTextModelWithProjection": partial(_projected, tower=clip_text),
    "CLIPVisionModel": clip_vision,
    "CLIPVisionModelWithProjection": partial(_projected, tower=clip_vision),
    "SiglipModel": siglip,
    "SiglipTextModel": siglip_text,
    "SiglipVisionModel": siglip_vision,
}
