"""Encoders with decoders: T5, BART, mBART, Pegasus, Whisper, each with the head of its class.

A decoder block has a second attention, over the encoder's output. Source: arXiv 1910.10683, 2010.11934, 2304.09151,
1910.13461, 2001.08210, 1912.08777, 2212.04356 and `modeling_*.py` of transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.fuzz.formulas.encoders import block, classifier
from tests.fuzz.formulas.keys import Keys

GATED = {"T5": "relu", "MT5": "gated-gelu", "UMT5": "gated-gelu"}
"""Activation where none is given."""


def _t5_stack(k: Keys, name: str, layers: int, has_cross: bool) -> int:
    h, f, heads = k("d_model", "hidden_size"), k("d_ff"), k("num_heads", "num_attention_heads")
    inner = heads * k("d_kv", "head_dim", default=64)
    gated = k("feed_forward_proj", default=GATED[name]).startswith("gated")
    # Biases of relative positions, in the first block only or (UMT5) in each.
    biases = k("relative_attention_num_buckets", default=32) * heads * (layers if name == "UMT5" else 1)
    attentions = 2 if has_cross else 1
    each = attentions * 4 * h * inner + (3 if gated else 2) * h * f + (attentions + 1) * h
    return layers * each + biases + h


def _t5_encoder(k: Keys, name: str) -> int:
    layers = k("num_layers", "num_hidden_layers")
    return k("vocab_size") * k("d_model", "hidden_size") + _t5_stack(k, name, layers, has_cross=False)


def _t5(k: Keys, name: str) -> int:
    layers = k("num_layers", "num_hidden_layers")
    return _t5_encoder(k, name) + _t5_stack(k, name, k("num_decoder_layers", default=layers), has_cross=True)


def _labels(k: Keys, default: int = 2) -> int:
    return classifier(k, k("d_model", "hidden_size"), default)


def _square(k: Keys) -> int:
    h = k("d_model", "hidden_size")
    return h * h + h


def _t5_classes(name: str) -> dict[str, Callable[[Keys], int]]:
    return {
        f"{name}ForConditionalGeneration": partial(_t5, name=name),
        f"{name}Model": partial(_t5, name=name),
        f"{name}EncoderModel": partial(_t5_encoder, name=name),
        f"{name}ForSequenceClassification": lambda k: _t5(k, name) + _square(k) + _labels(k),
        f"{name}ForQuestionAnswering": lambda k: _t5(k, name) + _labels(k),
        f"{name}ForTokenClassification": lambda k: _t5_encoder(k, name) + _labels(k),
    }


def _bart(k: Keys, embedding_norms: int, final_norms: int, padding_rows: int, has_head: bool = False) -> int:
    h, positions = k("d_model", "hidden_size"), k("max_position_embeddings", default=1024) + padding_rows
    # Untied, the tables of encoder and decoder are theirs alone, beside a shared one that is not used.
    tables = 1 if k.flag("tie_word_embeddings", default=True) else 3 + has_head
    encoder = k("encoder_layers", "num_hidden_layers") * block(h, k("encoder_ffn_dim"))
    decoder = k("decoder_layers") * (block(h, k("decoder_ffn_dim")) + 4 * h * h + 4 * h + 2 * h)
    return (
        tables * k("vocab_size") * h + 2 * positions * h + encoder + decoder + 2 * h * (embedding_norms + final_norms)
    )


bart = partial(_bart, embedding_norms=2, final_norms=0, padding_rows=2)
mbart = partial(_bart, embedding_norms=2, final_norms=2, padding_rows=2)
pegasus = partial(_bart, embedding_norms=0, final_norms=2, padding_rows=0)


def _two_scores(k: Keys) -> int:
    return 2 * k("d_model", "hidden_size") + 2


def _whisper_encoder(k: Keys) -> int:
    h = k("d_model", "hidden_size")
    convolutions = 3 * k("num_mel_bins", default=80) * h + h + 3 * h * h + h
    positions = k("max_source_positions", default=1500) * h
    # Keys have no bias.
    blocks = k("encoder_layers", "num_hidden_layers") * (block(h, k("encoder_ffn_dim")) - h)
    return convolutions + positions + blocks + 2 * h


def whisper(k: Keys) -> int:
    h = k("d_model", "hidden_size")
    rows = k("vocab_size") + k("max_target_positions", default=448)
    each = block(h, k("decoder_ffn_dim")) - h + 4 * h * h + 3 * h + 2 * h
    return _whisper_encoder(k) + rows * h + k("decoder_layers") * each + 2 * h


def whisper_with_head(k: Keys) -> int:
    table = k("vocab_size") * k("d_model", "hidden_size")
    return whisper(k) + (0 if k.flag("tie_word_embeddings", default=True) else table)


def whisper_classifier(k: Keys) -> int:
    h, width = k("d_model", "hidden_size"), k("classifier_proj_size", default=256)
    layers = k("encoder_layers", "num_hidden_layers") + 1 if k.flag("use_weighted_layer_sum", default=False) else 0
    return _whisper_encoder(k) + h * width + width + classifier(k, width) + layers


FORMULAS: dict[str, Callable[[Keys], int]] = {
    **_t5_classes("T5"),
    **_t5_classes("MT5"),
    **_t5_classes("UMT5"),
    "T5WithLMHeadModel": partial(_t5, name="T5"),
    "BartForConditionalGeneration": partial(bart, has_head=True),
    "BartModel": bart,
    "BartForSequenceClassification": lambda k: bart(k) + _square(k) + _labels(k, 3),
    "BartForQuestionAnswering": lambda k: bart(k) + _two_scores(k),
    "MBartForConditionalGeneration": partial(mbart, has_head=True),
    "MBartModel": mbart,
    "MBartForSequenceClassification": lambda k: mbart(k) + _square(k) + _labels(k),
    "MBartForQuestionAnswering": lambda k: mbart(k) + _two_scores(k),
    "PegasusForConditionalGeneration": partial(pegasus, has_head=True),
    "PegasusModel": pegasus,
    "WhisperForConditionalGeneration": whisper_with_head,
    "WhisperModel": whisper,
    "WhisperForAudioClassification": whisper_classifier,
}
