"""FLOP of the layer kinds against torch's own counter, on one real block of transformers for each kind.

The counter counts attention in full, whatever its mask, as `full_flop` does; the causal half is stated beside it. On
tensors without values attention is written out as two multiplications, so that its backward pass counts twice its
forward pass, as that of every other multiplication. A fused kernel computes the scores once more: 2.5 times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from costmodel.spec import Block, Part
from costmodel.spec.operations import Convolution, DotProductAttention, Scan
from planner.models.read import read_model

BATCH, SEQ_LEN, HIDDEN = 2, 64, 64
SOURCE_LEN = 40
"""Tokens of the stream that cross-attention looks at, so that a length that is taken for the other shows."""
TOLERANCE = 0.01
DECODER: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT: dict[str, Any] = {
    **DECODER,
    "num_key_value_heads": 8,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 32,
    "n_group": 1,
    "topk_group": 1,
}


@dataclass(frozen=True)
class Case:
    """A class of transformers, its sizes, where its block stands, and what the block is called with."""

    architecture: str
    model_type: str
    sizes: dict[str, Any]
    path: str
    part: Part = Part.BLOCKS
    num_tokens: int = SEQ_LEN
    arguments: Callable[[], dict[str, Any]] = field(default=dict)


def values(*shape: int) -> Tensor:
    return torch.empty(shape, device="meta", dtype=torch.bfloat16, requires_grad=True)


def rotary(head_dim: int = 8) -> dict[str, Any]:
    table = torch.empty(1, SEQ_LEN, head_dim, device="meta", dtype=torch.bfloat16)
    return {"position_embeddings": (table, table), "attention_mask": None}


def causal_mask() -> Tensor:
    return torch.ones(1, 1, SEQ_LEN, SEQ_LEN, device="meta", dtype=torch.bool)


def whisper_sizes() -> dict[str, Any]:
    towers = {f"{tower}_{size}": value for tower in ("encoder", "decoder") for size, value in _WHISPER.items()}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    lengths = {"max_source_positions": SOURCE_LEN, "max_target_positions": SEQ_LEN}
    return {"d_model": HIDDEN, "vocab_size": 100, "num_mel_bins": 8, **towers, **ids, **lengths}


_WHISPER = {"layers": 1, "attention_heads": 8, "ffn_dim": 96}
CASES = (
    Case("LlamaForCausalLM", "llama", DECODER, "model.layers.0", arguments=rotary),
    Case("Qwen3ForCausalLM", "qwen3", {**DECODER, "head_dim": 8}, "model.layers.0", arguments=rotary),
    Case(
        "GPT2LMHeadModel", "gpt2", {"n_embd": HIDDEN, "n_layer": 1, "n_head": 8, "vocab_size": 100}, "transformer.h.0"
    ),
    Case(
        "FalconForCausalLM",
        "falcon",
        {
            "hidden_size": HIDDEN,
            "num_hidden_layers": 1,
            "num_attention_heads": 8,
            "multi_query": True,
            "parallel_attn": True,
            "new_decoder_architecture": False,
            "alibi": False,
            "bias": False,
            "vocab_size": 100,
        },
        "transformer.h.0",
        arguments=lambda: {**rotary(), "alibi": None},
    ),
    Case("BertForMaskedLM", "bert", DECODER, "bert.encoder.layer.0"),
    Case(
        "T5ForConditionalGeneration",
        "t5",
        {"d_model": HIDDEN, "d_ff": 96, "d_kv": 8, "num_heads": 8, "num_layers": 1, "vocab_size": 100},
        "decoder.block.0",
        arguments=lambda: {"encoder_hidden_states": values(BATCH, SOURCE_LEN, HIDDEN)},
    ),
    # 32 / 8 squared patches and a class token.
    Case(
        "ViTForImageClassification",
        "vit",
        {**DECODER, "image_size": 32, "patch_size": 8},
        "vit.layers.0",
        num_tokens=17,
    ),
    Case(
        "WhisperForConditionalGeneration",
        "whisper",
        whisper_sizes(),
        "model.encoder.layers.0",
        part=Part.ENCODER,
        num_tokens=SOURCE_LEN,
        arguments=lambda: {"attention_mask": None},
    ),
    Case(
        "WhisperForConditionalGeneration",
        "whisper",
        whisper_sizes(),
        "model.decoder.layers.0",
        arguments=lambda: {"attention_mask": None, "encoder_hidden_states": values(BATCH, SOURCE_LEN, HIDDEN)},
    ),
    # Latent attention, before a dense network and before experts with one that all tokens meet.
    *(
        Case(
            "DeepseekV3ForCausalLM",
            "deepseek_v3",
            {**LATENT, "first_k_dense_replace": num_dense},
            "model.layers.0",
            arguments=lambda: rotary(4),
        )
        for num_dense in (1, 0)
    ),
    # Latent attention with an indexer, which runs without gradients.
    Case(
        "DeepseekV32ForCausalLM",
        "deepseek_v32",
        {**LATENT, "first_k_dense_replace": 1, "index_n_heads": 4, "index_head_dim": 16, "index_topk": 8},
        "model.layers.0",
        arguments=lambda: rotary(4) | {"attention_mask": causal_mask()},
    ),
    Case(
        "MixtralForCausalLM",
        "mixtral",
        {**DECODER, "num_local_experts": 8, "num_experts_per_tok": 2},
        "model.layers.0",
        arguments=rotary,
    ),
    Case(
        "Qwen2MoeForCausalLM",
        "qwen2_moe",
        {
            **DECODER,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 48,
        },
        "model.layers.0",
        arguments=rotary,
    ),
)


def counted(case: Case) -> tuple[float, float]:
    """FLOP forward and backward of the block of transformers, as torch counts them."""
    import transformers

    kind = getattr(transformers, case.architecture)
    config = kind.config_class(**case.sizes)
    with torch.device("meta"):
        # Weights of experts are multiplied in groups in bf16 only.
        model = kind._from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
        block = model.get_submodule(case.path)
        x = values(BATCH, case.num_tokens, HIDDEN)
        arguments = case.arguments()
        with FlopCounterMode(display=False, custom_mapping={torch.ops.aten._grouped_mm: grouped_flop}) as counter:
            output = block(x, **arguments)
            output = output[0] if isinstance(output, tuple) else output
            forward = counter.get_total_flops()
            output.backward(torch.empty_like(output))
    return forward, counter.get_total_flops() - forward


def grouped_flop(left: torch.Size, right: torch.Size, *_: object, **__: object) -> int:
    """Rows [m, k] with matrices [g, k, n], or for the gradient of those [k, m] with [m, n]: 2 m k n either way."""
    return 2 * left[0] * left[1] * right[-1]


def block_of(case: Case) -> Block:
    data = {"architectures": [case.architecture], "model_type": case.model_type, **case.sizes}
    model = read_model(data, "here", "small")
    block = next(run.layer for run in model.runs if run.part is case.part and isinstance(run.layer, Block))
    cross = block.cross_attention
    if cross is None or cross.source_len is not None:
        return block
    # Configs of T5 say nothing of the length of the other stream.
    return block.model_copy(update={"cross_attention": cross.model_copy(update={"source_len": SOURCE_LEN})})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.architecture}-{case.part}")
def test_forward_and_backward_flop_are_those_of_the_counter(case: Case) -> None:
    operations = block_of(case).operations(BATCH, case.num_tokens)
    assert not any(isinstance(operation, Scan | Convolution) for operation in operations)
    full = [(op, op.full_flop if isinstance(op, DotProductAttention) else op.flop) for op in operations]
    forward, backward = counted(case)
    assert sum(flop for _, flop in full) == pytest.approx(forward, rel=TOLERANCE)
    assert sum(op.num_gradients * flop for op, flop in full) == pytest.approx(backward, rel=TOLERANCE)
    for operation in operations:
        # A causal triangle is half of the square; what meets another stream, or is not causal, has no triangle.
        if isinstance(operation, DotProductAttention) and operation.window is None:
            assert operation.flop == operation.full_flop / (2 if operation.causal else 1)


def test_a_fused_attention_kernel_counts_two_and_a_half_times_in_backward() -> None:
    shape = (BATCH, 8, SEQ_LEN, 8)
    attention = DotProductAttention(BATCH, SEQ_LEN, SEQ_LEN, 8, 8, 8, 8)
    assert attention.full_flop == sdpa_flop_count(shape, shape, shape)
    assert sdpa_backward_flop_count(shape, shape, shape, shape) == 2.5 * attention.full_flop
