"""Small random jobs on which brute force takes seconds, with times and links that make every choice matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from costmodel import stacks
from costmodel.spec import (
    Block,
    ClusterSpec,
    Device,
    DeviceKind,
    Embedding,
    Head,
    LayerRun,
    LinkKind,
    ModelSpec,
    Part,
    Precision,
    Source,
    Tier,
    Workload,
)
from planner.frameworks import registry
from planner.job import Job
from tests.samples.blocks import dense_block

AMPLE_BYTES = 2**40
HIDDEN = 16


def block(ffn_hidden: int = 32, num_kv_heads: int = 2) -> Block:
    """A gated block of width 16 with 4 heads."""
    return dense_block(hidden=HIDDEN, num_heads=4, num_kv_heads=num_kv_heads, head_dim=4, ffn_hidden=ffn_hidden)


def model(*runs: tuple[Block, int], vocab: int = 64, tied: bool = False) -> ModelSpec:
    """Embedding, the given runs of equal blocks, head."""
    return ModelSpec(
        name="tiny",
        architecture="LlamaForCausalLM",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=vocab, hidden=HIDDEN)),
            *(LayerRun(part=Part.BLOCKS, layer=layer, count=count) for layer, count in runs),
            LayerRun(part=Part.HEAD, layer=Head(vocab=vocab, hidden=HIDDEN, tied=tied)),
        ),
    )


def cluster(num_devices: int, *, per_node: int = 4, memory_bytes: int = AMPLE_BYTES, **speeds: Any) -> ClusterSpec:
    """Slow devices, so that tiny layers take milliseconds; two tiers."""
    rates = {"flop_per_s": 1e8, "mem_bytes_per_s": 1e8, "inner_bytes_per_s": 1e7, "outer_bytes_per_s": 1e6} | speeds
    latency_s = rates.pop("latency_s", 1e-4)
    return ClusterSpec.uniform(
        name="slow",
        device=Device(
            name="slow device",
            kind=DeviceKind.CUDA,
            peak_flop_per_s={Precision.BF16: rates["flop_per_s"], Precision.FP32: rates["flop_per_s"] / 4},
            gemm_efficiency_frac=0.8,
            attention_efficiency_frac=0.5,
            memory_bytes=memory_bytes,
            mem_bandwidth_bytes_per_s=rates["mem_bytes_per_s"],
            source=Source.ANALYTIC,
        ),
        num_devices=num_devices,
        tiers=(
            Tier(
                name="node",
                num_devices=per_node,
                link=LinkKind.NVLINK,
                bandwidth_bytes_per_s=rates["inner_bytes_per_s"],
                latency_s=latency_s,
                source=Source.ANALYTIC,
            ),
            Tier(
                name="cluster",
                num_devices=1024,
                link=LinkKind.INFINIBAND,
                bandwidth_bytes_per_s=rates["outer_bytes_per_s"],
                latency_s=3 * latency_s,
                source=Source.ASSUMED,
            ),
        ),
    )


def job(
    spec: ModelSpec,
    machine: ClusterSpec,
    *,
    framework: str = "native",
    global_batch: int = 4,
    seq_len: int = 8,
    precision: Precision = Precision.BF16,
    **stack_changes: Any,
) -> Job:
    """A job on the framework's own stack; host time is small beside the slow devices unless changed."""
    stack = stacks.get(registry.get(framework).stack_name(machine.device.kind))
    return Job(
        hf_config={},
        model=spec,
        workload=Workload(global_batch=global_batch, seq_len=seq_len, precision=precision),
        cluster=machine,
        stack=stack.model_copy(update={"step_overhead_s": 1e-4, "launch_s_per_layer": 1e-4} | stack_changes),
        profile=None,
        framework=framework,
        assumptions=(),
        input_hashes={},
        cluster_of=_sizes_of(machine),
    )


def with_memory(of: Job, memory_bytes: int) -> Job:
    """The same job where a process may allocate `memory_bytes`."""
    device = of.cluster.device.model_copy(update={"memory_bytes": memory_bytes})
    machine = of.cluster.with_device(device)
    return replace(of, cluster=machine, cluster_of=_sizes_of(machine))


def _sizes_of(machine: ClusterSpec) -> Callable[[int], ClusterSpec]:
    return lambda num_devices: machine.model_copy(update={"num_devices": num_devices})


@st.composite
def jobs(
    draw: st.DrawFn,
    *,
    frameworks: tuple[str, ...] = ("native", "megatron", "torchtitan"),
    devices: tuple[int, ...] = (1, 2, 3, 4),
    max_blocks: int = 3,
    unequal: bool = False,
) -> Job:
    """A random job of 1 to `max_blocks` blocks (of two shapes if `unequal`) without a memory limit."""
    framework = draw(st.sampled_from(frameworks))
    num_blocks = draw(st.integers(2 if unequal else 1, max_blocks))
    small = block(draw(st.sampled_from([16, 32, 96])), draw(st.sampled_from([1, 2, 4])))
    if unequal:
        first = draw(st.integers(1, num_blocks - 1))
        runs = ((small, first), (block(draw(st.sampled_from([8, 64, 160]))), num_blocks - first))
    else:
        runs = ((small, num_blocks),)
    tied = draw(st.booleans()) and draw(st.booleans())
    spec = model(*runs, vocab=draw(st.sampled_from([8, 64, 400])), tied=tied)
    magnitude = st.floats(-1, 1).map(lambda exponent: 10**exponent)
    machine = cluster(
        draw(st.sampled_from(devices)),
        per_node=draw(st.sampled_from([2, 4])),
        flop_per_s=1e8 * draw(magnitude),
        mem_bytes_per_s=1e8 * draw(magnitude),
        inner_bytes_per_s=1e7 * draw(magnitude),
        outer_bytes_per_s=1e6 * draw(magnitude),
        latency_s=1e-4 * draw(magnitude),
    )
    precisions = list(Precision) if framework == "native" else [Precision.BF16]
    return job(
        spec,
        machine,
        framework=framework,
        global_batch=draw(st.sampled_from([1, 2, 4, 6])),
        seq_len=draw(st.sampled_from([4, 8, 32])),
        precision=draw(st.sampled_from(precisions)),
        grad_reduce_overlap_frac=draw(st.sampled_from([0.0, 0.5, 1.0])),
        param_gather_overlap_frac=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )
