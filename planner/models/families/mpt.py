"""MPT: norms without bias, linear biases of the scores (ALiBi) instead of positions, and no other biases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from costmodel.spec import Embedding, Head, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.parts import TIED, VOCAB, attention, block, mlp
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, Quotient, Size, Times, layers, part, tokens, width

HIDDEN = width("d_model", aliases=("hidden_size",))
HEADS = Size("n_heads", aliases=("num_attention_heads",))
NORM = Norm.LAYER_WITHOUT_BIAS
EXPANSION = Size("expansion_ratio", default=4)
LENGTH = tokens("max_seq_len", default=None)


def _layers(ffn: Any) -> tuple[RunSource, ...]:
    mixer = attention(
        hidden=HIDDEN, num_heads=HEADS, num_kv_heads=HEADS, head_dim=Quotient(HIDDEN, HEADS), linear_biases=True
    )
    feed_forward = mlp(hidden=HIDDEN, ffn_hidden=ffn, gated=False)
    return (
        One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN)),
        Stack(block(mixer, feed_forward, hidden=HIDDEN, norm=NORM), layers("n_layers", aliases=("num_hidden_layers",))),
        One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, norm=NORM)),
    )


USUAL: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("", "no_bias", (True,)),
    ("", "norm_type", ("low_precision_layernorm", "layernorm")),
    ("attn_config", "alibi", (True,)),
    ("attn_config", "attn_type", ("multihead_attention",)),
    ("attn_config", "qk_ln", (False, None)),
    ("attn_config", "prefix_lm", (False, None)),
    ("attn_config", "rope", (False, None)),
    ("attn_config", "sliding_window_size", (-1, None)),
)
"""Keys that make the model another one, the object that holds them, and the values it is read with; the first is
that of a missing key."""


def _unusual(config: Config) -> Iterator[tuple[str, Any, Any]]:
    """Keys with other values: the place, the value, and the one that is read."""
    for section, key, usual in USUAL:
        place = config.section(section, default={}) if section else config
        value = place.data.get(key, usual[0])
        if value not in usual:
            yield place.place(key), value, usual[0]


def _is_of_one_shape(config: Config) -> None:
    """The class beside the checkpoints knows other attentions, positions, norms and biases, which are not read."""
    if "alibi" not in config.section("attn_config", default={}).data:
        config.fail(
            f"attn_config.alibi is missing, which {config.architecture} takes for false, but it is read with true only"
        )
    for place, value, usual in _unusual(config):
        config.fail(f"{place} is {shown(value)}, but {config.architecture} is read with {shown(usual)} only")
    _says_that_it_clips(config)


def _builds_one_shape(config: Config) -> None:
    """The class of transformers knows these keys too, and builds the same model whatever they say."""
    for place, value, usual in _unusual(config):
        config.assume(f"{place} is {shown(value)}, but {config.architecture} builds what {shown(usual)} stands for.")
    if config.has("expansion_ratio") and config.data["expansion_ratio"] != 4:
        config.assume(
            f"expansion_ratio is {shown(config.data['expansion_ratio'])}, but {config.architecture} is four times as "
            "wide inside all the same."
        )
    _says_that_it_clips(config)


def _says_that_it_clips(config: Config) -> None:
    clip = config.section("attn_config", default={}).data.get("clip_qkv")
    if clip is not None and (type(clip) not in (int, float) or clip < 0):
        config.fail(f"attn_config.clip_qkv is {shown(clip)}, but must be a number of at least 0, or null")
    if clip:
        config.assume("What attn_config.clip_qkv keeps for backward, queries, keys and values once more, is left out.")


FAMILIES = (
    Family("MptForCausalLM", "mpt", _layers(Times(4, HIDDEN)), max_seq_len=LENGTH, checks=(_builds_one_shape,)),
    Family(
        "MPTForCausalLM",
        "mpt",
        _layers(Computed(lambda config, layer: HIDDEN.read(config, layer) * EXPANSION.read(config, layer))),
        max_seq_len=LENGTH,
        checks=(_is_of_one_shape,),
    ),
)
