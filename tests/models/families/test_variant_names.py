"""The classes beside language models are those that transformers has: no more and no less."""

from __future__ import annotations

import pytest
from reading import read

from planner.models.errors import UnknownArchitectureError
from planner.models.families import listed_families
from planner.models.families.variant_names import BEGINNINGS
from planner.models.families.variants import base_name


@pytest.mark.parametrize("end", BEGINNINGS)
def test_variants_are_the_classes_of_transformers(end: str) -> None:
    import transformers

    listed = {family.architecture for family in listed_families()}
    bases = {base for base in map(base_name, listed_families()) if base is not None}
    exported = set(dir(transformers)) - listed
    there = {base for base in bases if f"{base}{end}" in exported}
    assert there == BEGINNINGS[end]


@pytest.mark.parametrize("name", ["OlmoForTokenClassification", "LlavaNextForQuestionAnswering", "InternLM2Model"])
def test_a_class_that_transformers_lacks_is_not_known(name: str) -> None:
    with pytest.raises(UnknownArchitectureError, match=f"architecture '{name}' is not known"):
        read(name)


def test_prediction_of_further_tokens_that_needs_the_head_is_left_out_and_said() -> None:
    sizes = {
        "vocab_size": 10,
        "hidden_size": 16,
        "intermediate_size": 24,
        "moe_intermediate_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "q_lora_rank": 8,
        "kv_lora_rank": 8,
        "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 4,
        "v_head_dim": 4,
    }
    sentence = "DeepseekV3Model has no head, so the layers of multi-token prediction, which end in one, are left out."
    predicting = read("DeepseekV3Model", **sizes, num_nextn_predict_layers=1)
    assert predicting.params_mtp == 0
    assert sentence in predicting.assumptions
    assert sentence not in read("DeepseekV3Model", **sizes, num_nextn_predict_layers=0).assumptions
