"""Falcon: one key and value head for all queries or for a group of them, halves of a block side by side.

The first checkpoints name a class of their own, RWForCausalLM, with other keys and other defaults. transformers has no
such class; the same shapes in the keys of FalconForCausalLM give the same parameters.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import TIED, VOCAB, attention, biased, block, mlp
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Choose, Computed, Flag, Quotient, Size, Source, Times, layers, part, tokens, width

HIDDEN = width("hidden_size", aliases=("n_embed",))
HEADS = Size("num_attention_heads")
BIAS = Flag("bias", default=False)
PARALLEL = Flag("parallel_attn", default=True)
GROUPED = Flag("new_decoder_architecture", default=False)
ALIBI = Flag("alibi", default=False)
MULTI_QUERY = Flag("multi_query", default=True)

RW_LAYERS = layers("n_layer", aliases=("num_hidden_layers",))
RW_HEADS = Size("n_head", aliases=("num_attention_heads",))
RW_GROUPED = Computed(lambda config, _layer: config.has("n_head_kv"))
"""Whether this is the second of the two versions of the class (Falcon-40B), which groups heads."""
RW_PARALLEL = Choose(RW_GROUPED, {True: True, False: Flag("parallel_attn", default=False)})
RW_MULTI_QUERY = Flag("multi_query", default=False)


def _num_norms(parallel: Source, grouped: Source) -> Source:
    """Halves one after the other have a norm each; side by side they share one, unless told otherwise."""
    shared = Choose(grouped, {True: 2, False: 1})
    return Choose(
        parallel,
        {
            True: Size("num_ln_in_parallel_attn", default=shared, null=shared, most=2),
            False: 2,
        },
    )


def _kv_heads(grouped: Source, multi_query: Source, heads: Size, kv_heads: Source) -> Source:
    """One key and value head per group of heads, one in all, or one per head."""
    return Choose(grouped, {True: kv_heads, False: Choose(multi_query, {True: 1, False: heads})})


def _rotates_joint_projection(grouped: Source, multi_query: Source) -> Source:
    """Values are a view of one projection beside queries and keys where each head has its own; other versions copy."""
    apart = Choose(grouped, {True: False, False: Choose(multi_query, {True: False, False: True})})
    return Choose(ALIBI, {True: False, False: apart})


def _model(
    num_layers: Size,
    heads: Size,
    kv_heads: Source,
    ffn: Any,
    parallel: Source,
    num_norms: Source,
    grouped: Source,
    multi_query: Source,
) -> tuple[RunSource, ...]:
    return (
        One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN)),
        Stack(
            block(
                attention(
                    hidden=HIDDEN,
                    num_heads=heads,
                    num_kv_heads=kv_heads,
                    head_dim=Quotient(HIDDEN, heads),
                    output_bias=BIAS,
                    rotates_joint_projection=_rotates_joint_projection(grouped, multi_query),
                    repeats_kv=grouped,
                    linear_biases=ALIBI,
                    **biased(BIAS),
                ),
                mlp(hidden=HIDDEN, ffn_hidden=ffn, gated=False, bias=BIAS),
                hidden=HIDDEN,
                norm=Norm.LAYER,
                num_norms=num_norms,
                parallel=parallel,
            ),
            num_layers,
        ),
        One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, norm=Norm.LAYER)),
    )


def _rotates(heads: Size) -> Any:
    """Positions are rotary ones unless they are linear biases (ALiBi)."""
    rotation = Rotation(Quotient(HIDDEN, heads))

    def check(config: Config) -> None:
        if not ALIBI.read(config, 0):
            rotation(config)

    return check


RW_MODEL = _model(
    RW_LAYERS,
    RW_HEADS,
    _kv_heads(RW_GROUPED, RW_MULTI_QUERY, RW_HEADS, Size("n_head_kv")),
    Times(4, HIDDEN),
    RW_PARALLEL,
    _num_norms(RW_PARALLEL, RW_GROUPED),
    RW_GROUPED,
    RW_MULTI_QUERY,
)

FAMILIES = (
    Family(
        "FalconForCausalLM",
        "falcon",
        _model(
            layers("num_hidden_layers"),
            HEADS,
            _kv_heads(GROUPED, MULTI_QUERY, HEADS, Size("num_kv_heads", default=HEADS)),
            width("ffn_hidden_size", default=Times(4, HIDDEN)),
            PARALLEL,
            _num_norms(PARALLEL, GROUPED),
            GROUPED,
            MULTI_QUERY,
        ),
        max_seq_len=tokens("max_position_embeddings", default=2048),
        checks=(_rotates(HEADS), Activation("activation", "gelu")),
    ),
    *(
        Family("RWForCausalLM", model_type, RW_MODEL, checks=(_rotates(RW_HEADS),))
        for model_type in ("RefinedWebModel", "RefinedWeb")
    ),
)
