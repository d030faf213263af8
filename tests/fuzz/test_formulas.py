"""The formulas that judge the reader are right themselves: on every sample they agree with transformers."""

from __future__ import annotations

import pytest

from tests.fuzz.formulas import FORMULAS, Keys
from tests.fuzz.reference import NotCountedError, counted_by_class, counted_by_formula
from tests.fuzz.samples import by_class, samples, trimmed

NOT_IN_TRANSFORMERS = {"RWForCausalLM", "T5WithLMHeadModel"}
SAMPLED = sorted(FORMULAS.keys() & by_class().keys())


def test_enough_classes_have_a_formula() -> None:
    assert len(SAMPLED) >= 140


def test_a_formula_by_hand() -> None:
    # embedding 100 x 64 = 6400, head the same; a block: q 64 x 64, k and v 64 x 32 each, o 64 x 64 = 12288;
    # feed-forward 3 x 64 x 96 = 18432; two norms 128: 30848, twice 61696; last norm 64.
    config = {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": 100,
    }
    assert FORMULAS["LlamaForCausalLM"](Keys(config)) == 2 * 6400 + 61696 + 64


@pytest.mark.slow
@pytest.mark.parametrize("architecture", sorted(set(SAMPLED) - NOT_IN_TRANSFORMERS))
def test_a_formula_counts_what_transformers_builds(architecture: str) -> None:
    for name in by_class()[architecture]:
        config = trimmed(samples()[name])
        try:
            built = counted_by_class(config, architecture)
        except NotCountedError as error:
            pytest.fail(f"{name} cannot be built: {error}")
        assert counted_by_formula(config, architecture) == built, name
