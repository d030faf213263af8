"""Says a published run in the words of the cost model, or says which part of it has no word.

What a source leaves open is taken as its framework does by default: pipelines cut into equal numbers of blocks with the
embedding on the first and the head on the last stage, 1F1B, and the network of the cluster preset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from benchmarks.published.rows import Row
from costmodel.spec import (
    Attention,
    Block,
    ClusterSpec,
    Embedding,
    Head,
    LayerRun,
    Mlp,
    ModelSpec,
    Part,
    Plan,
    Precision,
    Recompute,
    Schedule,
    SoftwareStack,
    Source,
    Workload,
)
from costmodel.stacks.megatron_core import MEGATRON_CORE
from costmodel.stacks.native import NATIVE_CUDA
from planner.clusters.read import load_cluster
from planner.clusters.resize import NIC_EFFICIENCY_FRAC

BITS_PER_GBIT = 1e9

PRESETS = {
    "A100-80GB": "a100-sxm-80gb",
    "A100-40GB": "a100-sxm-40gb",
    "H100-80GB": "h100-sxm",
    "B200-180GB": "b200",
}

OLD_EAGER = NATIVE_CUDA.model_copy(update={"recompute_stops_early": False, "copies_around_sharded_weights": False})
"""The eager stack of 2023: PyTorch before 2.1 and reentrant checkpointing repeat whole blocks, and FSDP1 and DeepSpeed
shard flat buffers."""

STACKS: tuple[tuple[str, SoftwareStack | None], ...] = (
    ("MaxText", None),
    ("Megatron-DeepSpeed", None),
    ("Megatron", MEGATRON_CORE),
    ("InternEvo", MEGATRON_CORE),
    ("llm-foundry", OLD_EAGER),
    ("XTuner", OLD_EAGER),
)
"""The first keyword found in the framework's name decides; None where no stack says what it does: MaxText is compiled
by XLA, Megatron-DeepSpeed stores the score matrix of attention. InternEvo keeps bf16 weights beside fp32 copies, fuses
and shards as Megatron does; llm-foundry and XTuner are eager PyTorch that shards everything."""

RECOMPUTE = {"none": Recompute.NONE, "full": Recompute.FULL, "full (uniform, 1)": Recompute.FULL}

UNEXPRESSED_NOTES = {
    "attention-backend=unfused": "attention without a fused kernel",
    "transformer-impl=local": "attention without a fused kernel",
}
"""What a row's notes may say, and why such a row has no words."""


@dataclass(frozen=True)
class Job:
    """The inputs of `predict` for one run."""

    model: ModelSpec
    workload: Workload
    cluster: ClusterSpec
    stack: SoftwareStack
    plan: Plan


@dataclass(frozen=True)
class LeftOut:
    """Why a run cannot be said."""

    reason: str


def express(row: Row) -> Job | LeftOut:
    """The run as inputs of `predict`, or the first thing about it that they cannot say."""
    stack = stack_of(row.framework)
    if stack is None:
        return LeftOut(f"no software stack for {row.framework.split(' (')[0]}")
    reason = _unsayable(row)
    if reason is not None:
        return LeftOut(reason)
    workload = Workload(global_batch=row.global_batch, seq_len=row.seq_len, precision=Precision.BF16)
    return Job(_model(row), workload, _cluster(row), stack, _plan(row, stack))


def stack_of(framework: str) -> SoftwareStack | None:
    """The stack that stands for a framework, by keyword; None where there is none."""
    return next((stack for keyword, stack in STACKS if keyword in framework), None)


def _unsayable(row: Row) -> str | None:
    if row.recompute not in RECOMPUTE:
        return "recomputation of parts of a layer"
    if row.layers % row.pp:
        return "blocks that the stages do not divide"
    if row.tp > 1 and not row.sp:
        return "tensor parallelism without sequence parallelism, or not stated"
    if row.framework.startswith("InternEvo") and row.zero_group is None:
        return "ranks over which ZeRO-1 shards not stated"
    if row.zero_group not in (None, "all", str(row.dp)):
        return "ZeRO-1 over a part of the data-parallel ranks"
    return next((reason for note, reason in UNEXPRESSED_NOTES.items() if note in row.notes), None)


def _model(row: Row) -> ModelSpec:
    attention = Attention(hidden=row.hidden, num_heads=row.heads, num_kv_heads=row.kv_heads, head_dim=row.head_dim)
    mlp = Mlp(hidden=row.hidden, ffn_hidden=row.ffn_hidden, gated=row.gated_mlp)
    block = Block(hidden=row.hidden, mixer=attention, feed_forward=mlp)
    return ModelSpec(
        name=row.model,
        architecture="LlamaForCausalLM" if row.gated_mlp else "GPT2LMHeadModel",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=row.vocab, hidden=row.hidden)),
            LayerRun(part=Part.BLOCKS, layer=block, count=row.layers),
            LayerRun(part=Part.HEAD, layer=Head(vocab=row.vocab, hidden=row.hidden, tied=row.tied_embeddings)),
        ),
    )


def _cluster(row: Row) -> ClusterSpec:
    """The preset of the GPU, with the run's own node size and network rate where it states them."""
    spec = _preset(PRESETS[row.gpu], row.n_gpus)
    node, *outer = spec.tiers
    node = node.model_copy(update={"num_devices": min(row.gpus_per_node, row.n_gpus)})
    if outer and row.nic_gbit_per_s_per_gpu is not None:
        rate = NIC_EFFICIENCY_FRAC * row.nic_gbit_per_s_per_gpu * BITS_PER_GBIT / 8
        stated = {"bandwidth_bytes_per_s": rate, "source": Source.ANALYTIC, "note": row.inter_node or ""}
        outer = [outer[0].model_copy(update=stated), *outer[1:]]
    return ClusterSpec.uniform(spec.name, spec.device, row.n_gpus, (node, *outer))


@cache
def _preset(name: str, num_gpus: int) -> ClusterSpec:
    """Read once: hundreds of rows ran on a few machines."""
    return load_cluster(name, num_gpus).spec


def _plan(row: Row, stack: SoftwareStack) -> Plan:
    mode = RECOMPUTE[row.recompute]
    cut = [row.layers // row.pp] * row.pp
    cut[0] += 1
    cut[-1] += 1
    return Plan.model_validate(
        {
            "framework": stack.name,
            "tp": row.tp,
            "pp": row.pp,
            "dp": row.dp,
            "zero": row.zero,
            "micro_batch": row.micro_batch,
            "schedule": Schedule.ONE_F_ONE_B,
            "cut": tuple(cut),
            "recompute_layers": (Recompute.NONE, *[mode] * row.layers, Recompute.NONE),
        }
    )
