"""Whatever the reader accepts of a class that is trained here, the executor builds: no fault is left for a run."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel.errors import BadInputError
from executor.models import HFCausalLM
from executor.models.config import CLASSES
from planner.frameworks.native import NATIVE
from planner.models.read import read_model

TINY: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 128,
}
KEYS = (
    *("rms_norm_eps", "initializer_range", "attention_dropout", "hidden_act", "tie_word_embeddings", "attention_bias"),
    *("mlp_bias", "use_sliding_window", "sliding_window", "max_window_layers", "layer_types", "rope_theta"),
    *("rope_scaling", "rope_parameters", "partial_rotary_factor", "original_max_position_embeddings", "head_dim"),
    *("max_position_embeddings", "num_key_value_heads", "pad_token_id", "bos_token_id", "eos_token_id", "use_cache"),
    *("torch_dtype", "dtype", "id2label", "num_labels", "problem_type", "pretraining_tp", "output_attentions"),
    *("attn_implementation", "is_encoder_decoder", "return_dict", "model_type", "tokenizer_class", "temperature"),
)
ROTATION = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64}
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 8, 256, 10**400, 0.0, 0.5, -0.5, 1e-6, 1.5, 1e300, float("inf"), float("nan")),
    *("", "gelu", "x", "llama", "full_attention", [], [1], ["full_attention"] * 2, ["sliding_attention"] * 2),
    *(["x", "y"], {}, {"a": 1}, {"rope_type": "linear", "factor": 2}, ROTATION, {"rope_type": "llama3"}),
)


def test_the_classes_are_those_that_plans_are_trained_for() -> None:
    assert tuple(CLASSES) == NATIVE.trains


def config_of(architecture: str, **changes: Any) -> dict[str, Any]:
    # Values are shared between the examples, and transformers fills in the objects that it is given.
    return copy.deepcopy(TINY | {"architectures": [architecture], "model_type": CLASSES[architecture]} | changes)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(list(CLASSES)), st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3))
def test_what_is_read_is_built_with_as_many_parameters(architecture: str, changes: dict[str, Any]) -> None:
    config = config_of(architecture, **changes)
    try:
        spec = read_model(config, "here", "tiny")
    except BadInputError:
        return
    model = HFCausalLM(config)
    stage = model.build_stage(range(model.num_layers))
    assert sum(parameter.numel() for parameter in stage.parameters()) == spec.params_total
    assert model.tied == spec.tied
    assert 0 < model.config.rms_norm_eps <= 1
    assert 0 <= model.initializer_range <= 1


def test_to_build_a_model_leaves_its_config_as_it_was() -> None:
    config = config_of("LlamaForCausalLM", rope_scaling=ROTATION)
    before = copy.deepcopy(config)
    HFCausalLM(config)
    assert config == before


@pytest.mark.parametrize("architecture", CLASSES)
@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("rms_norm_eps", -1e-6, "rms_norm_eps is -1e-06, but must be a number from 1e-12 to 1"),
        ("rms_norm_eps", 0, "rms_norm_eps is 0, but must be a number from 1e-12 to 1"),
        ("rms_norm_eps", "1e-6", "rms_norm_eps is '1e-6', but must be a number"),
        ("rms_norm_eps", True, "rms_norm_eps is true, but must be a number"),
        ("initializer_range", -0.02, "initializer_range is -0.02, but must be a number from 0 to 1"),
        ("layer_types", "full", "layer_types is 'full', but must be a list with 2 entries (num_hidden_layers)"),
        ("layer_types", ["full_attention", "x"], "layer_types[1] is 'x', but must be one of full_attention, sliding"),
        ("tie_word_embeddings", "no", "tie_word_embeddings is 'no', but must be true or false"),
        ("hidden_act", "swiglu", "hidden_act is 'swiglu', but must be one of silu"),
        ("rope_theta", -1, "rope_theta is -1, but must be a number above 0"),
    ],
)
def test_values_that_cannot_be_trained_with_are_named(architecture: str, key: str, value: Any, sentence: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read_model(config_of(architecture, **{key: value}), "here", "tiny")
    assert sentence in str(raised.value)


@pytest.mark.parametrize("architecture", CLASSES)
def test_what_training_passes_over_is_not_refused_but_said(architecture: str) -> None:
    unused = {"attention_dropout": 2, "pad_token_id": "<pad>", "torch_dtype": "float99", "quantization_config": 3}
    config = config_of(architecture, **unused)
    spec = read_model(config, "here", "tiny")
    assert "attention_dropout is 2, but training here drops nothing; it is passed over." in spec.assumptions
    # An embedding, two blocks and a head.
    assert HFCausalLM(config).num_layers == 4


def test_heads_that_do_not_divide_the_width_of_llama() -> None:
    # 64 / 6 leaves a remainder; transformers refuses it for Llama alone, although each head has a width of its own.
    sizes = {"num_attention_heads": 6, "num_key_value_heads": 6, "head_dim": 16}
    with pytest.raises(BadInputError, match="hidden_size is 64, but must be a multiple of num_attention_heads"):
        read_model(config_of("LlamaForCausalLM", **sizes), "here", "tiny")
    assert read_model(config_of("Qwen3ForCausalLM", **sizes), "here", "tiny").num_layers == 2
