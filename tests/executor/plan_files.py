"""Small models, plans and plan files for the executor's tests."""

from __future__ import annotations

from typing import Any

from costmodel.spec import (
    ClusterSpec,
    Device,
    DeviceKind,
    LinkKind,
    Plan,
    PlanFile,
    Precision,
    Recompute,
    Source,
    Tier,
    Workload,
)
from costmodel.stacks.native import NATIVE_CPU
from planner.models.read import read_model
from tests.samples.stand_ins import even_cut, stand_in_plan_file

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
    cut = choices.pop("cut", even_cut(num_blocks + 2, choices.get("pp", 1)))
    modes = (Recompute.NONE, *[recompute] * num_blocks, Recompute.NONE)
    return Plan(framework="native", cut=cut, recompute_layers=modes, **choices)


def tiny_workload(precision: Precision = Precision.FP32, global_batch: int = GLOBAL_BATCH) -> Workload:
    return Workload(global_batch=global_batch, seq_len=SEQ_LEN, precision=precision)


def plan_file(plan: Plan, hf_config: dict[str, Any] = TINY_LLAMA, workload: Workload | None = None) -> PlanFile:
    """A plan file as `solve` writes it, for a computer with CPU ranks."""
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
    return stand_in_plan_file(
        plan,
        hf_config=hf_config,
        model=read_model(hf_config, "config", "tiny"),
        workload=workload or tiny_workload(),
        cluster=ClusterSpec.uniform(name="here", device=device, num_devices=plan.num_ranks, tiers=(link,)),
        stack=NATIVE_CPU,
    )
