"""BLOOM: linear biases (ALiBi) instead of positions, a norm behind the embedding, four times the width inside."""

from __future__ import annotations

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.families.parts import TIED, VOCAB, attention, biased, block, mlp
from planner.models.family import Family, One, Stack
from planner.models.keys import Computed, Quotient, Size, Times, layers, part, width

HIDDEN = width("hidden_size", aliases=("n_embed",))
LAYERS = layers("n_layer", aliases=("num_hidden_layers",))
HEADS = Size("n_head", aliases=("num_attention_heads",))

FAMILIES = (
    Family(
        "BloomForCausalLM",
        "bloom",
        (
            One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN, norm=Norm.LAYER)),
            Stack(
                block(
                    attention(
                        hidden=HIDDEN,
                        num_heads=HEADS,
                        num_kv_heads=HEADS,
                        head_dim=Quotient(HIDDEN, HEADS),
                        output_bias=True,
                        linear_biases=True,
                        **biased(True),
                    ),
                    mlp(hidden=HIDDEN, ffn_hidden=Times(4, HIDDEN), gated=False, bias=True),
                    hidden=HIDDEN,
                    norm=Norm.LAYER,
                ),
                LAYERS,
            ),
            One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, norm=Norm.LAYER)),
        ),
        # ALiBi limits no sequence.
        max_seq_len=Computed(lambda _config, _layer: None),
    ),
)
