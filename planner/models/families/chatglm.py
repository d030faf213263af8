"""ChatGLM 2 and 3, and GLM-4 as first published: a class beside the checkpoints, with keys of its own."""

from __future__ import annotations

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.config import Config
from planner.models.families.checks import Rotation
from planner.models.families.parts import HEADS, HIDDEN, attention, biased, block, mlp
from planner.models.family import Family, One, Stack
from planner.models.keys import Choose, Computed, Flag, Size, layers, part, tokens, vocabulary, width

BIAS = Flag("add_bias_linear", default=False)
QKV_BIAS = Choose(BIAS, {True: True, False: Flag("add_qkv_bias", default=False)})
HEAD_DIM = width("kv_channels", default=128)
KV_HEADS = Choose(
    Flag("multi_query_attention", default=False), {True: Size("multi_query_group_num", default=1), False: HEADS}
)
NORM = Choose(Flag("rmsnorm", default=True), {True: Norm.RMS, False: Norm.LAYER})
LAST_NORM = Choose(Flag("post_layer_norm", default=True), {True: NORM, False: None})
FFN = width("ffn_hidden_size")
VOCAB = vocabulary("padded_vocab_size", aliases=("vocab_size",))


def _is_untied(config: Config) -> None:
    if Flag("tie_word_embeddings", default=False).read(config, 0):
        config.assume(
            f"{config.place('tie_word_embeddings')} is true, but {config.architecture} has a table for its head all "
            "the same."
        )


def _ffn_of_later_ones(config: Config, layer: int) -> int:
    """Width inside the network; the first ChatGLM has the same class and model_type, but other keys and layers."""
    for key in ("position_encoding_2d", "inner_hidden_size", "gmask_token_id"):
        if config.has(key):
            config.fail(
                f"{config.place(key)} is a key of the first ChatGLM, but {config.architecture} is read as ChatGLM 2 "
                "and later only; give the config of one of those"
            )
    return int(FFN.read(config, layer))


LAYERS = (
    One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN)),
    Stack(
        block(
            attention(num_kv_heads=KV_HEADS, head_dim=HEAD_DIM, output_bias=BIAS, **biased(QKV_BIAS)),
            mlp(ffn_hidden=Computed(_ffn_of_later_ones), bias=BIAS),
            norm=NORM,
        ),
        layers("num_layers", aliases=("num_hidden_layers",)),
    ),
    One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, norm=LAST_NORM)),
)
LENGTH = tokens("seq_length", default=None, aliases=("max_position_embeddings",))
CHECKS = (Rotation(HEAD_DIM, default=0.5), _is_untied)

# Configs name the model without a head, though its class has one.
FAMILIES = (
    Family("ChatGLMModel", "chatglm", LAYERS, max_seq_len=LENGTH, checks=CHECKS),
    Family("ChatGLMForConditionalGeneration", "chatglm", LAYERS, max_seq_len=LENGTH, checks=CHECKS),
)
