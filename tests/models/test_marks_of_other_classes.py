"""What a config holds of another kind of model is refused by its name, wherever and in whatever words it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from costmodel.errors import BadInputError
from planner.models.read import load_model, read_model

CONFIGS = Path(__file__).parent / "configs"
LLAMA: dict[str, Any] = load_model("llama-3-8b").hf_config


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"mlp": {"num_experts": 8}}, "mlp.num_experts is 8, so this is a mixture of experts"),
        ({"mlp_config": {"a": {"moe": {"top_k": 2}}}}, "mlp_config.a.moe is "),
        ({"blocks": [{"heads": 2}, {"num_experts": 8}]}, "blocks[1].num_experts is 8"),
        ({"ffn_types": ["dense", "moe"]}, 'ffn_types is ["dense", "moe"], so this is a mixture of experts'),
        ({"mlp_layer_types": ["sparse"] * 32}, "mlp_layer_types is "),
        ({"ffn_type": "moe"}, "ffn_type is 'moe'"),
        ({"moe-layers": 2}, "moe-layers is 2"),
        ({"is_moe": True}, "is_moe is true"),
        ({"num_experts": True}, "num_experts is true"),
        ({"output_router_logits": True}, "output_router_logits is true"),
        ({"router_aux_loss_coef": 0.001}, "router_aux_loss_coef is 0.001"),
        ({"mamba_d_state": 64}, "mamba_d_state is 64, so this model has state-space layers"),
        ({"ssm_cfg": {"layer": "Mamba2"}}, "ssm_cfg is "),
        ({"layers_block_type": ["attention", "mamba"]}, "layers_block_type is "),
        ({"linear_attn_config": {"head_dim": 128}}, "linear_attn_config is "),
        ({"rwkv_version": 7}, "rwkv_version is 7"),
        ({"kv_lora_rank": 512}, "kv_lora_rank is 512, so this model has latent attention"),
        ({"conv_L_cache": 3}, "conv_L_cache is 3"),
        ({"parallel_attn_mlp_res": True}, "parallel_attn_mlp_res is true"),
        ({"position_encoding_2d": True}, "position_encoding_2d is true"),
        ({"relative_attention": True}, "relative_attention is true"),
    ],
)
def test_a_mark_of_another_class_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        read_model(LLAMA | keys, "here", "small")
    assert f"here: {words}" in str(caught.value)
    assert str(caught.value).endswith("; name the class that it is for")


@pytest.mark.parametrize(
    "keys",
    [
        # One expert is a dense network, and switches may be off.
        {"num_experts": 1},
        {"num_experts": 0, "is_moe": False, "moe": None, "output_router_logits": False},
        {"position_encoding_2d": False, "linear_attn_config": None, "layers_block_type": []},
        # Names say nothing of what a model is made of.
        {"id2label": {"0": "expert", "1": "moe"}, "_name_or_path": "moe"},
        {"quantization_config": {"modules_to_not_convert": ["moe", "experts"], "moe": True}},
    ],
)
def test_what_is_off_or_a_name_is_no_mark(keys: dict[str, Any]) -> None:
    assert read_model(LLAMA | keys, "here", "small").params_total == 8_030_261_248


def test_a_class_that_has_the_layers_may_bear_their_marks() -> None:
    mixtral = load_model("mixtral-8x7b")
    marked = read_model(mixtral.hf_config | {"moe_frequency": 2, "ffn_type": "moe"}, "here", "small")
    assert marked.params_total == mixtral.spec.params_total
    with pytest.raises(BadInputError, match="mamba_d_state is 64, so this model has state-space layers"):
        read_model(mixtral.hf_config | {"mamba_d_state": 64}, "here", "small")


def test_a_part_of_a_model_is_looked_through_as_well() -> None:
    llava = load_model(str(CONFIGS / "llava_1_5_7b.json")).hf_config
    text = llava["text_config"] | {"ffn": {"num_experts": 8}}
    with pytest.raises(BadInputError, match=r"here: text_config\.ffn\.num_experts is 8"):
        read_model(llava | {"text_config": text}, "here", "small")
