"""Variants of language models: without a head, and with scores, by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from decoder_samples import ATTENTION, GATED, SIZES, TABLE
from reading import read, read_file

from planner.models.families import families

BODY = TABLE + 2 * (ATTENTION + GATED + 2 * 16) + 16
"""Table, two blocks with two norms each, and the last norm."""
FIVE = {str(number): "" for number in range(5)}


@pytest.mark.parametrize("prefix", ["Llama", "Mistral"])
@pytest.mark.parametrize(
    ("end", "head"),
    [
        ("Model", 0),
        ("ForSequenceClassification", 16 * 5),
        ("ForTokenClassification", 16 * 5 + 5),
        ("ForQuestionAnswering", 16 * 2 + 2),
    ],
)
def test_variants_by_hand(prefix: str, end: str, head: int) -> None:
    model = read(f"{prefix}{end}", **SIZES, id2label=FIVE)
    assert model.params_total == BODY + head
    assert model.is_single_stream
    assert model.vocab == 10


def test_a_reward_is_one_score_without_bias_of_every_token() -> None:
    run = read("Qwen3ForSequenceClassification", **SIZES, head_dim=4, num_labels=1).runs[-1]
    # The last norm of 16, and 16 weights.
    assert run.layer.num_params() == 16 + 16
    assert run.num_tokens is None


def test_two_classes_where_nothing_is_said() -> None:
    assert read("LlamaForSequenceClassification", **SIZES).params_total == BODY + 16 * 2


def test_a_score_reads_what_a_narrow_head_would() -> None:
    # OPT-350m: 24 blocks of 1024, tables of 512; its body ends in a projection 1024 x 512 and no norm.
    body = read_file("opt_350m", architectures=["OPTModel"])
    assert body.params_total == 331_196_416
    scored = read_file("opt_350m", architectures=["OPTForSequenceClassification"])
    assert scored.params_total == 331_196_416 + 512 * 2


def test_a_listed_class_is_never_a_variant_too() -> None:
    # Some classes are read for two model types, e.g. that of DeepSeek V3 for Kimi K2.
    counts = Counter((family.architecture, family.model_type) for family in families())
    assert [names for names, count in counts.items() if count > 1] == []
