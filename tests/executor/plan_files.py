"""Small models, plans and plan files for the executor's tests."""

from __future__ import annotations

from typing import Any

from costmodel.spec import (
    ClusterSpec,
    DenseBlock,
    Device,
    DeviceKind,
    Embedding,
    Head,
    LayerRun,
    LinkKind,
    MemoryItem,
    ModelSpec,
    Plan,
    PlanFile,
    Precision,
    Prediction,
    Recompute,
    Source,
    StageMemory,
    Tier,
    TimeTerm,
    Verdict,
    Workload,
)
from costmodel.stacks.native import NATIVE_CPU

TINY_LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 256,
    "initializer_range": 0.02,
    "tie_word_embeddings": False,
}
SEQ_LEN = 32
GLOBAL_BATCH = 8


def tiny_plan(recompute: Recompute = Recompute.NONE, num_blocks: int = 4, **choices: Any) -> Plan:
    """A native plan of the tiny model, its layers cut into equal stages where `cut` is not given."""
    pp = choices.get("pp", 1)
    share, rest = divmod(num_blocks + 2, pp)
    cut = choices.pop("cut", tuple(share + (stage < rest) for stage in range(pp)))
    modes = (Recompute.NONE, *[recompute] * num_blocks, Recompute.NONE)
    return Plan(framework="native", cut=cut, recompute_layers=modes, **choices)


def tiny_workload(precision: Precision = Precision.FP32, global_batch: int = GLOBAL_BATCH) -> Workload:
    return Workload(global_batch=global_batch, seq_len=SEQ_LEN, precision=precision)


def plan_file(plan: Plan, hf_config: dict[str, Any] = TINY_LLAMA, workload: Workload | None = None) -> PlanFile:
    """A plan file as `solve` writes it, for a computer with CPU ranks."""
    block = DenseBlock(
        hidden=hf_config["hidden_size"],
        num_heads=hf_config["num_attention_heads"],
        num_kv_heads=hf_config["num_key_value_heads"],
        head_dim=hf_config["hidden_size"] // hf_config["num_attention_heads"],
        ffn_hidden=hf_config["intermediate_size"],
    )
    vocab, hidden = hf_config["vocab_size"], hf_config["hidden_size"]
    model = ModelSpec(
        name="tiny",
        architecture="LlamaForCausalLM",
        runs=(
            LayerRun(layer=Embedding(vocab=vocab, hidden=hidden)),
            LayerRun(layer=block, count=hf_config["num_hidden_layers"]),
            LayerRun(layer=Head(vocab=vocab, hidden=hidden)),
        ),
    )
    device = Device(
        name="cpu",
        kind=DeviceKind.CPU,
        peak_flop_per_s={Precision.FP32: 1e11, Precision.BF16: 1e11},
        gemm_efficiency_frac=0.5,
        attention_efficiency_frac=0.5,
        memory_bytes=8 << 30,
        mem_bandwidth_bytes_per_s=1e10,
        source=Source.ASSUMED,
    )
    link = Tier(
        name="node",
        num_devices=plan.num_ranks,
        link=LinkKind.SHARED_MEMORY,
        bandwidth_bytes_per_s=1e9,
        latency_s=1e-4,
        source=Source.ASSUMED,
    )
    return PlanFile(
        hf_config=hf_config,
        model=model,
        workload=workload or tiny_workload(),
        cluster=ClusterSpec(name="here", device=device, num_devices=plan.num_ranks, tiers=(link,)),
        stack=NATIVE_CPU,
        profile=None,
        plan=plan,
        prediction=_prediction(plan),
        certificate=None,
        input_hashes={},
        versions={},
        created="2026-01-01T00:00:00+00:00",
    )


def _prediction(plan: Plan) -> Prediction:
    size_bytes = 1 << 20
    item = MemoryItem(
        name="weights",
        steady_bytes=size_bytes,
        first_step_bytes=size_bytes,
        checkpoint_bytes=size_bytes,
        source=Source.ANALYTIC,
    )
    return Prediction(
        plan_id=plan.plan_id,
        step_time_s=1.0,
        step_time_low_s=1e-6,
        step_time_high_s=1e6,
        tokens_per_s_per_gpu=1.0,
        mfu_frac=0.1,
        bubble_frac=0.0,
        terms=(TimeTerm(name="compute", time_s=1.0, source=Source.ASSUMED),),
        stages=tuple(StageMemory(stage=stage, items=(item,)) for stage in range(plan.pp)),
        peak_memory_bytes=size_bytes,
        peak_memory_low_bytes=size_bytes,
        peak_memory_high_bytes=size_bytes,
        peak_stage=0,
        memory_limit_bytes=8 << 30,
        verdict=Verdict.FITS,
        source=Source.ASSUMED,
        interval_note="wide enough for any computer",
    )
