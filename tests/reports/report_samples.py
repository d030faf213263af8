"""Plan files and a measurement with plausible numbers, put together by hand, for the tests of the report."""

from __future__ import annotations

from report_parts import GIB, MIB, h100s, item, model, plan, prediction, provenance, term, two_cpu_ranks

from costmodel import stacks
from costmodel.spec import (
    Alternative,
    Baseline,
    Certificate,
    Collective,
    CollectiveSample,
    Infeasible,
    LayerSample,
    Measurement,
    OptimizerSample,
    PlanFile,
    Precision,
    Profile,
    RefusedPlan,
    Schedule,
    Sensitivity,
    Source,
    Spread,
    StageMemory,
    Workload,
)
from planner.models.read import read_model

LOCAL_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 8192,
}


def cluster_answer() -> PlanFile:
    """An 8B model on 64 H100 with a pipeline of four stages, everything a plan file can hold filled in."""
    limit = h100s(64).device.memory_limit_bytes
    chosen = plan(32, pp=4, dp=8, tp=2, zero=1, micro_batch=1, schedule=Schedule.ONE_F_ONE_B, num_full=5)
    stages = tuple(
        StageMemory(
            stage=stage,
            items=(
                item("weights", 3.8),
                item("gradients", 7.5),
                item("optimizer state", 5.6, 5.7),
                item("saved activations", 14.2 - 3.1 * stage, 0.0, 0.0),
                item("logits", 4.1 if stage == 3 else 0.0, 0.0, 0.0),
                item("communication buffers", 1.2),
                item("checkpoint buffer", 0.0, 0.0, 3.8),
            ),
        )
        for stage in range(4)
    )
    terms = (
        term("matrix multiplication", 0.731),
        term("attention", 0.118),
        term("element-wise work", 0.142, Source.FITTED),
        term("tensor-parallel collectives", 0.163, note="all-gather and reduce-scatter in the node"),
        term("gradient reduction", 0.038, Source.ASSUMED, "what the backward pass does not hide"),
        term("pipeline wait", 0.121),
        term("optimizer", 0.009),
        term("step overhead", 0.004, Source.ASSUMED),
    )
    best = prediction(chosen, 1.326, terms, stages, limit, bubble_frac=0.091)
    other = plan(32, pp=2, dp=16, tp=2, zero=1, micro_batch=1, num_full=12)
    dense = plan(32, pp=1, dp=8, tp=8, zero=1, micro_batch=2)
    sharded = plan(32, dp=64, zero=3, micro_batch=1)
    too_big = plan(32, dp=64, zero=0, micro_batch=1)
    heavy = (
        StageMemory(stage=0, items=(item("weights", 30.0), item("gradients", 60.0), item("saved activations", 20.0))),
    )
    return PlanFile(
        hf_config={"model_type": "llama"},
        model=model("llama-3-8b", 32, 4096, 14336, 32, 8, 128256),
        workload=Workload(global_batch=128, seq_len=8192),
        cluster=h100s(64),
        stack=stacks.get("megatron-core"),
        profile=None,
        plan=chosen,
        prediction=best,
        certificate=Certificate(
            lower_bound_s=1.294,
            gap_frac=0.0241,
            gap_in_space_frac=0.0,
            space="tp x pp x dp x ZeRO 0-3 x micro-batch, with every stage cut and any set of recomputed blocks.",
            restrictions=("tensor parallel at most 8 (one node)",),
            considered=1344,
            pruned=1101,
            solved=31,
            refused={"heads_divide": 96, "batch_divides": 116},
            wall_s=2.31,
        ),
        alternatives=(
            Alternative(
                plan=other,
                prediction=prediction(other, 1.391, terms, stages[:2], limit, bubble_frac=0.04),
                why_not="4.9 % slower: more recomputation outweighs the smaller bubble.",
            ),
            Alternative(
                plan=sharded,
                prediction=prediction(sharded, 1.502, terms, heavy[:1], limit),
                why_not="Does not fit and is 13 % slower: the weights are gathered over the slow links.",
            ),
        ),
        baselines=(
            Baseline(
                name="Megatron rule",
                rule="tensor parallel inside the node, then pipeline, then data.",
                plan=dense,
                prediction=prediction(dense, 1.74, terms, stages[:1], limit),
            ),
            Baseline(
                name="ZeRO-3 alone",
                rule="data parallel over all GPUs with ZeRO-3.",
                plan=sharded,
                prediction=None,
                infeasible=Infeasible(
                    rule="batch_divides",
                    sentence="global batch 128 is not a multiple of micro-batch 4 x dp 64; micro-batch 2 would do.",
                ),
            ),
        ),
        refused=(
            RefusedPlan(
                plan=too_big,
                infeasible=Infeasible(
                    rule="memory",
                    sentence="Stage 0 needs 110 GiB of the 79.2 GiB that a process may allocate.",
                    stage=0,
                    missing_bytes=round(30.8 * GIB),
                    nearest=sharded,
                ),
            ),
        ),
        sensitivities=(
            Sensitivity(input="bandwidth between nodes", change="halved", step_time_s=1.371),
            Sensitivity(input="GEMM efficiency", change="0.75 to 0.65", step_time_s=1.438),
        ),
        assumptions=("The link between nodes is one 400 Gbit/s port a GPU; nobody measured it.",),
        input_hashes={"model": "9f2b" * 16, "cluster": "04ac" * 16},
        versions={"parallelism-planner": "0.1.0", "ortools": "9.14"},
        created="2025-01-02T03:04:05Z",
    )


def local_answer() -> PlanFile:
    """A small model on two CPU ranks, planned from a profile; no pipeline."""
    spec = read_model(LOCAL_CONFIG, "config", "demo-llama")
    chosen = plan(4, dp=2, zero=1, micro_batch=2, framework="native")
    stage = StageMemory(
        stage=0,
        items=(
            item("weights", 14, scale=MIB),
            item("gradients", 14, scale=MIB),
            item("optimizer state", 14, scale=MIB),
            item("saved activations", 96, 0, 0, scale=MIB),
            item("logits", 3, 0, 0, scale=MIB),
        ),
    )
    terms = (
        term("blocks", 0.391, Source.MEASURED),
        term("head", 0.052, Source.MEASURED),
        term("gradient reduction", 0.018, Source.FITTED),
        term("optimizer", 0.011, Source.MEASURED),
        term("embedding", 0.002, Source.MEASURED),
    )
    time = Spread(median_s=0.021, low_s=0.02, high_s=0.024, num_samples=12)
    profile = Profile(
        hf_config=LOCAL_CONFIG,
        model=spec,
        cluster=two_cpu_ranks(),
        layers=(
            LayerSample(
                layer=spec.blocks[0],
                tp=1,
                micro_batch=2,
                seq_len=256,
                precision=Precision.FP32,
                forward=time,
                backward=time,
                saved_bytes=24 * MIB,
            ),
        ),
        collectives=(CollectiveSample(op=Collective.ALL_REDUCE, num_ranks=2, size_bytes=MIB, time=time),),
        optimizer=(OptimizerSample(num_params=3_700_000, time=time),),
        provenance=provenance(),
    )
    return PlanFile(
        hf_config=LOCAL_CONFIG,
        model=spec,
        workload=Workload(global_batch=16, seq_len=256, precision=Precision.FP32),
        cluster=two_cpu_ranks(),
        stack=stacks.get("native-cpu"),
        profile=profile,
        plan=chosen,
        prediction=prediction(
            chosen, 0.474, terms, (stage,), 4 * GIB, interval_frac=0.2, tokens_per_s_per_gpu=4320, mfu_frac=0.819
        ),
        certificate=None,
        input_hashes={"model": "11aa" * 16, "profile": "22bb" * 16},
        versions={"parallelism-planner": "0.1.0", "torch": "2.13.0"},
        created="2025-01-02T03:04:05Z",
    )


def measurement(plan_file: PlanFile, median_s: float = 0.492) -> Measurement:
    """Twenty steps around `median_s`, the first three slow."""
    times = [
        median_s * (1.9, 1.3, 1.1)[step] if step < 3 else median_s * (1 + 0.02 * ((7 * step) % 5 - 2))
        for step in range(20)
    ]
    return Measurement(
        plan_id=plan_file.plan.plan_id,
        question_id=plan_file.question_id,
        seed=0,
        losses=tuple(5.54 - 0.11 * step + 0.002 * step**2 for step in range(20)),
        step_times_s=tuple(times),
        num_warmup_steps=3,
        step_time_median_s=median_s,
        peak_memory_bytes=(round(146.2 * MIB), round(144.8 * MIB)),
        memory_counter="resident",
        predicted_step_time_s=plan_file.prediction.step_time_s,
        predicted_step_time_low_s=plan_file.prediction.step_time_low_s,
        predicted_step_time_high_s=plan_file.prediction.step_time_high_s,
        predicted_peak_memory_bytes=plan_file.prediction.peak_memory_bytes,
        provenance=provenance(),
    )
