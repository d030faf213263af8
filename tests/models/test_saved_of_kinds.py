"""What blocks keep for backward against what autograd keeps of real blocks of transformers, on tensors without values.

The stack is the one that fuses nothing, precision bf16, dropout off. Left out, with the reason: state-space layers and
linear attention (Mamba, Mamba-2, Qwen 3-Next, MiniMax-01, Kimi Linear), ALiBi (BLOOM) and attention to picked keys
(DeepSeek-V3.2) are priced as fused kernels (`costmodel.capability` says so to the user), while transformers without
those packages writes them out; and Llama 4, whose class sends every token through every expert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from costmodel.spec import Block, Part
from costmodel.spec.shards import WHOLE
from costmodel.stacks import NATIVE_CUDA
from planner.models.read import read_model
from profiler.tracing.attention import recorded_attention
from profiler.tracing.fake import fake_mode, to_fake
from profiler.tracing.recorder import MAX_CALLS, Recorder
from profiler.tracing.stacks import stacks
from profiler.tracing.transformers_model import build
from profiler.tracing.whole_model import Pass, record_pass

SEQ_LEN, HIDDEN = 128, 256
SOURCE_LEN = 96
"""Tokens of an encoder, so that a length that is taken for the other shows."""
TOLERANCE = 0.05
VALUE_BYTES = 2
DECODER: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 640,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS: dict[str, Any] = {
    **DECODER,
    "num_experts": 8,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 192,
}
LATENT: dict[str, Any] = {
    **{key: value for key, value in DECODER.items() if key != "head_dim"},
    "num_key_value_heads": 4,
    "q_lora_rank": 96,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 192,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
GEMMA4 = {
    **DECODER,
    "hidden_size_per_layer_input": 32,
    "vocab_size_per_layer_input": 100,
    "num_kv_shared_layers": 0,
    "global_head_dim": 64,
    "layer_types": ["sliding_attention", "full_attention"],
}
FALCON = {
    **{key: DECODER[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")},
    "bias": False,
    "alibi": False,
}
GLM = {**EXPERTS, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1}
GPT2 = {"n_embd": HIDDEN, "n_layer": 2, "n_head": 4, "vocab_size": 100}
PLAIN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
VIT = {**DECODER, **PLAIN, "image_size": 128, "patch_size": 16}
T5 = {"d_model": HIDDEN, "d_ff": 640, "d_kv": 64, "num_heads": 4, "num_layers": 2, "vocab_size": 100}
TOWER = {key: DECODER[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
CLIP = {"vision_config": {**TOWER, "image_size": 128, "patch_size": 16}, "text_config": {**DECODER, **TOWER}}
TOWERS = {
    f"{tower}_{size}": value
    for tower in ("encoder", "decoder")
    for size, value in {"layers": 2, "attention_heads": 4, "ffn_dim": 640}.items()
}
WHISPER = {
    **TOWERS,
    "d_model": HIDDEN,
    "vocab_size": 100,
    "num_mel_bins": 8,
    "max_source_positions": SOURCE_LEN,
    "max_target_positions": SEQ_LEN,
    "pad_token_id": 0,
    "decoder_start_token_id": 1,
    "dropout": 0.0,
}


def ids(length: int = SEQ_LEN) -> Tensor:
    return torch.zeros(1, length, dtype=torch.int64)


def tokens() -> dict[str, Tensor]:
    return {"input_ids": ids()}


def both() -> dict[str, Tensor]:
    return {"input_ids": ids(SOURCE_LEN), "decoder_input_ids": ids()}


def image() -> dict[str, Tensor]:
    return {"pixel_values": torch.zeros(1, 3, 128, 128, dtype=torch.bfloat16)}


def captioned() -> dict[str, Tensor]:
    return image() | tokens()


def sound() -> dict[str, Tensor]:
    features = torch.zeros(1, 8, 2 * SOURCE_LEN, dtype=torch.bfloat16)
    return {"input_features": features, "decoder_input_ids": ids()}


@dataclass(frozen=True)
class Case:
    """A class of transformers with its sizes; one block of `part` is compared, the last one unless told otherwise."""

    architecture: str
    model_type: str
    sizes: dict[str, Any]
    inputs: Callable[[], dict[str, Tensor]] = field(default=tokens)
    part: Part = Part.BLOCKS
    num_tokens: int = SEQ_LEN
    block: int = -1

    def __str__(self) -> str:
        return f"{self.architecture}-{self.part}-{self.block}"


CASES = (
    Case("LlamaForCausalLM", "llama", DECODER),
    Case("Qwen3ForCausalLM", "qwen3", DECODER),
    Case("GPT2LMHeadModel", "gpt2", {**GPT2, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}),
    Case("PhiForCausalLM", "phi", {**DECODER, "num_key_value_heads": 4}),
    Case("Phi3ForCausalLM", "phi3", DECODER),
    Case("GPTNeoXForCausalLM", "gpt_neox", DECODER),
    Case("OPTForCausalLM", "opt", {**DECODER, "ffn_dim": 640, "word_embed_proj_dim": HIDDEN, "dropout": 0.0}),
    Case("Gemma2ForCausalLM", "gemma2", DECODER),
    Case("Gemma3ForCausalLM", "gemma3_text", DECODER),
    Case("Gemma4ForCausalLM", "gemma4_text", GEMMA4),
    Case("Olmo2ForCausalLM", "olmo2", DECODER),
    Case("OlmoForCausalLM", "olmo", DECODER),
    Case("StableLmForCausalLM", "stablelm", {**DECODER, "qk_layernorm": True}),
    Case("ApertusForCausalLM", "apertus", DECODER),
    Case("CohereForCausalLM", "cohere", {**DECODER, "use_qk_norm": True}),
    *(
        Case("FalconForCausalLM", "falcon", {**FALCON, **version})
        for version in (
            {"multi_query": True, "parallel_attn": True},
            {"multi_query": False, "parallel_attn": False},
            {"new_decoder_architecture": True, "num_kv_heads": 2},
        )
    ),
    Case("BertForMaskedLM", "bert", {**DECODER, **PLAIN}),
    Case("ModernBertForMaskedLM", "modernbert", DECODER),
    Case("CLIPModel", "clip", CLIP, captioned),
    Case("T5ForConditionalGeneration", "t5", {**T5, "dropout_rate": 0.0}, both, Part.ENCODER, SOURCE_LEN),
    Case("T5ForConditionalGeneration", "t5", {**T5, "dropout_rate": 0.0}, both),
    Case("T5ForConditionalGeneration", "t5", {**T5, "dropout_rate": 0.0}, both, block=0),
    Case("UMT5ForConditionalGeneration", "umt5", {**T5, "dropout_rate": 0.0}, both),
    # 128 / 16 squared patches and a class token.
    Case("ViTForImageClassification", "vit", VIT, image, num_tokens=65),
    Case("WhisperForConditionalGeneration", "whisper", WHISPER, sound, Part.ENCODER, SOURCE_LEN),
    Case("WhisperForConditionalGeneration", "whisper", WHISPER, sound),
    Case("MixtralForCausalLM", "mixtral", EXPERTS),
    Case("Qwen3MoeForCausalLM", "qwen3_moe", EXPERTS),
    # A block of experts behind a dense one.
    Case("DeepseekV3ForCausalLM", "deepseek_v3", LATENT),
    Case("DeepseekV3ForCausalLM", "deepseek_v3", {**LATENT, "first_k_dense_replace": 2}),
    Case("GptOssForCausalLM", "gpt_oss", EXPERTS),
    Case("Qwen2MoeForCausalLM", "qwen2_moe", {**EXPERTS, "shared_expert_intermediate_size": 192}),
    Case("Gemma4ForCausalLM", "gemma4_text", {**EXPERTS, **GEMMA4, "enable_moe_block": True, "top_k_experts": 2}),
    Case("Glm4MoeForCausalLM", "glm4_moe", {**GLM, "first_k_dense_replace": 1}),
    Case("Dots1ForCausalLM", "dots1", {**GLM, "first_k_dense_replace": 1}),
    Case("FlexOlmoForCausalLM", "flex_olmo", EXPERTS),
)


def config_of(case: Case) -> dict[str, Any]:
    return {"architectures": [case.architecture], "model_type": case.model_type, **case.sizes}


def traced(case: Case) -> int:
    """Bytes that autograd keeps of the block; stacks run in the order of the model."""
    with recorded_attention() as attention:
        model = build(config_of(case), "here")
        blocks = stacks(model)

        def run(recorder: Recorder) -> None:
            attention.recorder = recorder
            model(**case.inputs())

        with fake_mode():
            to_fake(model)
            recorded: Pass = record_pass(model.train(), blocks, MAX_CALLS, run)[0]
    stretch = recorded.stretches[0 if case.part is Part.ENCODER else -1]
    return stretch[case.block].work.saved_bytes


def counted(case: Case) -> int:
    """Bytes that the cost model says the same block keeps."""
    runs = read_model(config_of(case), "here", "small").runs
    block = [run.layer for run in runs if run.part is case.part and isinstance(run.layer, Block)][case.block]
    cross = block.cross_attention
    if cross is not None and cross.source_len is None:
        # Configs of encoders for text say nothing of its length.
        block = block.model_copy(update={"cross_attention": cross.model_copy(update={"source_len": SOURCE_LEN})})
    return block.saved(1, case.num_tokens, WHOLE, NATIVE_CUDA).size_bytes(VALUE_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_block_keeps_what_autograd_keeps(case: Case) -> None:
    assert counted(case) == pytest.approx(traced(case), rel=TOLERANCE)
