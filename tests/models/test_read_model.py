"""Reading Hugging Face configs: families, defaults and everything that must be refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from costmodel.errors import BadInputError
from planner.models.read import load_model, read_model
from tests.samples.blocks import attention_of

QWEN2_WINDOWS = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "use_sliding_window": True}


def config(**changes: Any) -> dict[str, Any]:
    """A small valid Llama config with `changes`; a change to `...` removes the key."""
    data = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": 100,
        "max_position_embeddings": 32,
        **changes,
    }
    return {key: value for key, value in data.items() if value is not ...}


def read(**changes: Any) -> Any:
    return read_model(config(**changes), "here", "small")


def test_parameters_by_hand() -> None:
    # embedding 100 x 64 = 6400; a block: q 64 x 64, k and v 64 x 32 each, o 64 x 64 = 12288; feed-forward
    # 3 x 64 x 96 = 18432; two norms 128: 30848, twice 61696; head 6400 + norm 64.
    model = read()
    assert model.params_by_part == {"embedding": 6400, "blocks": 61696, "head": 6464}
    assert model.max_seq_len == 32
    assert read(tie_word_embeddings=True).params_by_part["head"] == 64


def test_missing_or_null_kv_heads_mean_one_per_head_and_are_told() -> None:
    for value in (None, ...):
        model = read(num_key_value_heads=value)
        assert attention_of(model.blocks[0]).num_kv_heads == 8
        assert "num_key_value_heads" in model.assumptions[0]


def test_missing_kv_heads_of_mistral_take_the_default_of_its_class() -> None:
    mistral = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "num_attention_heads": 32}
    assert attention_of(read(**mistral, num_key_value_heads=...).blocks[0]).num_kv_heads == 8
    assert attention_of(read(**mistral, num_key_value_heads=None).blocks[0]).num_kv_heads == 32


def test_head_dim_may_be_free_null_or_the_default_of_the_class() -> None:
    assert attention_of(read(head_dim=24).blocks[0]).query_width == 8 * 24
    assert attention_of(read(head_dim=None).blocks[0]).head_dim == 8
    qwen3 = read(architectures=["Qwen3ForCausalLM"], model_type="qwen3")
    assert attention_of(qwen3.blocks[0]).head_dim == 128
    assert "head_dim" in qwen3.assumptions[0]


def test_class_is_taken_from_model_type_where_architectures_is_missing() -> None:
    model = read(architectures=...)
    assert model.architecture == "LlamaForCausalLM"
    assert "model_type" in model.assumptions[0]


def windows(**changes: Any) -> list[int | None]:
    return [attention_of(block).window for block in read(**changes).blocks]


def test_attention_windows_are_those_of_the_class() -> None:
    mistral = {"architectures": ["MistralForCausalLM"], "model_type": "mistral"}
    assert windows(**mistral, sliding_window=16) == [16, 16]
    assert windows(**mistral, sliding_window=None) == [None, None]
    assert windows(**mistral) == [4096, 4096]  # the default of the class
    qwen2 = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "sliding_window": 16}
    assert windows(**qwen2) == [None, None]
    assert windows(**qwen2, use_sliding_window=True, max_window_layers=1) == [None, 16]
    assert windows(**qwen2, layer_types=["sliding_attention", "full_attention"], use_sliding_window=True) == [16, None]


def test_what_a_file_says_about_itself_and_not_about_training_is_told() -> None:
    assert "quantization_config" in read(quantization_config={"bits": 4}).assumptions[-1]
    assert "model_type is 'mixtral'" in read(model_type="mixtral").assumptions[0]


@pytest.mark.parametrize("key", ["hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"])
@pytest.mark.parametrize("value", [..., None, 0, -1, 64.0, 64.5, "64", True, 10**12, [64]])
def test_a_size_that_is_no_size_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(BadInputError, match=key):
        read(**{key: value})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, "num_attention_heads = 7 does not divide hidden_size"),
        (
            {"num_key_value_heads": 3},
            "num_attention_heads 8 is not a multiple of num_key_value_heads 3; num_key_value_heads that divide it: 1,",
        ),
        ({"num_key_value_heads": 16}, "num_attention_heads 8 is not a multiple of num_key_value_heads 16"),
        ({"head_dim": 0}, "head_dim"),
        ({"head_dim": 9}, "head_dim is 9, but rotary position embeddings need an even one"),
        ({"hidden_size": 72}, "head_dim is 9"),
        ({"hidden_size": "64"}, "hidden_size is '64', but must be a whole number"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"hidden_act": "nonsense"}, "hidden_act is 'nonsense', but must be one of silu"),
        ({"hidden_act": ["silu"]}, "hidden_act is"),
        ({"rope_scaling": "linear"}, "rope_scaling is 'linear', but must be an object or null"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        ({"attention_bias": 1}, "attention_bias"),
        ({"max_position_embeddings": -1}, "max_position_embeddings"),
        (
            {
                "architectures": ["Qwen2ForCausalLM"],
                "use_sliding_window": True,
                "layer_types": ["linear_attention", "full_attention"],
            },
            "layer_types",
        ),
        (
            {"architectures": ["LlamaForCausalLN"]},
            "LlamaForCausalLN' is not known; similar ones that are: LlamaForCausalLM",
        ),
        ({"architectures": "LlamaForCausalLM"}, "architectures"),
        ({"architectures": ..., "model_type": ...}, "has neither architectures nor model_type"),
        ({"model_type": 3}, "model_type is 3"),
        ({"num_local_experts": 8}, "mixture of experts"),
        ({"n_routed_experts": 64}, "mixture of experts"),
        ({"text_config": {"hidden_size": 64}}, "text_config"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read(**changes)


def test_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config()))
    by_folder, by_file = load_model(str(folder)), load_model(str(folder / "config.json"))
    assert by_folder.spec == by_file.spec
    assert by_folder.spec.name == "my-model"
    assert by_folder.hf_config == config()
    assert len(by_folder.sha256) == 64


def test_a_model_in_the_cache_of_the_hub_is_called_as_there(tmp_path: Path) -> None:
    # Its files are links to blobs that are named by their hashes.
    blob = tmp_path / "models--org--my--model" / "blobs" / "0a1b"
    link = tmp_path / "models--org--my--model" / "snapshots" / "f00" / "config.json"
    for path in (blob, link):
        path.parent.mkdir(parents=True)
    blob.write_text(json.dumps(config()))
    link.symlink_to(blob)
    assert load_model(str(link)).spec.name == load_model(str(link.parent)).spec.name == "my--model"


def test_a_linked_folder_has_the_name_that_the_user_gave(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "config.json").write_text(json.dumps(config()))
    (tmp_path / "mine").symlink_to(tmp_path / "real")
    assert load_model(str(tmp_path / "mine")).spec.name == "mine"


def test_all_missing_sizes_are_named_at_once() -> None:
    with pytest.raises(BadInputError) as caught:
        read(hidden_size=..., num_hidden_layers=None, vocab_size=...)
    words = "keys vocab_size, hidden_size and num_hidden_layers are missing or null; a whole number is needed for each"
    assert words in str(caught.value)


def test_the_first_of_several_classes_is_said_to_be_taken() -> None:
    spec = read(architectures=["LlamaForCausalLM", "MistralForCausalLM"])
    assert "Read as LlamaForCausalLM, the first of the classes it names." in spec.assumptions


@pytest.mark.parametrize(
    ("model_type", "offers"), [("llama", True), (None, True), ("deberta-v2", False), ("mistral", False)]
)
def test_only_classes_of_the_same_model_type_are_offered(model_type: str | None, offers: bool) -> None:
    with pytest.raises(BadInputError) as caught:
        read(architectures=["LlamaForCausalLN"], model_type=model_type)
    assert ("LlamaForCausalLM" in str(caught.value)) is offers


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        (("_class_name", "_diffusers_version", "sample_size"), "Diffusers"),
        (("dim", "n_layers", "head_dim", "hidden_dim", "n_heads", "n_kv_heads"), "Mistral's params.json"),
        (("dim", "n_layers", "n_heads", "multiple_of"), "Meta's params.json"),
    ],
)
def test_a_file_of_another_tool_is_recognised(keys: tuple[str, ...], title: str) -> None:
    with pytest.raises(BadInputError, match=f"is not a Hugging Face config; its keys are those of {title};"):
        read_model(dict.fromkeys(keys, 8), "here", "foreign")


def test_a_folder_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xffmodel"))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config()))
    assert load_model(str(folder)).spec.name == "\N{REPLACEMENT CHARACTER}model"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x" * 5000, "neither a preset"),
        ("llama3-9b", "did you mean llama-3-8b"),
        ("meta-llama/Llama-3-8B", "did you mean llama-3-8b"),
        ("no-such-thing", "presets: "),
        ("my.module:factory", "neither a preset nor a config.json"),
        ("src/my_model.py:build", "neither a preset nor a config.json"),
        ("/dev/null", "not a file"),
        ("", "neither a preset"),
    ],
)
def test_names_that_lead_nowhere(text: str, named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        load_model(text)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "not valid JSON"),
        (b'{"hidden_size": 64', "not valid JSON at line 1"),
        (b'{"model_type": "llama", "vocab_size": NaN}', "vocab_size is NaN, but must be"),
        (b'{"hidden_size": 1, "hidden_size": 2}', "stands twice"),
        (b"[1, 2]", "JSON object"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"{}\0", "binary"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_files_that_hold_no_config(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match=named):
        load_model(str(path))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": ...},
        {"attention_bias": True, "mlp_bias": True, "head_dim": 24},
        {"tie_word_embeddings": True},
        {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "num_key_value_heads": ...},
        {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "head_dim": 24},
        {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"},
        {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "tie_word_embeddings": True},
        {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"},
        {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": True, "head_dim": 16},
    ],
)
def test_parameters_equal_those_that_transformers_builds(changes: dict[str, Any]) -> None:
    import torch
    import transformers

    data = config(**changes)
    with torch.device("meta"):
        built = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**data))
    assert type(built).__name__ == data["architectures"][0]
    assert read_model(data, "here", "small").params_total == sum(parameter.numel() for parameter in built.parameters())


def test_a_class_with_experts_may_have_none_in_any_block() -> None:
    shape = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [0, 1]}
    model = read(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", head_dim=8, **shape)
    # embedding and head 6400 each; a block: q and o 64 x 64, k and v 64 x 32 each: 12288; norms of heads 2 x 8;
    # feed-forward 3 x 64 x 96 = 18432; two norms 128: 30864, twice 61728; the last norm 64.
    assert model.params_total == 6400 + 61728 + 64 + 6400
    assert model.params_active == model.params_total


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"moe_intermediate_size": 32}, "this is a mixture of experts, but LlamaForCausalLM is dense"),
        ({"per_layer_config": [{}]}, "per_layer_config gives blocks sizes of their own"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads gives blocks sizes of their own"),
        ({"vision_config": {"hidden_size": 8}}, "vision_config holds part of a model"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types has 3 entries, but num_hidden_layers is 2"),
    ],
)
def test_keys_that_make_it_another_model_are_not_passed_over(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read(**changes)
