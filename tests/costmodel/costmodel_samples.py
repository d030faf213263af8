"""Round numbers for hand computation: one small model and one slow cluster, whose figures every comment starts from.

Block      hidden 8, 2 heads of 4 (queries 8 wide), 1 key-value head (4 wide), gated feed-forward network 16 wide.
           Parameters: 8 x (8 + 4 + 4) = 128, 8 x 8 = 64, 8 x 32 = 256, 16 x 8 = 128, two norms 16: 592.
Embedding  10 x 8 = 80 parameters.  Head: 80 + norm 8 = 88.
Workload   sequences of 4 tokens, bf16.
Device     1e6 FLOP/s in GEMMs (peak 2e6 x 0.5), 5e5 in attention (2e6 x 0.25), 1e6 bytes/s of memory traffic.
Links      node of 4: 1e6 bytes/s, 1 ms a hop; between nodes: 1e5 bytes/s, 10 ms.
"""

from __future__ import annotations

from typing import Any

from costmodel.setting import LayerView, Mesh, Setting
from costmodel.spec import (
    Block,
    ClusterSpec,
    Collective,
    CollectiveSample,
    Device,
    DeviceKind,
    Embedding,
    Head,
    Layer,
    LayerRun,
    LayerSample,
    LinkKind,
    ModelSpec,
    OptimizerSample,
    Part,
    Plan,
    Precision,
    Profile,
    Provenance,
    Recompute,
    Schedule,
    SoftwareStack,
    Source,
    Spread,
    Tier,
    Workload,
)
from tests.samples.blocks import dense_block

BLOCK = dense_block(hidden=8, num_heads=2, num_kv_heads=1, head_dim=4, ffn_hidden=16)
EMBEDDING = Embedding(vocab=10, hidden=8)
HEAD = Head(vocab=10, hidden=8)
LARGE_BYTES = 10**9


def model(num_blocks: int = 2, block: Block = BLOCK, head: Head = HEAD, **changes: Any) -> ModelSpec:
    runs = (
        LayerRun(part=Part.EMBEDDING, layer=EMBEDDING),
        LayerRun(part=Part.BLOCKS, layer=block, count=num_blocks),
        LayerRun(part=Part.HEAD, layer=head),
    )
    return ModelSpec(**{"name": "tiny", "architecture": "LlamaForCausalLM", "runs": runs} | changes)


def device(**changes: Any) -> Device:
    """Of a CPU, whose collectives go by a line; its figures count as measured, kernels reach 0.85 of the bandwidth."""
    figures = {
        "name": "slow",
        "kind": DeviceKind.CPU,
        "peak_flop_per_s": {Precision.BF16: 2e6, Precision.FP16: 2e6, Precision.FP32: 1e6},
        "gemm_efficiency_frac": 0.5,
        "attention_efficiency_frac": 0.25,
        "memory_bytes": LARGE_BYTES,
        "mem_bandwidth_bytes_per_s": 1e6 / 0.85,
        "source": Source.MEASURED,
    }
    return Device(**figures | changes)


def tier(num_devices: int, bandwidth_bytes_per_s: float, latency_s: float, source: Source = Source.ANALYTIC) -> Tier:
    return Tier(
        name=f"of {num_devices}",
        num_devices=num_devices,
        link=LinkKind.NVLINK,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        latency_s=latency_s,
        source=source,
    )


NODE = tier(4, 1e6, 1e-3)
BETWEEN_NODES = tier(1024, 1e5, 1e-2, Source.ASSUMED)


def cluster(num_devices: int = 4, *tiers: Tier, **device_changes: Any) -> ClusterSpec:
    return ClusterSpec.uniform(
        name="sample",
        device=device(**device_changes),
        num_devices=num_devices,
        tiers=tiers or (NODE, BETWEEN_NODES),
    )


def stack(**changes: Any) -> SoftwareStack:
    """Least traffic, no overlap, no host time; low-precision weights beside an fp32 copy; nothing fused."""
    figures = {
        "name": "plain",
        "elementwise_traffic_factor": 1.0,
        "norm_keeps_fp32_copy": False,
        "mlp_activation_fused": False,
        "grad_bytes_per_param": 4,
        "weights_stored_in_fp32": False,
        "reduces_whole_gradients_each_microbatch": False,
        "gathered_input_saved": False,
        "gradients_preallocated": False,
        "pipeline_buffer_per_microbatch": False,
        "logits_bytes_per_logit": {Precision.BF16: 4.0, Precision.FP16: 4.0, Precision.FP32: 8.0},
        "grad_reduce_overlap_frac": 0.0,
        "param_gather_overlap_frac": 0.0,
        "copies_around_sharded_weights": False,
        "recompute_stops_early": False,
        "launch_s_per_layer": 0.0,
        "tensor_dispatch_s_per_pass": 0.0,
        "step_overhead_s": 0.0,
    }
    return SoftwareStack(**figures | changes)


def workload(global_batch: int = 1, precision: Precision = Precision.BF16, seq_len: int = 4) -> Workload:
    return Workload(global_batch=global_batch, seq_len=seq_len, precision=precision)


def setting(**parts: Any) -> Setting:
    """The sample setting with `parts` replaced."""
    whole = {"model": model(), "workload": workload(), "cluster": cluster(), "stack": stack(), "profile": None}
    return Setting(**whole | parts)


def mesh(**degrees: Any) -> Mesh:
    whole = {"tp": 1, "pp": 1, "dp": 1, "zero": 0, "micro_batch": 1, "num_microbatches": 1, "schedule": Schedule.GPIPE}
    return Mesh(**whole | degrees)


def view(layer: Layer, of: Setting | None = None, **degrees: Any) -> LayerView:
    of = of or setting()
    return LayerView(of, mesh(**degrees), layer, of.workload.seq_len)


def plan(num_blocks: int = 2, full: tuple[int, ...] = (), **choices: Any) -> Plan:
    """One stage unless `cut` is given; layers in `full` are recomputed."""
    modes = tuple(Recompute.FULL if index in full else Recompute.NONE for index in range(num_blocks + 2))
    return Plan(**{"framework": "native", "cut": (num_blocks + 2,), "recompute_layers": modes} | choices)


def spread(median_s: float) -> Spread:
    return Spread(median_s=median_s, low_s=median_s / 2, high_s=median_s * 2, num_samples=5)


def layer_sample(layer: Layer, forward_s: float, backward_s: float, saved_bytes: int, **where: Any) -> LayerSample:
    """A sample of the whole layer at the sample workload unless `where` says otherwise."""
    whole = {"tp": 1, "micro_batch": 1, "seq_len": 4, "precision": Precision.BF16} | where
    passes = {"forward": spread(forward_s), "backward": spread(backward_s), "saved_bytes": saved_bytes}
    return LayerSample(layer=layer, **passes, **whole)


def collective_sample(op: Collective, num_ranks: int, size_bytes: int, time_s: float) -> CollectiveSample:
    return CollectiveSample(op=op, num_ranks=num_ranks, size_bytes=size_bytes, time=spread(time_s))


def profile(
    *layers: LayerSample,
    collectives: tuple[CollectiveSample, ...] = (),
    optimizer: tuple[OptimizerSample, ...] = (),
    machine: ClusterSpec | None = None,
) -> Profile:
    """A profile of one node of the sample cluster."""
    return Profile(
        hf_config={"hidden_size": 8},
        model=model(),
        cluster=machine or cluster(),
        layers=layers,
        collectives=collectives,
        optimizer=optimizer,
        provenance=Provenance(
            device="slow",
            driver="6.1",
            backend="gloo",
            versions={"torch": "2.13.0"},
            date="2026-01-01T00:00:00Z",
            num_ranks=4,
            threads_per_rank=1,
        ),
    )
