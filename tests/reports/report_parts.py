"""Parts of plan files with plausible numbers: models, clusters, plans and predictions."""

from __future__ import annotations

from costmodel.spec import (
    ClusterSpec,
    Device,
    DeviceKind,
    Embedding,
    Head,
    LayerRun,
    LinkKind,
    MemoryItem,
    ModelSpec,
    Part,
    Plan,
    Precision,
    Prediction,
    Provenance,
    Recompute,
    Source,
    StageMemory,
    Tier,
    TimeTerm,
    Verdict,
)
from tests.samples.blocks import dense_block

GIB = 2**30
MIB = 2**20


def model(name: str, num_layers: int, hidden: int, ffn: int, heads: int, kv_heads: int, vocab: int) -> ModelSpec:
    block = dense_block(hidden=hidden, num_heads=heads, num_kv_heads=kv_heads, head_dim=hidden // heads, ffn_hidden=ffn)
    return ModelSpec(
        name=name,
        architecture="LlamaForCausalLM",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=vocab, hidden=hidden)),
            LayerRun(part=Part.BLOCKS, layer=block, count=num_layers),
            LayerRun(part=Part.HEAD, layer=Head(vocab=vocab, hidden=hidden)),
        ),
        max_seq_len=8192,
    )


def h100s(num_devices: int) -> ClusterSpec:
    device = Device(
        name="NVIDIA H100 80GB HBM3",
        kind=DeviceKind.CUDA,
        peak_flop_per_s={Precision.BF16: 989.4e12, Precision.FP32: 66.9e12},
        gemm_efficiency_frac=0.75,
        attention_efficiency_frac=0.6,
        memory_bytes=80 * GIB,
        memory_reserved_bytes=819 * MIB,
        mem_bandwidth_bytes_per_s=3.35e12,
        source=Source.ANALYTIC,
        note="dense figures of the data sheet",
    )
    return ClusterSpec.uniform(
        name="h100-sxm",
        device=device,
        num_devices=num_devices,
        tiers=(
            Tier(
                name="node",
                num_devices=8,
                link=LinkKind.NVLINK,
                bandwidth_bytes_per_s=450e9,
                latency_s=3e-6,
                source=Source.ANALYTIC,
                note="NVLink 4, 18 links",
            ),
            Tier(
                name="cluster",
                num_devices=max(16, num_devices),
                link=LinkKind.INFINIBAND,
                bandwidth_bytes_per_s=50e9,
                latency_s=8e-6,
                source=Source.ASSUMED,
                note="one 400 Gbit/s port a GPU",
            ),
        ),
    )


def two_cpu_ranks() -> ClusterSpec:
    device = Device(
        name="Example CPU, 1 core a rank",
        kind=DeviceKind.CPU,
        peak_flop_per_s={Precision.FP32: 110e9},
        gemm_efficiency_frac=1.0,
        attention_efficiency_frac=0.5,
        memory_bytes=4 * GIB,
        mem_bandwidth_bytes_per_s=9e9,
        source=Source.MEASURED,
    )
    tier = Tier(
        name="host",
        num_devices=2,
        link=LinkKind.SHARED_MEMORY,
        bandwidth_bytes_per_s=1.4e9,
        latency_s=60e-6,
        source=Source.MEASURED,
    )
    return ClusterSpec.uniform(name="this computer", device=device, num_devices=2, tiers=(tier,))


def plan(num_layers: int, *, num_full: int = 0, framework: str = "megatron", **degrees: object) -> Plan:
    """A plan with an even cut (embedding with the first stage, head with the last) and `num_full` blocks recomputed."""
    pp = int(str(degrees.get("pp", 1)))
    cut = [num_layers // pp] * pp
    cut[0] += 1
    cut[-1] += 1
    modes = [Recompute.FULL] * num_full + [Recompute.NONE] * (num_layers - num_full)
    return Plan.model_validate(
        {
            "framework": framework,
            "cut": tuple(cut),
            "recompute_layers": (Recompute.NONE, *modes, Recompute.NONE),
            **degrees,
        }
    )


def item(
    name: str, steady: float, first: float | None = None, save: float | None = None, *, scale: int = GIB
) -> MemoryItem:
    return MemoryItem(
        name=name,
        steady_bytes=round(steady * scale),
        first_step_bytes=round((steady if first is None else first) * scale),
        checkpoint_bytes=round((steady if save is None else save) * scale),
        source=Source.ANALYTIC,
    )


def prediction(
    for_plan: Plan,
    step_time_s: float,
    terms: tuple[TimeTerm, ...],
    stages: tuple[StageMemory, ...],
    limit_bytes: int,
    *,
    interval_frac: float = 0.14,
    tokens_per_s_per_gpu: float = 12300,
    mfu_frac: float = 0.412,
    bubble_frac: float = 0.0,
) -> Prediction:
    peak = max(stages, key=lambda stage: stage.peak_bytes)
    low, high = round(peak.peak_bytes * 0.95), round(peak.peak_bytes * 1.08)
    fits = Verdict.FITS if high <= limit_bytes else Verdict.TIGHT if low <= limit_bytes else Verdict.DOES_NOT_FIT
    return Prediction(
        plan_id=for_plan.plan_id,
        step_time_s=step_time_s,
        step_time_low_s=step_time_s * (1 - interval_frac),
        step_time_high_s=step_time_s * (1 + interval_frac),
        tokens_per_s_per_gpu=tokens_per_s_per_gpu,
        mfu_frac=mfu_frac,
        bubble_frac=bubble_frac,
        terms=terms,
        stages=stages,
        peak_memory_bytes=peak.peak_bytes,
        peak_memory_low_bytes=low,
        peak_memory_high_bytes=high,
        peak_stage=peak.stage,
        memory_limit_bytes=limit_bytes,
        verdict=fits,
        source=Source.ANALYTIC,
        interval_note="residuals on published runs that were not used to fit.",
    )


def term(name: str, time_s: float, source: Source = Source.ANALYTIC, note: str = "") -> TimeTerm:
    return TimeTerm(name=name, time_s=time_s, source=source, note=note)


def provenance() -> Provenance:
    return Provenance(
        device="Example CPU",
        driver="Linux 6.1",
        backend="gloo",
        versions={"torch": "2.13.0", "python": "3.11.2"},
        date="2025-01-02T03:04:05Z",
        num_ranks=2,
        threads_per_rank=1,
    )
