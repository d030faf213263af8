"""Small values for the tests of frameworks: a model, a job, a cluster, plans and plan files made of them."""

from __future__ import annotations

from typing import Any

from costmodel import stacks
from costmodel.spec import (
    ClusterSpec,
    Device,
    DeviceKind,
    Embedding,
    Head,
    LayerRun,
    LinkKind,
    ModelSpec,
    Part,
    Plan,
    PlanFile,
    Precision,
    Recompute,
    Source,
    Tier,
    Workload,
)
from tests.samples.blocks import dense_block
from tests.samples.stand_ins import even_cut, stand_in_plan_file

HF_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "initializer_range": 0.02,
}


def sample_model(
    num_layers: int = 4,
    tied: bool = False,
    vocab: int = 512,
    architecture: str = "LlamaForCausalLM",
    runs: tuple[LayerRun, ...] = (),
    **block: Any,
) -> ModelSpec:
    """A Llama of width 64 with 8 heads and 4 key-value heads; `block` overrides fields of its blocks, `runs` all."""
    shape = {"hidden": 64, "num_heads": 8, "num_kv_heads": 4, "head_dim": 8, "ffn_hidden": 160} | block
    return ModelSpec(
        name="tiny",
        architecture=architecture,
        runs=runs
        or (
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=vocab, hidden=64)),
            LayerRun(part=Part.BLOCKS, layer=dense_block(**shape), count=num_layers),
            LayerRun(part=Part.HEAD, layer=Head(vocab=vocab, hidden=64, tied=tied)),
        ),
        max_seq_len=256,
    )


def sample_workload(global_batch: int = 8, seq_len: int = 128, precision: Precision = Precision.BF16) -> Workload:
    return Workload(global_batch=global_batch, seq_len=seq_len, precision=precision)


def sample_plan(framework: str, num_layers: int = 4, full: tuple[int, ...] = (), **choices: Any) -> Plan:
    """A plan over `num_layers` blocks with an even cut unless `cut` is given; layers in `full` are recomputed."""
    even = even_cut(num_layers + 2, choices.get("pp", 1))
    modes = tuple(Recompute.FULL if layer in full else Recompute.NONE for layer in range(num_layers + 2))
    return Plan(**{"framework": framework, "cut": even, "recompute_layers": modes} | choices)


def sample_cluster(num_devices: int, per_node: int = 8, kind: DeviceKind = DeviceKind.CUDA) -> ClusterSpec:
    link = {"link": LinkKind.NVLINK, "bandwidth_bytes_per_s": 1e11, "latency_s": 1e-6, "source": Source.ASSUMED}
    return ClusterSpec.uniform(
        name="sample",
        device=Device(
            name="sample device",
            kind=kind,
            peak_flop_per_s={Precision.BF16: 1e15, Precision.FP32: 1e14},
            gemm_efficiency_frac=0.8,
            attention_efficiency_frac=0.5,
            memory_bytes=80 * 2**30,
            mem_bandwidth_bytes_per_s=3e12,
            source=Source.ASSUMED,
        ),
        num_devices=num_devices,
        tiers=(
            Tier(name="node", num_devices=per_node, **link),
            Tier(name="cluster", num_devices=65536, **link),
        ),
    )


def sample_plan_file(
    plan: Plan,
    model: ModelSpec | None = None,
    workload: Workload | None = None,
    cluster: ClusterSpec | None = None,
    hf_config: dict[str, Any] | None = None,
) -> PlanFile:
    """A plan file whose prediction and stack play no part in what is tested."""
    return stand_in_plan_file(
        plan,
        hf_config=HF_CONFIG if hf_config is None else hf_config,
        model=model or sample_model(),
        workload=workload or sample_workload(),
        cluster=cluster or sample_cluster(plan.num_ranks),
        stack=stacks.get("megatron-core"),
    )
