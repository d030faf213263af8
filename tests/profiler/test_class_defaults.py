"""What a config leaves out: sizes are never the defaults of its class, and other numbers that it fills in are said."""

from __future__ import annotations

from typing import Any

import pytest
from small_configs import EXPERTS, HELIUM, XGLM, built, config, trace, without

from costmodel.errors import BadInputError
from profiler.tracing.class_defaults import filled_in_words, refuse_filled_sizes

SWITCH = {
    "architectures": ["SwitchTransformersForConditionalGeneration"],
    "d_model": 64,
    "d_ff": 96,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_sparse_encoder_layers": 1,
    "num_sparse_decoder_layers": 1,
    "num_heads": 8,
    "vocab_size": 100,
}


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        (without(XGLM, "d_model", "ffn_dim", "num_layers"), "d_model, ffn_dim, num_layers are missing"),
        (without(XGLM, "attention_heads"), "attention_heads is missing"),
        (without(XGLM, "vocab_size"), "vocab_size is missing"),
        (
            without(config("JetMoeForCausalLM", "jetmoe", **EXPERTS), "num_key_value_heads"),
            "num_key_value_heads is missing",
        ),
        (config("JetMoeForCausalLM", "jetmoe"), "num_local_experts, num_experts_per_tok are missing"),
        (without(SWITCH, "num_sparse_encoder_layers"), "num_sparse_encoder_layers is missing"),
        (without(SWITCH, "num_decoder_layers"), "num_decoder_layers is missing"),
        (SWITCH, "num_experts is missing"),
        (
            {"architectures": ["BlipForConditionalGeneration"], "vision_config": {}},
            "text_config.vocab_size, text_config.hidden_size, text_config.encoder_hidden_size, text_config.interm",
        ),
    ],
)
def test_sizes_are_never_those_of_another_model(data: dict[str, Any], missing: str) -> None:
    """A config class fills in the sizes of the model that it was first written for."""
    with pytest.raises(BadInputError, match=missing) as caught:
        trace(data)
    assert "sizes of the model are never taken from the defaults of" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({**HELIUM, "num_local_experts": 8}, "num_local_experts is 8, so this is a mixture of experts, but Helium"),
        ({**HELIUM, "moe": {"count": 8}}, "moe is .*, so this is a mixture of experts"),
        ({**HELIUM, "ffn_config": {"n_routed_experts": 8}}, "ffn_config.n_routed_experts is 8"),
        (config("DogeForCausalLM", "doge", num_experts=8), "num_experts is 8, so this is a mixture of experts"),
    ],
)
def test_a_mixture_of_experts_is_never_sized_as_a_dense_model(data: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        trace(data)


def test_experts_that_a_class_saves_but_does_without_are_none() -> None:
    doge = config("DogeForCausalLM", "doge")
    for unused in ({"num_experts": 16384}, {"num_experts": 8, "is_moe": False}):
        assert trace({**doge, **unused}).params_total == built(doge)


def test_a_size_of_some_layers_alone_is_no_fault_of_the_class() -> None:
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    data = config(
        "Gemma4UnifiedForCausalLM",
        "gemma4_unified_text",
        layer_types=kinds,
        num_global_key_value_heads=None,
        sliding_window=64,
        per_layer_config={"2": {"head_dim": 16}},
    )
    assert trace(data).params_total == built(data)


def test_a_note_in_a_config_is_no_size() -> None:
    assert trace({**HELIUM, "num_parameters": 7 * 10**9}).params_total == built(HELIUM)


def test_a_size_may_stand_under_either_name_that_the_class_knows() -> None:
    renamed = without(XGLM, "d_model", "num_layers") | {"hidden_size": 64, "num_hidden_layers": 3}
    assert trace(renamed).params_total == trace(XGLM).params_total == built(XGLM)


def test_a_size_may_stand_under_a_key_that_the_class_translates() -> None:
    """LFM2 takes `block_ff_dim` for its feed-forward width; here it is the width that is the class's default too."""
    from transformers import Lfm2Config

    data = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
    data |= {"num_key_value_heads": 2, "block_ff_dim": 12288}
    settings = Lfm2Config.from_dict(dict(data))
    assert settings.intermediate_size == 12288
    refuse_filled_sizes(settings, data, "here")
    del data["block_ff_dim"]
    with pytest.raises(BadInputError, match="intermediate_size is missing"):
        refuse_filled_sizes(Lfm2Config.from_dict(dict(data)), data, "here")


def test_sizes_that_saving_leaves_out_of_an_object_are_said() -> None:
    from transformers import BlipConfig

    settings = BlipConfig.from_dict({"text_config": {"hidden_size": 64}, "vision_config": {}})
    said = filled_in_words(settings, {"text_config": {"hidden_size": 64}, "vision_config": {}})
    assert "text_config.vocab_size = 30524" in said
    assert "text_config.hidden_size" not in said
    refuse_filled_sizes(settings, {"text_config": {}, "vision_config": {}, "image_text_hidden_size": 64}, "here")


def test_other_numbers_that_the_class_fills_in_are_said() -> None:
    assert "Taken from the class, as the config lacks them: max_position_embeddings = 2048." in trace(XGLM).assumptions
    # A class that can do without experts has a number of them all the same.
    doge = trace(config("DogeForCausalLM", "doge"))
    assert not any("num_experts" in sentence for sentence in doge.assumptions)
