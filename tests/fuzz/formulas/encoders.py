"""Encoders of text: BERT and its like, DistilBERT, ModernBERT, each with the head of its class.

A block has attention 4 h^2 + 4 h, feed-forward 2 h f + f + h and two layer norms of 2 h. Source: arXiv 1810.04805,
1907.11692, 1910.01108, 2412.13663 and `modeling_*.py` of transformers.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.formulas.keys import Keys


def block(h: int, f: int) -> int:
    """Attention, feed-forward network and two layer norms, all with biases."""
    return 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h


def num_labels(k: Keys, default: int = 2) -> int:
    """Labels of a classifier: as many as have names."""
    names = k("id2label")
    return k("num_labels", default=default) if names is None else len(names)


def classifier(k: Keys, h: int, default: int = 2) -> int:
    """A score for each label, `default` labels where none are given."""
    return (h + 1) * num_labels(k, default)


def _bert(k: Keys) -> int:
    h = k("hidden_size")
    rows = k("vocab_size") + k("max_position_embeddings", default=512) + k("type_vocab_size", default=2)
    return rows * h + 2 * h + k("num_hidden_layers") * block(h, k("intermediate_size"))


def _square(k: Keys) -> int:
    h = k("hidden_size", "dim")
    return h * h + h


def _words(k: Keys) -> int:
    """Scores of words: a square matrix, a norm, the table of the embedding and a bias.

    An untied table has a bias of its own beside the other.
    """
    h, v = k("hidden_size"), k("vocab_size")
    return _square(k) + 2 * h + v + (0 if k.flag("tie_word_embeddings", default=True) else v * h + v)


def _label_scores(k: Keys) -> int:
    return classifier(k, k("hidden_size"))


def _one_score(k: Keys) -> int:
    return k("hidden_size") + 1


def _two_scores(k: Keys) -> int:
    return 2 * k("hidden_size") + 2


def _distilbert(k: Keys) -> int:
    h = k("dim", "hidden_size")
    rows = k("vocab_size") + k("max_position_embeddings", default=512)
    return rows * h + 2 * h + k("n_layers", "num_hidden_layers") * block(h, k("hidden_dim"))


def _distilbert_words(k: Keys) -> int:
    h, v = k("dim", "hidden_size"), k("vocab_size")
    return _square(k) + 2 * h + v + (0 if k.flag("tie_word_embeddings", default=True) else v * h)


def _distilbert_labels(k: Keys) -> int:
    return classifier(k, k("dim", "hidden_size"))


def _distilbert_one(k: Keys) -> int:
    return k("dim", "hidden_size") + 1


def _modern_norm(k: Keys) -> int:
    return k("hidden_size") * (2 if k.flag("norm_bias", default=False) else 1)


def _modernbert(k: Keys) -> int:
    h, f, layers = k("hidden_size"), k("intermediate_size"), k("num_hidden_layers")
    attention = 4 * h * h + k.flag("attention_bias", default=False) * 4 * h
    gated = 3 * h * f + k.flag("mlp_bias", default=False) * (2 * f + h)
    # The first block has no norm before its attention; one follows the embedding, one the last block.
    return k("vocab_size") * h + layers * (attention + gated) + (2 * layers + 1) * _modern_norm(k)


def _modern_head(k: Keys) -> int:
    h = k("hidden_size")
    return h * h + k.flag("classifier_bias", default=False) * h + _modern_norm(k)


def _modern_words(k: Keys) -> int:
    h, v = k("hidden_size"), k("vocab_size")
    tied = k.flag("tie_word_embeddings", default=True)
    return _modern_head(k) + k.flag("decoder_bias", default=True) * v + (0 if tied else v * h)


def _sum(*parts: Callable[[Keys], int]) -> Callable[[Keys], int]:
    return lambda k: sum(part(k) for part in parts)


ROBERTA_HEADS: dict[str, Callable[[Keys], int]] = {
    "ForMaskedLM": _sum(_bert, _words),
    "ForCausalLM": _sum(_bert, _words),
    "Model": _sum(_bert, _square),
    "ForSequenceClassification": _sum(_bert, _square, _label_scores),
    "ForMultipleChoice": _sum(_bert, _square, _one_score),
    "ForTokenClassification": _sum(_bert, _label_scores),
    "ForQuestionAnswering": _sum(_bert, _label_scores),
}

FORMULAS: dict[str, Callable[[Keys], int]] = {
    "BertForMaskedLM": _sum(_bert, _words),
    "BertLMHeadModel": _sum(_bert, _words),
    "BertForPreTraining": _sum(_bert, _square, _words, _two_scores),
    "BertModel": _sum(_bert, _square),
    "BertForNextSentencePrediction": _sum(_bert, _square, _two_scores),
    "BertForSequenceClassification": _sum(_bert, _square, _label_scores),
    "BertForMultipleChoice": _sum(_bert, _square, _one_score),
    "BertForTokenClassification": _sum(_bert, _label_scores),
    "BertForQuestionAnswering": _sum(_bert, _label_scores),
    **{f"Roberta{name}": formula for name, formula in ROBERTA_HEADS.items()},
    **{f"XLMRoberta{name}": formula for name, formula in ROBERTA_HEADS.items()},
    "DistilBertForMaskedLM": _sum(_distilbert, _distilbert_words),
    "DistilBertModel": _distilbert,
    "DistilBertForSequenceClassification": _sum(_distilbert, _square, _distilbert_labels),
    "DistilBertForMultipleChoice": _sum(_distilbert, _square, _distilbert_one),
    "DistilBertForTokenClassification": _sum(_distilbert, _distilbert_labels),
    "DistilBertForQuestionAnswering": _sum(_distilbert, _distilbert_labels),
    "ModernBertForMaskedLM": _sum(_modernbert, _modern_words),
    "ModernBertModel": _modernbert,
    "ModernBertForSequenceClassification": _sum(_modernbert, _modern_head, _label_scores),
    "ModernBertForMultipleChoice": _sum(_modernbert, _modern_head, _one_score),
    "ModernBertForTokenClassification": _sum(_modernbert, _modern_head, _label_scores),
    "ModernBertForQuestionAnswering": _sum(_modernbert, _modern_head, _label_scores),
}
