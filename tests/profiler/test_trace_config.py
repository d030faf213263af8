"""Tracing a class of transformers: parameters equal to the class's own, FLOP equal to those of the kinds we know."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import ModelSpec, Part
from planner.models.read import read_model
from profiler.tracing import trace_config
from profiler.tracing.class_defaults import filled_in_words, refuse_filled_sizes
from profiler.tracing.transformers_model import MAX_LAYERS, MAX_NUMBER

DECODER: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 600,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2}
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


def config(architecture: str, model_type: str, **sizes: Any) -> dict[str, Any]:
    return {"architectures": [architecture], "model_type": model_type, **DECODER, **sizes}


def trace(data: dict[str, Any]) -> ModelSpec:
    return trace_config(data, "here", "small")


def built(data: dict[str, Any]) -> int:
    """Parameters of the class as transformers builds it."""
    import transformers

    kind = getattr(transformers, data["architectures"][0])
    with torch.device("meta"):
        return sum(weight.numel() for weight in kind(kind.config_class.from_dict(data)).parameters())


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


def without(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


XGLM = {
    "architectures": ["XGLMForCausalLM"],
    "model_type": "xglm",
    "d_model": 64,
    "num_layers": 3,
    "attention_heads": 8,
    "ffn_dim": 96,
    "vocab_size": 100,
}
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


HELIUM = config("HeliumForCausalLM", "helium", head_dim=8)


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


def test_another_model_type_than_that_of_the_class_is_said() -> None:
    said = "The model_type 'nanochat' is not that of HeliumForCausalLM, which is read."
    assert said in trace({**HELIUM, "model_type": "nanochat"}).assumptions
    assert said not in trace(HELIUM).assumptions


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
