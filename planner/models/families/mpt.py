"""MPT: norms without bias, linear biases of the scores (ALiBi) instead of positions, and no other biases."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.config import Config, shown
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


def _is_of_one_shape(config: Config) -> None:
    """The class beside the checkpoints knows other attentions, positions and biases, which are not read."""
    attention = config.section("attn_config", default={})
    for place, key, usual in (
        (config, "no_bias", True),
        (attention, "alibi", True),
        (attention, "qk_ln", False),
        (attention, "attn_type", "multihead_attention"),
    ):
        # The class's own default is no ALiBi, but the others are the usual ones.
        value = place.data.get(key, False if key == "alibi" else usual)
        if value != usual:
            config.fail(
                f"{place.place(key)} is {shown(value)}, but {config.architecture} is read with {shown(usual)} only"
            )


FAMILIES = (
    # The class of transformers is four times as wide inside, whatever the config says.
    Family("MptForCausalLM", "mpt", _layers(Times(4, HIDDEN)), max_seq_len=LENGTH),
    Family(
        "MPTForCausalLM",
        "mpt",
        _layers(Computed(lambda config, layer: HIDDEN.read(config, layer) * EXPANSION.read(config, layer))),
        max_seq_len=LENGTH,
        checks=(_is_of_one_shape,),
    ),
)
