"""Tracing a class of transformers: parameters equal to the class's own, FLOP equal to those of the kinds we know."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from small_configs import DECODER, EXPERTS, HELIUM, built, config, trace, without

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import Part
from planner.models.read import read_model
from profiler.tracing.transformers_model import MAX_LAYERS, MAX_NUMBER

QWEN3_NEXT = {
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "shared_expert_intermediate_size": 8,
    "moe_intermediate_size": 32,
    "head_dim": 8,
    "full_attention_interval": 3,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}

CLASSES = (
    config("NanoChatForCausalLM", "nanochat"),
    config("HeliumForCausalLM", "helium", head_dim=8),
    config("DogeForCausalLM", "doge", tie_word_embeddings=True),
    config("BioGptForCausalLM", "biogpt"),
    config("GraniteMoeForCausalLM", "granitemoe", **EXPERTS),
    config("BambaForCausalLM", "bamba", attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8),
    {
        "architectures": ["CTRLLMHeadModel"],
        "model_type": "ctrl",
        "n_embd": 64,
        "n_layer": 3,
        "n_head": 8,
        "dff": 96,
        "vocab_size": 100,
        "n_positions": 600,
    },
    {
        "architectures": ["BlenderbotSmallForConditionalGeneration"],
        "model_type": "blenderbot-small",
        "d_model": 64,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
        "encoder_ffn_dim": 96,
        "decoder_ffn_dim": 96,
        "vocab_size": 100,
        "max_position_embeddings": 600,
    },
)


@pytest.mark.slow
@pytest.mark.parametrize("data", CLASSES, ids=lambda data: data["architectures"][0])
def test_parameters_are_those_of_the_class(data: dict[str, Any]) -> None:
    model = trace(data)
    assert model.params_total == built(data)
    assert model.num_layers == 3
    assert f"tracing transformers' {data['architectures'][0]}" in model.assumptions[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        config("LlamaForCausalLM", "llama"),
        config("LlamaForCausalLM", "llama", tie_word_embeddings=True),
        config("Qwen3ForCausalLM", "qwen3", head_dim=16),
        config("MixtralForCausalLM", "mixtral", **EXPERTS),
    ],
    ids=lambda data: data["architectures"][0],
)
def test_a_trace_agrees_with_the_family(data: dict[str, Any]) -> None:
    known, found = read_model(data, "here", "small"), trace(data)
    assert found.params_by_part == known.params_by_part
    assert found.params_active == known.params_active
    assert found.tied == known.tied
    for seq_len in (128, 4096):
        flop = [
            sum(operation.flop for layer in model.layers for operation in layer.operations(2, seq_len))
            for model in (known, found)
        ]
        assert flop[1] == pytest.approx(flop[0], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        # The matrices of the shared expert have as many rows as there are experts.
        config("Qwen3NextForCausalLM", "qwen3_next", **QWEN3_NEXT),
        # Beside the matrices of each expert stand its biases.
        config("GptOssForCausalLM", "gpt_oss", head_dim=8, **EXPERTS),
    ],
    ids=lambda data: data["architectures"][0],
)
def test_what_a_token_meets_agrees_with_the_family(data: dict[str, Any]) -> None:
    known, found = read_model(data, "here", "small"), trace(data)
    assert found.params_total == known.params_total
    assert found.params_active == known.params_active < known.params_total


FALCON = config("FalconForCausalLM", "falcon", ffn_hidden_size=96)

GPT_NEO = {
    "architectures": ["GPTNeoForCausalLM"],
    "model_type": "gpt_neo",
    "hidden_size": 64,
    "num_layers": 4,
    "num_heads": 8,
    "attention_types": [[["global", "local"], 2]],
    "vocab_size": 100,
    "max_position_embeddings": 600,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said"),
    [(FALCON, "It hands its attention a mask"), (GPT_NEO, "It writes its attention out")],
    ids=["falcon", "gpt_neo"],
)
def test_a_class_that_picks_attention_from_a_table_of_its_own_keeps_it(data: dict[str, Any], said: str) -> None:
    known, found = read_model(data, "here", "small"), trace(data)
    assert found.params_by_part == known.params_by_part
    assert said in " ".join(found.assumptions)
    # Batch 2, 8 heads of width 8, 4 FLOP for each pair, which the class computes over the whole square.
    unspared_flop = len(known.blocks) * 2 * 8 * 8 * 4 * 128**2 / 2
    flop = [
        sum(operation.flop for layer in model.layers for operation in layer.operations(2, 128))
        for model in (known, found)
    ]
    assert flop[1] - flop[0] == pytest.approx(unspared_flop, rel=0.01)


@pytest.mark.slow
def test_a_narrow_window_grows_with_the_tokens_only() -> None:
    data = config("MistralForCausalLM", "mistral", sliding_window=64)
    narrow, wide = trace(data).layers[1], trace({**data, "sliding_window": None}).layers[1]
    # Each query meets 64 keys in a window, and half of 600 in the whole; 4 x 8 heads x 8 FLOP for each pair.
    saved_flop = (300 - 64) * 600 * 256
    flop = [sum(operation.flop for operation in layer.operations(1, 600)) for layer in (narrow, wide)]
    assert flop[1] - flop[0] == pytest.approx(saved_flop)


@pytest.mark.slow
def test_an_encoder_is_told_from_the_main_stack() -> None:
    model = trace(CLASSES[-1])
    parts = [run.part for run in model.runs]
    assert parts.index(Part.ENCODER) < parts.index(Part.BLOCKS)
    assert not model.is_single_stream


@pytest.mark.slow
def test_the_head_of_a_pair_may_share_the_table_of_the_decoder() -> None:
    """T5Gemma's encoder has a table of its own, which the head does not share."""
    stack = without(DECODER, "max_position_embeddings") | {"head_dim": 8, "sliding_window": 64}
    stack |= {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
    data = {
        "architectures": ["T5GemmaForConditionalGeneration"],
        "model_type": "t5gemma",
        "vocab_size": 100,
        "encoder": stack,
        "decoder": {**stack, "is_decoder": True, "cross_attention_hidden_size": 64},
    }
    model = trace(data)
    assert model.params_total == built(data)
    assert model.tied
    # The norm of the decoder, beside a table that counts where the decoder begins.
    assert model.params_by_part["head"] == 64


@pytest.mark.slow
def test_what_cannot_run_without_values_still_has_its_parameters_but_no_flop() -> None:
    data = config("JetMoeForCausalLM", "jetmoe", kv_channels=8, **EXPERTS)
    said = f"it has {built(data):,} parameters, but its forward pass cannot be traced"
    with pytest.raises(BadInputError, match=said):
        trace(data)


@pytest.mark.slow
def test_a_class_that_takes_no_bf16_is_traced_in_fp32() -> None:
    data = without(config("FNetForMaskedLM", "fnet", type_vocab_size=4), "num_key_value_heads", "num_attention_heads")
    model = trace(data)
    assert model.params_total == built(data)
    assert "tracing transformers' FNetForMaskedLM in fp32" in model.assumptions[0]


@pytest.mark.slow
def test_a_class_that_is_fed_by_sound_is_said_to_be() -> None:
    data = config("Wav2Vec2ForCTC", "wav2vec2")
    with pytest.raises(BadInputError, match=r"it is fed by input_values, and only token ids are traced$"):
        trace(data)


def test_another_model_type_than_that_of_the_class_is_said() -> None:
    said = "The model_type 'nanochat' is not that of HeliumForCausalLM, which is read."
    assert said in trace({**HELIUM, "model_type": "nanochat"}).assumptions
    assert said not in trace(HELIUM).assumptions


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (config("NoSuchModel", "x"), "architecture NoSuchModel is not known, transformers .* has no such class"),
        (config("NoSuchModel", "x", auto_map={"AutoModel": "a.B"}), "never fetched or run; give the model as module"),
        (config("HelliumForCausalLM", "helium"), r"has no such class to trace; did you mean HeliumForCausalLM\?"),
        (config("PreTrainedModel", "x"), "PreTrainedModel is not known"),
        (config("LlamaConfig", "x"), "LlamaConfig is not known"),
        (config("logging", "x"), "logging is not known"),
        ({"model_type": "gla"}, "architectures is missing, and transformers has no causal language model for .*'gla'"),
        ({"model_type": ["gla"]}, "architectures is missing"),
        (config("HeliumForCausalLM", "helium", hidden_size="wide"), "transformers cannot build HeliumForCausalLM"),
        (config("HeliumForCausalLM", "helium", hidden_size=-64), "transformers cannot build HeliumForCausalLM"),
        (config("HeliumForCausalLM", "helium", num_attention_heads=0), "transformers cannot build HeliumForCausalLM"),
        (config("HeliumForCausalLM", "helium", rope_parameters=3), "transformers cannot build HeliumForCausalLM"),
        (config("HeliumForCausalLM", "helium", num_hidden_layers=10**9), "num_hidden_layers is 1000000000"),
        (config("HeliumForCausalLM", "helium", text_config={"n_layer": 1001}), "text_config.n_layer is 1001"),
        (config("HeliumForCausalLM", "helium", vocab_size=10**12), "vocab_size is 1000000000000"),
        (config("HeliumForCausalLM", "helium", num_hidden_layers=0), "it has no list of blocks"),
    ],
)
def test_what_cannot_be_traced_is_one_sentence(data: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named) as caught:
        trace(data)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("here: ")


def test_bounds_are_far_above_any_model_that_is_trained() -> None:
    assert MAX_LAYERS >= 1000
    assert MAX_NUMBER >= 10_485_760  # positions of Llama 4 Scout


def test_no_key_makes_transformers_fetch_code() -> None:
    """A config may name a kernel on the hub as its attention; it is not even looked at."""
    data = config("NanoChatForCausalLM", "nanochat", _attn_implementation="someone/kernel", use_kernels=True)
    assert trace(data).params_total == trace(config("NanoChatForCausalLM", "nanochat")).params_total


def test_without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingError, match="pip install 'transformers"):
        trace(config("NanoChatForCausalLM", "nanochat"))


def test_nothing_is_left_behind_in_the_registries_of_transformers() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface

    before = set(AttentionInterface._global_mapping), set(AttentionMaskInterface._global_mapping)
    trace(config("NanoChatForCausalLM", "nanochat"))
    assert (set(AttentionInterface._global_mapping), set(AttentionMaskInterface._global_mapping)) == before
