"""Layers built one by one are the Hugging Face model; their shards are what the cost model counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from layouts import CPU, SEED, Reference, initial_weights, reference_step, train_layout
from plan_files import TINY_LLAMA, tiny_plan
from transformers import AutoModelForCausalLM

from costmodel.errors import BadInputError
from costmodel.spec import Embedding, Head, Plan, Precision
from costmodel.spec.shards import Shards
from executor.models import HFCausalLM
from executor.models.initial_weights import initial_weight, parameter_seed
from executor.ranks import RankGroup
from tests.samples.blocks import dense_block

Ranks = Callable[[int], RankGroup]

SEED_OF_A = 3_788_087_819_113_919_994
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": TINY_LLAMA,
    "llama-biases": TINY_LLAMA | {"attention_bias": True, "mlp_bias": True},
    "mistral": TINY_LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 4096},
    "qwen2": TINY_LLAMA | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"},
    "qwen3": TINY_LLAMA | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 16},
    "tied": TINY_LLAMA | {"tie_word_embeddings": True},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_layers_in_a_row_are_the_whole_model(name: str) -> None:
    model = HFCausalLM(FAMILIES[name])
    ids = model.example_input(0, micro_batch=2, seq_len=16, device=CPU, dtype=torch.float32)
    x = ids
    for index in range(model.num_layers):
        layer = model.build_layer(index, tp=1, device=CPU, dtype=torch.float32)
        assert model.example_input(index, 2, 16, CPU, torch.float32).shape == x.shape
        x = layer(x)
    whole = AutoModelForCausalLM.from_config(model.config, attn_implementation="sdpa", dtype=torch.float32)
    with torch.no_grad():
        for parameter_name, parameter in whole.named_parameters():
            parameter.copy_(initial_weight(parameter_name, parameter.shape, 0, model.initializer_range))
        if model.tied:
            # A single layer has a table of its own.
            whole.lm_head.weight = torch.nn.Parameter(
                initial_weight("lm_head.weight", whole.lm_head.weight.shape, 0, model.initializer_range)
            )
        torch.testing.assert_close(x, whole(input_ids=ids).logits)


@pytest.mark.parametrize("tp", [1, 2, 4])
@pytest.mark.parametrize("index", [0, 1, 5])
def test_a_shard_holds_what_the_cost_model_counts(index: int, tp: int) -> None:
    layers = {
        0: Embedding(vocab=256, hidden=64),
        1: dense_block(hidden=64, num_heads=8, num_kv_heads=4, head_dim=8, ffn_hidden=128),
        5: Head(vocab=256, hidden=64),
    }
    shard = HFCausalLM(TINY_LLAMA).build_layer(index, tp, CPU, torch.bfloat16)
    assert sum(parameter.numel() for parameter in shard.parameters()) == layers[index].num_params(Shards(tp=tp))
    assert {parameter.dtype for parameter in shard.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("index", [0, 1, 5])
def test_a_layer_can_be_timed_forward_and_backward(index: int) -> None:
    model = HFCausalLM(TINY_LLAMA)
    layer = model.build_layer(index, tp=2, device=CPU, dtype=torch.bfloat16)
    x = model.example_input(index, micro_batch=2, seq_len=16, device=CPU, dtype=torch.bfloat16)
    output = layer(x)
    loss = model.loss(output, torch.zeros(2, 16, dtype=torch.int64)) if index == 5 else output.sum()
    loss.backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    assert (x.grad is not None) == (index > 0)


def test_a_stage_keeps_the_names_of_the_whole_model() -> None:
    names = {name for name, _ in HFCausalLM(TINY_LLAMA).build_stage(range(3, 6)).parameters_by_name()}
    assert "model.layers.3.mlp.up_proj.weight" in names
    assert {name.split(".")[2] for name in names if "layers" in name} == {"2", "3"}
    assert {"model.norm.weight", "lm_head.weight"} < names
    assert "model.embed_tokens.weight" not in names


@pytest.mark.parametrize(
    "plan",
    [tiny_plan(), tiny_plan(tp=2), tiny_plan(dp=2, zero=3), tiny_plan(pp=2), tiny_plan(tp=2, dp=2, zero=1)],
    ids=["1", "tp2", "dp2-zero3", "pp2", "tp2-dp2-zero1"],
)
def test_every_layout_starts_from_the_same_weights(ranks: Ranks, plan: Plan) -> None:
    seen = ranks(plan.num_ranks).call(initial_weights, plan, TINY_LLAMA)
    names = {name for weights in seen for name in weights}
    assert len(names) == 1 + 4 * 9 + 2
    for weights in seen:
        for name, weight in weights.items():
            assert torch.equal(weight, initial_weight(name, weight.shape, SEED, TINY_LLAMA["initializer_range"]))


def test_initial_weights_differ_by_name_and_seed_and_are_those_of_transformers() -> None:
    shape = torch.Size((200, 300))
    weight = initial_weight("a.weight", shape, 0, 0.02)
    assert not torch.equal(weight, initial_weight("b.weight", shape, 0, 0.02))
    assert not torch.equal(weight, initial_weight("a.weight", shape, 1, 0.02))
    # 60,000 normal numbers: their standard deviation is within 1 % with certainty for practical purposes.
    assert weight.std().item() == pytest.approx(0.02, rel=0.01)
    assert torch.equal(initial_weight("norm.weight", torch.Size((4,)), 0, 0.02), torch.ones(4))
    assert torch.equal(initial_weight("q_proj.bias", torch.Size((4,)), 0, 0.02), torch.zeros(4))


def test_the_seed_of_a_parameter_is_the_same_on_every_computer() -> None:
    # The first 8 bytes of sha256("0/a.weight"), big-endian, without their lowest bit.
    assert parameter_seed(0, "a.weight") == SEED_OF_A


@pytest.mark.slow
@pytest.mark.parametrize("tp", [1, 2])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "llama"])
def test_every_family_trains_like_transformers(ranks: Ranks, name: str, tp: int) -> None:
    reference: Reference = reference_step(FAMILIES[name])
    plan = tiny_plan(tp=tp, dp=2, zero=2, micro_batch=2)
    seen = ranks(plan.num_ranks).call(train_layout, plan, FAMILIES[name], Precision.FP32, 1)
    for rank in seen:
        assert set(rank.gradients) == set(reference.gradients)
        for parameter, gradient in rank.gradients.items():
            expected = reference.gradients[parameter]
            # Biases of keys have no gradient but rounding: softmax does not see a shift of all scores.
            scale = max(expected.abs().max().item(), 1e-4)
            assert (gradient - expected).abs().max().item() / scale < 1e-5, parameter


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"architectures": ["GPT2LMHeadModel"]},
            "'GPT2LMHeadModel', but the executor trains only Llama",
        ),
        ({"architectures": ["LlamaModel"]}, "architectures is 'LlamaModel', but the executor trains only Llama"),
        ({"architectures": None, "model_type": "gpt2"}, "model_type is 'gpt2', but the executor trains only Llama"),
        ({"hidden_size": "wide"}, "transformers cannot use it"),
        ({"hidden_size": 65}, "transformers cannot use it"),
    ],
)
def test_a_config_that_cannot_be_built_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInputError, match=sentence):
        HFCausalLM(TINY_LLAMA | change)


def test_tensor_parallelism_must_divide() -> None:
    with pytest.raises(BadInputError, match="tp is 3, but the config's num_attention_heads is 8; tp must divide it"):
        HFCausalLM(TINY_LLAMA).check_divides(3)
    with pytest.raises(BadInputError, match="num_key_value_heads is 4"):
        HFCausalLM(TINY_LLAMA).build_layer(1, 8, CPU, torch.float32)


def test_a_sliding_window_shorter_than_the_sequence_is_refused() -> None:
    model = HFCausalLM(FAMILIES["mistral"])
    model.check_sequence(4096)
    with pytest.raises(BadInputError, match="sliding_window is 4096, but seq_len is 4097"):
        model.check_sequence(4097)
